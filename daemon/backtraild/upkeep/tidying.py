"""One round of tidying: what is needed, what to do about it, and the packs that come of it."""

import os
import secrets
from collections.abc import Iterable

from backtrail.errors import StoreDamaged
from backtraild.store import Objects, Tidied
from backtraild.store.packs import DAMAGE
from backtraild.store.refs import Refs
from backtraild.store.tidying import UPKEEP_PREFIX
from backtraild.upkeep import listing
from backtraild.upkeep.catalogue import Catalogue
from backtraild.upkeep.kinship import Kinship
from backtraild.upkeep.listing import Listing
from backtraild.upkeep.marking import Marker
from backtraild.upkeep.merging import Merger
from backtraild.upkeep.orders import Tidy
from backtraild.upkeep.plan import Pack, plan
from backtraild.upkeep.sources import PackDamaged

SUFFIXES = (".pack", ".idx")


def tidy(order: Tidy) -> Tidied:
    """Mark, plan, merge. The refs are read after the packs were listed: whatever a ref leads to is seen, or newer."""
    return _Round(order).made()


class _Round:
    def __init__(self, order: Tidy) -> None:
        self._order = order
        self._folder = os.path.join(order.git_dir, "objects", "pack")
        self._objects = Objects(order.git_dir)
        self._damaged: list[str] = []
        self._names = [name for name in order.packs if self._is_sound(name)]
        self._catalogue = Catalogue(self._folder, self._names)
        self._kinship: Kinship | None = Kinship(len(self._catalogue))  # None where not everything is known
        self._kept: dict[str, bytearray] = {}  # by pack and place

    def made(self) -> Tidied:
        flaw = self._mark()
        weighed = [pack for name in self._names if (pack := self._weighed(name)) is not None]
        todo = plan(weighed, self._order.room, self._order.urgent)
        replaced, made = list(todo.removed), []
        for group in todo.groups:
            names, temporary = self._merged(group)
            replaced += names
            made += temporary
        before, gone = self._size(self._order.packs), self._size(replaced)
        return Tidied(
            made=tuple(made),
            replaced=tuple(replaced),
            let_go=self._let_go(replaced) if made else "",
            before=before,
            after=before - gone + self._made_size(made),
            damaged=tuple(sorted(self._damaged)),
            incomplete=flaw,
            more=todo.more,
        )

    def _is_sound(self, name: str) -> bool:
        try:
            listing.check(self._folder, name)
        except DAMAGE:
            self._damaged.append(name)
            return False
        return True

    def _mark(self) -> str | None:
        """Mark what refs lead to; why everything is kept instead, where that can't be known."""
        marker = Marker(self._objects, self._catalogue, kinship=self._kinship)
        for name, hex_id in sorted(Refs(self._order.git_dir).every(), key=_by_number):
            marker.ref(name, hex_id)
        if marker.flaw is not None:
            self._kinship = None
            self._catalogue.marks[:] = b"\1" * len(self._catalogue)
        return marker.flaw

    def _weighed(self, name: str) -> Pack | None:
        """A pack with what is needed of it; None if it is damaged."""
        try:
            pack = Listing(self._folder, name)
            kept = bytearray(map(self._catalogue.marks.__getitem__, self._catalogue.positions(pack.ids)))
            sizes = pack.sizes()
            bases = _lost_bases(pack, kept) if any(kept) and not all(kept) else ()
        except (*DAMAGE, StoreDamaged):
            self._damaged.append(name)
            return None
        self._kept[name] = kept
        live = sum(size for size, flag in zip(sizes, kept, strict=True) if flag)
        is_hasty = self._kinship is not None and pack.is_hasty
        return Pack(name, sum(sizes), live, live + sum(sizes[base] for base in bases), is_hasty)

    def _merged(self, group: Iterable[str]) -> tuple[list[str], list[str]]:
        """Merge what is not damaged: the packs that it was, and the temporary names that came of it."""
        merger = Merger(self._folder, self._catalogue, self._objects, self._kinship)
        names = list(group)
        while len(names) > 1 or not all(map(all, map(self._kept.__getitem__, names))):
            try:
                return names, [merger.merge({name: self._kept[name] for name in names})]
            except PackDamaged as error:
                self._damaged.append(error.name)
                names.remove(error.name)
        return [], []

    def _let_go(self, replaced: Iterable[str]) -> str:
        """Write down what is in the packs that go and in nothing that was kept of them."""
        gone = bytearray(len(self._catalogue))
        for name in replaced:
            positions = self._catalogue.positions(Listing(self._folder, name).ids)
            for position, kept in zip(positions, self._kept[name], strict=True):
                gone[position] |= not kept
        path = os.path.join(self._folder, f"{UPKEEP_PREFIX}{secrets.token_hex(8)}.ids")
        with open(path, "xb") as file:
            for position, flag in enumerate(gone):
                if flag:
                    file.write(self._catalogue.id_at(position))
        return path

    def _made_size(self, made: Iterable[str]) -> int:
        files = (os.path.join(self._folder, name + suffix) for name in made for suffix in ("", ".idx"))
        return sum(map(os.path.getsize, files))

    def _size(self, names: Iterable[str]) -> int:
        files = (os.path.join(self._folder, name + suffix) for name in names for suffix in SUFFIXES)
        return sum(os.path.getsize(file) for file in files if os.path.exists(file))


def _by_number(ref: tuple[str, str | None]) -> tuple[int, str]:
    """Checkpoints in the order in which they were made."""
    return len(ref[0]), ref[0]


def _lost_bases(pack: Listing, kept: bytearray) -> set[int]:
    """What kept objects are told as changes of, directly or not, and what is not kept itself.

    The objects are written out in full then, which takes about as much as the base did.
    """
    lost: set[int] = set()
    pending = [place for place, flag in enumerate(kept) if flag]
    while pending:
        base = pack.base(pending.pop())
        if base is not None and not kept[base] and base not in lost:
            lost.add(base)
            pending.append(base)
    return lost

"""How many bytes a store needs for its checkpoints, the more important ones first."""

import os
from array import array
from collections.abc import Sequence

from backtrail.errors import StoreDamaged
from backtraild.store import Objects, Weighed
from backtraild.store.packs import DAMAGE
from backtraild.store.refs import CHECKPOINTS, Refs
from backtraild.store.swapping import whole_packs
from backtraild.upkeep import listing
from backtraild.upkeep.catalogue import NOWHERE, Catalogue
from backtraild.upkeep.listing import Listing
from backtraild.upkeep.marking import Marker
from backtraild.upkeep.orders import Weigh


def weigh(order: Weigh) -> Weighed:
    """Mark everything else, then one checkpoint after the other: what each adds is what only it needs of the rest."""
    folder = os.path.join(order.git_dir, "objects", "pack")
    names, damaged = _sound(folder)
    catalogue = Catalogue(folder, names)
    marker = Marker(Objects(order.git_dir), catalogue, _Scales(folder, names, catalogue).added)
    asked: dict[str, str | None] = {f"{CHECKPOINTS}/{number}": None for number in order.order}
    found = set()
    for name, hex_id in Refs(order.git_dir).every():
        if name in asked:
            asked[name] = hex_id
            found.add(name)
        else:
            marker.ref(name, hex_id)
    others = marker.bytes
    cumulative = []
    for name, hex_id in asked.items():
        if name in found:
            marker.ref(name, hex_id)
        cumulative.append(marker.bytes)
    return Weighed(others, tuple(cumulative), complete=marker.flaw is None and not damaged)


def _sound(folder: str) -> tuple[list[str], bool]:
    names, damaged = [], False
    for name in whole_packs(folder):
        try:
            listing.check(folder, name)
            names.append(name)
        except DAMAGE:
            damaged = True
    return names, damaged


class _Scales:
    """What objects weigh, by position. Of what one is told as a change of, something must stay: about as much."""

    def __init__(self, folder: str, names: Sequence[str], catalogue: Catalogue) -> None:
        self._weights = array("Q", bytes(8 * len(catalogue)))
        self._bases = array("q", [NOWHERE]) * len(catalogue)
        self._is_counted = bytearray(len(catalogue))
        for name in names:
            pack = Listing(folder, name)
            positions = array("q", catalogue.positions(pack.ids))
            for place, (position, size) in enumerate(zip(positions, pack.sizes(), strict=True)):
                base = _base(pack, place)
                self._weights[position] = size
                self._bases[position] = NOWHERE if base is None else positions[base]

    def added(self, position: int) -> int:
        """The bytes of an object and its bases, as far as they have not been counted."""
        added = 0
        while position != NOWHERE and not self._is_counted[position]:
            self._is_counted[position] = 1
            added += self._weights[position]
            position = self._bases[position]
        return added


def _base(pack: Listing, place: int) -> int | None:
    """What an object is told as a change of. Where that is damaged it is found out by reading, not by weighing."""
    try:
        return pack.base(place)
    except (*DAMAGE, StoreDamaged):
        return None

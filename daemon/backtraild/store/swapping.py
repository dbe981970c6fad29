"""Packs in the place of others: the last step of upkeep, in an order in which a crash costs disk space only."""

import contextlib
import os
from collections.abc import Iterable, Iterator

from backtrail.regular import open_regular
from backtraild import durable
from backtraild.model import ObjectId
from backtraild.store import aside
from backtraild.store.indexes import PackIndex
from backtraild.store.objects import ID_LENGTH
from backtraild.store.tidying import UPKEEP_PREFIX, Tidied

_LIST_PIECE = 50_000 * ID_LENGTH
_INDEX = ".idx"
_PACK = ".pack"
_KEEP = ".keep"  # git's sign that a pack is to stay as it is
_TEMPORARY = ("tmp_", ".tmp-")  # ours, and those of git commands that somebody ran on the store
# What git derives from packs, to be quicker. It names packs and commits that may be about to go, and then misleads git.
_DERIVED = ("pack/multi-pack-index", "info/commit-graph", "info/commit-graphs/commit-graph-chain")


def whole_packs(folder: str) -> list[str]:
    """The names of all packs that have an index and may be replaced."""
    found = set(os.listdir(folder))
    stems = (name.removesuffix(_PACK) for name in found if name.startswith("pack-") and name.endswith(_PACK))
    return sorted(stem for stem in stems if stem + _INDEX in found and stem + _KEEP not in found)


def let_go(folder: str, tidied: Tidied) -> Iterator[ObjectId]:
    """The objects that would be gone. May raise one of `DAMAGE`."""
    for piece in _listed(tidied.let_go) if tidied.let_go else _indexed(folder, tidied.replaced):
        for at in range(0, len(piece), ID_LENGTH):
            yield piece[at : at + ID_LENGTH]


def publish(folder: str, tidied: Tidied) -> list[str]:
    """Give the new packs their names; those, durable when this returns."""
    names = []
    for made in tidied.made:
        temporary = os.path.join(folder, made)
        name = f"pack-{_checksum(temporary).hex()}"
        # git looks for the index first: when that has its name, the pack must already have its own.
        os.rename(temporary, os.path.join(folder, name + _PACK))
        os.rename(temporary + _INDEX, os.path.join(folder, name + _INDEX))
        names.append(name)
    durable.sync_folder(folder)
    return names


def remove(git_dir: str, folder: str, names: Iterable[str]) -> None:
    """Put packs aside with all that belongs to them.

    The pack goes before its index. A crash in between leaves an index without a pack, which nobody reads and which
    the next opening removes; the other way round it would leave a pack that looks as if its index had been lost,
    and would be given a new one.
    """
    for derived in _DERIVED:
        _unlink(os.path.join(folder, os.pardir, derived))
    gone = set(names)
    aside.put(git_dir, (os.path.join(folder, name + _PACK) for name in gone))
    belonging = (file for file in os.listdir(folder) if file.partition(".")[0] in gone)
    aside.put(git_dir, (os.path.join(folder, file) for file in belonging))
    durable.sync_folder(folder)


def discard(folder: str) -> None:
    """Remove all that a round of upkeep has written and that did not get a name."""
    for name in os.listdir(folder):
        if name.startswith(UPKEEP_PREFIX):
            _unlink(os.path.join(folder, name))


def discard_upkeep(git_dir: str) -> None:
    """The same for a repository, after a process of upkeep has ended without an outcome."""
    discard(os.path.join(git_dir, "objects", "pack"))


def remove_leftovers(folder: str) -> None:
    """Remove from a pack folder what a crash left there: temporary files, and what belonged to a pack that is gone."""
    found = set(os.listdir(folder))
    for name in found:
        stem, _, suffix = name.partition(".")
        is_orphan = name.startswith("pack-") and stem + _PACK not in found and suffix != _KEEP[1:]
        if is_orphan or name.startswith(_TEMPORARY):
            _unlink(os.path.join(folder, name))


def _listed(path: str) -> Iterator[bytes]:
    with open(open_regular(path, follow=False), "rb") as file:
        while piece := file.read(_LIST_PIECE):
            yield piece


def _indexed(folder: str, names: Iterable[str]) -> Iterator[bytes]:
    for name in names:
        yield PackIndex(os.path.join(folder, name + _INDEX)).ids()


def _checksum(pack: str) -> bytes:
    """A pack's last bytes, after which it is named."""
    with open(open_regular(pack, follow=False), "rb") as file:
        file.seek(-ID_LENGTH, os.SEEK_END)
        return file.read()


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(path)

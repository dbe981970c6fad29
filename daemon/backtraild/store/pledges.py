"""Saves that were acknowledged and not yet durable in every respect, completed by the next start.

A save waits for one sync: that of its pack, in a file whose name was made durable before. The pack's own name, its
index and the ref that leads to it are there at once for everybody to see, and synced when the answer is given. Until
then the file keeps its first name too, as a pledge: what a power cut takes of the rest is made again from it.
"""

import os
import stat
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from backtrail.errors import StoreDamaged
from backtraild import blanks, durable
from backtraild.model import ObjectId
from backtraild.store import record, unpacking
from backtraild.store.indexes import File
from backtraild.store.objects import ObjectType, object_id
from backtraild.store.pack import SPILL_SIZE
from backtraild.store.packs import decode_entry

_NO_PACK = (ValueError, struct.error, zlib.error)
_NO_PLEDGE = 2 * SPILL_SIZE  # a pack of that size was not finished


class Pledged(NamedTuple):
    """A pledge, and the checkpoints in it: their numbers, and their commits."""

    path: str
    checkpoints: dict[int, str]


def take_up(pack_folder: str) -> list[Pledged]:
    """Give packs that are pledged their final names, durably; what is no pledge is removed.

    The caller gives the checkpoints their refs and removes the pledges after that.
    """
    found = []
    for path in blanks.leftovers(pack_folder):
        # Whatever else somebody put there can't be opened, and a store must be.
        checkpoints = _checkpoints(File(path)) if stat.S_ISREG(os.lstat(path).st_mode) else {}
        if checkpoints:
            _give_name(path, pack_folder)
            found.append(Pledged(path, checkpoints))
        else:
            os.unlink(path)
    if found:
        durable.sync_folder(pack_folder)
    return found


def _checkpoints(pack: File) -> dict[int, str]:
    """Those in a pack; none where the pack is not whole."""
    found = {}
    try:
        if pack.size <= _NO_PLEDGE and unpacking.is_whole(pack):
            for oid, content in _commits(pack):
                found[record.decode(oid.hex(), content, pinned=False).number] = oid.hex()
    except (*_NO_PACK, StoreDamaged):
        return {}
    return found


def _commits(pack: File) -> Iterator[tuple[ObjectId, bytes]]:
    for part in unpacking.parts(pack):
        head = decode_entry(pack, part.offset)
        if head.kind == ObjectType.COMMIT:
            content = zlib.decompress(pack.read(part.end - head.start, head.start))
            yield object_id(ObjectType.COMMIT, content), content


def _give_name(path: str, pack_folder: str) -> None:
    pack = File(path)
    checksum = pack.read(unpacking.TRAILER, pack.size - unpacking.TRAILER)
    name = os.path.join(pack_folder, f"pack-{checksum.hex()}.pack")
    if not os.path.lexists(name):
        os.link(path, name)

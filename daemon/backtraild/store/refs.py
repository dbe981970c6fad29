"""References: what keeps a checkpoint alive. Written durably, and never silently left out when damaged.

libgit2 does not sync refs and omits damaged ones from its lists, so these small files are handled here.
Refs that git itself packed (`git gc`, `git pack-refs`) are understood.
"""

import contextlib
import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from backtrail.regular import read_regular
from backtraild import durable
from backtraild.blanks import Blanks
from backtraild.model import ObjectId
from backtraild.store import aside
from backtraild.store.packed_refs import LARGEST, PackedRefs

# Each file of a ref takes a block of the disk, a hundred times what is in it: beyond so many they are moved into one, a
# part at a time. That one is written anew each time, so the longer it is, the more are awaited.
MANY_LOOSE = 100
PACKED_AT_ONCE = 1000
_PACKED_FOR_EACH = 16 * 1024

_HEX_ID = re.compile(rb"[0-9a-f]{40}\n?")
CHECKPOINTS = "refs/checkpoints"
HIGHEST_NUMBER = 10**18 - 1
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
# What opening gives for a link, a FIFO or a long file where a ref should be: none of these holds an id.
_NO_REF = (errno.ELOOP, errno.EINVAL, errno.EFBIG, errno.ENXIO)


def numbers_among(names: Iterable[str]) -> set[int]:
    """The numbers of checkpoints among names of refs: those that Backtrail gives out, as it writes them."""
    return {int(name) for name in names if _NUMBER.fullmatch(name)}


class Refs:
    """The refs of one bare repository."""

    def __init__(self, git_dir: str, used: Callable[[ObjectId], None] | None = None) -> None:
        """`used` is told which objects refs are pointed at."""
        self._git_dir = git_dir
        self._used = used
        # Not beside the refs: git takes all files there for refs, and would look for objects that are not there yet.
        self._blanks = Blanks(git_dir)
        self.discard_blanks = self._blanks.discard
        self._unsynced: dict[str, str] = {}
        self._has_failed = False
        self._packed = PackedRefs(git_dir)

    def read(self, name: str) -> str | None:
        """The hexadecimal id that a ref holds; None if there is no such ref or its file is damaged."""
        try:
            return self._read_loose(name)
        except (FileNotFoundError, NotADirectoryError):
            return _sound(self._packed.get(name))
        except IsADirectoryError:
            return None

    @property
    def packed_size(self) -> int:
        """How many bytes the file of packed refs has, 0 if there is none."""
        return self._packed.size

    def names(self, folder: str) -> list[str]:
        """The last parts of all refs directly below a folder such as `refs/checkpoints`."""
        try:
            found = set(os.listdir(self._path(folder)))
        except FileNotFoundError:
            found = set()
        prefix = folder + "/"
        packed = {name.removeprefix(prefix) for name, _ in self._packed.items(prefix)}
        found |= {name for name in packed if "/" not in name}
        return sorted(name for name in found if not name.endswith((".lock", ".tmp")))

    def every(self) -> Iterator[tuple[str, str | None]]:
        """All refs at any depth, each once, with what they hold; None for a damaged one.

        The packed ones come last: whoever moves a ref there writes it before the loose one goes, and so nobody
        misses it who looks meanwhile.
        """
        loose = set()
        for folder, _, files in os.walk(self._path("refs"), onerror=_unless_gone):
            for file in files:
                name = os.path.relpath(os.path.join(folder, file), self._git_dir)
                with contextlib.suppress(FileNotFoundError):
                    if not name.endswith((".lock", ".tmp")):
                        yield name, self._read_loose(name)
                        loose.add(name)  # a packed one of the same name is an older value
        for name, hex_id in self._packed.items():
            if name not in loose:
                yield name, _sound(hex_id)
        for line in self._packed.damage:
            yield f"packed-refs ({line})", None

    def write(self, name: str, hex_id: str) -> None:
        """Point a ref at an object, durable when the call returns."""
        self.prepare(name, hex_id).place()

    def prepare(self, name: str, hex_id: str) -> durable.Replacement:
        """A ref that will point at an object once it is put in place."""
        if self._used is not None:
            self._used(bytes.fromhex(hex_id))
        path = self._path(name)
        folder = os.path.dirname(path)
        if not os.path.isdir(folder):
            os.stat(self._path("refs"))  # a disk that was taken away is not begun anew in its place
            os.makedirs(folder, 0o700)
            durable.sync_folder(os.path.dirname(folder))
        return durable.Replacement(path, hex_id.encode() + b"\n", blank=self._blanks.take(0o600))

    def show(self, name: str, ref: durable.Replacement, hex_id: str) -> None:
        """Put a prepared ref in place, durable once it is settled."""
        ref.show()
        self._unsynced[name] = hex_id

    def confirm(self, name: str, hex_id: str) -> None:
        """Have a ref be durable, as it is or anew, once it is settled."""
        if self.read(name) != hex_id:
            self.write(name, hex_id)
        self._unsynced[name] = hex_id

    def settling(self) -> Iterator[None]:
        """Make durable what was only shown, and files ahead for what comes next. Stops before each sync."""
        for name, hex_id in list(self._unsynced.items()):
            yield
            self._sync(self._sync_one, name, hex_id)
        for folder in {os.path.dirname(name) for name in self._unsynced}:
            yield
            self._sync(durable.sync_folder, self._path(folder))
        self._unsynced, self._has_failed = {}, False
        self._blanks.restock()

    def _sync(self, sync: Callable[..., None], *what: str) -> None:
        try:
            sync(*what)
        except BaseException:
            self._has_failed = True
            raise

    def _sync_one(self, name: str, hex_id: str) -> None:
        # The kernel tells of a write that failed only once: the next sync says nothing of it.
        if self._has_failed:
            self.write(name, hex_id)
        with contextlib.suppress(FileNotFoundError):  # in the packed file by now, which is durable
            durable.sync_file(self._path(name))

    def delete(self, name: str) -> None:
        """Remove a ref, loose and packed; it stays removed after a power cut."""
        self.delete_many([name])

    def delete_many(self, names: Sequence[str]) -> None:
        """Remove refs; those of one folder that follow each other in the list are made durable together."""
        # The packed ones first: a crash in between must not bring back an older value.
        self._packed.drop(names)
        for _, group in groupby(names, os.path.dirname):
            self._unlink(list(group))

    def pack(self, folder: str) -> None:
        """Move loose refs directly below a folder into the one file of packed refs, once there are many."""
        try:
            found = sorted(os.listdir(self._path(folder)))
        except FileNotFoundError:
            return
        awaited = max(MANY_LOOSE, min(PACKED_AT_ONCE, self.packed_size // _PACKED_FOR_EACH))
        if len(found) <= awaited or self.packed_size > LARGEST // 2:
            return
        loose = {}
        for name in found[:PACKED_AT_ONCE]:
            hex_id = self.read(f"{folder}/{name}")
            if hex_id is not None:  # else it is damaged, and stays for all to see
                loose[f"{folder}/{name}"] = hex_id
        self._packed.put(loose)
        # They are there twice now, with the same value.
        aside.put(self._git_dir, map(self._path, loose))
        durable.sync_folder(self._path(folder))

    def drop_garbled(self) -> list[str]:
        """Take refs out of the packed file whose ids are garbled and that a loose ref stands for; their names."""
        garbled = [
            name for name, hex_id in self._packed.items() if not _sound(hex_id) and self._has_loose(name)
        ]
        self._packed.drop(garbled)
        return garbled

    def _has_loose(self, name: str) -> bool:
        return os.path.isfile(self._path(name))

    def _unlink(self, names: list[str]) -> None:
        """Remove loose refs of one folder, where there are any."""
        gone = 0
        for name in names:
            self._unsynced.pop(name, None)
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(self._path(name))
                gone += 1
        if gone:
            durable.sync_folder(os.path.dirname(self._path(names[0])))

    def _read_loose(self, name: str) -> str | None:
        try:
            content = read_regular(self._path(name), 64, follow=False)
        except IsADirectoryError:
            raise
        except OSError as error:
            if error.errno in _NO_REF:
                return None
            raise
        return content[:40].decode() if _HEX_ID.fullmatch(content) else None

    def _path(self, name: str) -> str:
        return os.path.join(self._git_dir, name)


def _sound(hex_id: str | None) -> str | None:
    """An id as it is, if it is one."""
    return hex_id if hex_id is not None and _HEX_ID.fullmatch(hex_id.encode(errors="replace")) else None


def _unless_gone(error: OSError) -> None:
    """Of itself, `os.walk` passes over a folder that it can't list: upkeep would take its refs for deleted."""
    if not isinstance(error, FileNotFoundError):
        raise error

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

# Each file of a ref takes a block of the disk, a hundred times what is in it: beyond so many they are moved into one, a
# part at a time. That one is written anew each time, so the longer it is, the more are awaited.
MANY_LOOSE = 100
PACKED_AT_ONCE = 1000
_PACKED_FOR_EACH = 16 * 1024

# A million refs. A longer file is refused: to pass over what it holds would give its numbers out again.
LARGEST_PACKED = 64 * 1024 * 1024

_HEX_ID = re.compile(rb"[0-9a-f]{40}\n?")
_NAME = re.compile(r"refs(?:/[^/\x00-\x20\x7f]{1,255})+")
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
        self._packed_file = os.path.join(git_dir, "packed-refs")
        self._packed_stat: tuple[int, int, int] | None = None
        self._packed: dict[str, str] = {}
        self._packed_damage: list[str] = []

    def read(self, name: str) -> str | None:
        """The hexadecimal id that a ref holds; None if there is no such ref or its file is damaged."""
        try:
            return self._read_loose(name)
        except (FileNotFoundError, NotADirectoryError):
            hex_id = self._read_packed().get(name, "")
            return hex_id if _is_hex_id(hex_id) else None
        except IsADirectoryError:
            return None

    @property
    def packed_size(self) -> int:
        """How many bytes the file of packed refs has, 0 if there is none."""
        return 0 if not self._read_packed() or self._packed_stat is None else self._packed_stat[1]

    def names(self, folder: str) -> list[str]:
        """The last parts of all refs directly below a folder such as `refs/checkpoints`."""
        try:
            found = set(os.listdir(self._path(folder)))
        except FileNotFoundError:
            found = set()
        prefix = folder + "/"
        packed = {name.removeprefix(prefix) for name in self._read_packed() if name.startswith(prefix)}
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
        for name, hex_id in self._read_packed().items():
            if name not in loose:
                yield name, hex_id if _is_hex_id(hex_id) else None
        for line in self._packed_damage:
            yield f"packed-refs ({line.strip()})", None

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
        packed = self._read_packed()
        if not packed.keys().isdisjoint(names):
            going = set(names)
            self._write_packed({name: hex_id for name, hex_id in packed.items() if name not in going})
        for _, group in groupby(names, os.path.dirname):
            self._unlink(list(group))

    def pack(self, folder: str) -> None:
        """Move loose refs directly below a folder into the one file of packed refs, once there are many."""
        try:
            found = sorted(os.listdir(self._path(folder)))
        except FileNotFoundError:
            return
        awaited = max(MANY_LOOSE, min(PACKED_AT_ONCE, self.packed_size // _PACKED_FOR_EACH))
        if len(found) <= awaited or self.packed_size > LARGEST_PACKED // 2:
            return
        loose = {}
        for name in found[:PACKED_AT_ONCE]:
            hex_id = self.read(f"{folder}/{name}")
            if hex_id is not None:  # else it is damaged, and stays for all to see
                loose[f"{folder}/{name}"] = hex_id
        self._write_packed({**self._read_packed(), **loose})
        # They are there twice now, with the same value.
        aside.put(self._git_dir, map(self._path, loose))
        durable.sync_folder(self._path(folder))

    def drop_garbled(self) -> list[str]:
        """Take refs out of the packed file whose ids are garbled and that a loose ref stands for; their names."""
        packed = self._read_packed()
        garbled = [
            name for name, hex_id in packed.items() if not _is_hex_id(hex_id) and self._has_loose(name)
        ]
        if garbled:
            self._write_packed({name: hex_id for name, hex_id in packed.items() if name not in garbled})
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

    def _write_packed(self, refs: dict[str, str]) -> None:
        lines = ["# pack-refs with: sorted \n", *(f"{refs[name]} {name}\n" for name in sorted(refs))]
        content = "".join([*lines, *self._packed_damage])
        durable.replace_file(self._packed_file, content.encode(errors="surrogateescape"))

    def _path(self, name: str) -> str:
        return os.path.join(self._git_dir, name)

    def _read_packed(self) -> dict[str, str]:
        try:
            status = os.stat(self._packed_file)
        except FileNotFoundError:
            return {}
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp != self._packed_stat:
            content = read_regular(self._packed_file, LARGEST_PACKED, follow=False)
            self._packed, self._packed_damage = _parsed(content.decode("utf-8", "surrogateescape"))
            self._packed_stat = stamp
        return self._packed


def _parsed(content: str) -> tuple[dict[str, str], list[str]]:
    """The refs of a packed file, and the lines that are none. A name that leads elsewhere is none."""
    refs: dict[str, str] = {}
    damage: list[str] = []
    for line in content.split("\n"):
        if line.startswith(("#", "^")):
            continue
        hex_id, _, name = line.partition(" ")
        if _NAME.fullmatch(name) and ".." not in name:
            refs[name] = hex_id
        elif line:
            damage.append(line + "\n")
    return refs, damage


def _is_hex_id(text: str) -> bool:
    return _HEX_ID.fullmatch(text.encode(errors="replace")) is not None


def _unless_gone(error: OSError) -> None:
    """Of itself, `os.walk` passes over a folder that it can't list: upkeep would take its refs for deleted."""
    if not isinstance(error, FileNotFoundError):
        raise error

"""The file that holds the refs which have none of their own, kept in memory as it lies on the disk.

As values of Python ten thousand refs take 3 MB, and twice that while the file is written anew: small pieces, which lie
among all others and keep memory from being given back.
"""

import heapq
import io
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping

from backtrail.regular import read_regular
from backtraild import durable

# A million refs. A longer file is refused: to pass over what it holds would give its numbers out again.
LARGEST = 64 * 1024 * 1024

_HEADER = b"# pack-refs with: sorted \n"
_NAME = re.compile(rb"refs(?:/[^/\x00-\x20\x7f]{1,255})+")


class PackedRefs:
    """The packed refs of one repository. What else stands in the file is damage, and stays."""

    def __init__(self, git_dir: str) -> None:
        self._path = os.path.join(git_dir, "packed-refs")
        self._stat: tuple[int, int, int] | None = None
        self._lines = b""  # one a ref, in the order of their names
        self._damage: tuple[bytes, ...] = ()

    @property
    def size(self) -> int:
        """How many bytes the file has that hold a ref or more, 0 if there is none."""
        self._refresh()
        return 0 if not self._lines or self._stat is None else self._stat[1]

    @property
    def damage(self) -> list[str]:
        """The lines that are no refs."""
        self._refresh()
        return [_text(line).strip() for line in self._damage]

    def get(self, name: str) -> str | None:
        """What stands before a name, which may be garbled; None if the name is not there."""
        self._refresh()
        line = self._find(_bytes(name))
        return _text(_held(line)) if line else None

    def items(self, prefix: str = "") -> Iterator[tuple[str, str]]:
        """All names that begin like this, with what stands before them."""
        self._refresh()
        lines, wanted = self._lines, _bytes(prefix)
        at = _place(lines, wanted)
        while line := _line(lines, at):
            if not (name := _name(line)).startswith(wanted):
                return
            yield _text(name), _text(_held(line))
            at += len(line)

    def put(self, refs: Mapping[str, str]) -> None:
        """Write the file with these as well; durable when the call returns."""
        self._refresh()
        new = {_bytes(name): _bytes(held) for name, held in refs.items()}
        kept = (line for line in _each(self._lines) if _name(line) not in new)
        added = (b"%b %b\n" % (new[name], name) for name in sorted(new))
        self._write(heapq.merge(kept, added, key=_name))

    def drop(self, names: Iterable[str]) -> None:
        """The same without these, if any of them is there."""
        self._refresh()
        going = {name for name in map(_bytes, names) if self._find(name)}
        if going:
            self._write(line for line in _each(self._lines) if _name(line) not in going)

    def _find(self, name: bytes) -> bytes:
        """The line of a ref; nothing if it is not there."""
        line = _line(self._lines, _place(self._lines, name))
        return line if _name(line) == name else b""

    def _write(self, lines: Iterable[bytes]) -> None:
        content = bytearray(_HEADER)
        for line in itertools.chain(lines, self._damage):
            content += line
        durable.replace_file(self._path, bytes(content))

    def _refresh(self) -> None:
        """Read the file, unless it is as it was when it was read last: git may write it at any time."""
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            self._stat, self._lines, self._damage = None, b"", ()
            return
        stat = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stat != self._stat:
            self._lines, self._damage = _parsed(read_regular(self._path, LARGEST, follow=False))
            self._stat = stat


def _parsed(content: bytes) -> tuple[bytes, tuple[bytes, ...]]:
    """The refs of a file in the order of their names, and the lines that are none: also names that lead elsewhere."""
    refs, damage = bytearray(), []
    before, is_sorted = b"", True
    for line in _each(content):
        if line.startswith((b"#", b"^")) or line == b"\n":
            continue
        name = _name(line)
        if _NAME.fullmatch(name) and b".." not in name:
            refs += line if line.endswith(b"\n") else line + b"\n"
            is_sorted, before = is_sorted and before < name, name
        else:
            damage.append(line.rstrip(b"\n") + b"\n")
    return bytes(refs) if is_sorted else _sorted(refs), tuple(damage)


def _sorted(lines: bytes | bytearray) -> bytes:
    """Each line once in the order of the names, which is that of bytes; of two with one name, the last."""
    by_name = {_name(line): line for line in _each(lines)}
    return b"".join(by_name[name] for name in sorted(by_name))


def _each(lines: bytes | bytearray) -> Iterator[bytes]:
    return iter(io.BytesIO(lines))


def _place(lines: bytes, wanted: bytes) -> int:
    """Where the first line begins whose name is not before this one."""
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high) // 2
        begin = lines.rfind(b"\n", low, middle) + 1 or low
        line = _line(lines, begin)
        if _name(line) < wanted:
            low = begin + len(line)
        else:
            high = begin
    return low


def _line(lines: bytes, at: int) -> bytes:
    """The line that begins there; nothing at the end."""
    return lines[at : lines.find(b"\n", at) + 1]


def _held(line: bytes) -> bytes:
    return line.partition(b" ")[0]


def _name(line: bytes) -> bytes:
    return line.partition(b" ")[2].removesuffix(b"\n")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")

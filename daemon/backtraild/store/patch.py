"""Two versions of a file compared line by line, and written down as the patch that `git diff` would print.

Works on bytes that a `ContentSource` hands out; libgit2 finds the hunks that `runs` does not. Nothing here touches a
disk.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from backtraild.model import SYMLINK_MODE, Changes, Entry, ObjectId, Path
from backtraild.store.runs import common_length, only_hunk
from backtraild.store.text import is_binary

if TYPE_CHECKING:
    import pygit2

MAX_COMPARED_BYTES = 4 * 1024 * 1024
# libgit2 holds the GIL while it compares, and its time grows with the square of the lines that were shuffled:
# 40,000 against 40,000 took 0.4 s, 350,000 against 350,000 (1 MB of two-digit numbers) took 8 s.
MAX_COMPARED_LINES = 50_000

_NO_OBJECT = "0" * 40
_PLAIN = re.compile(rb"[ !#-\[\]-~]*")  # what git writes as it is
_LETTERS = {7: b"a", 8: b"b", 9: b"t", 10: b"n", 11: b"v", 12: b"f", 13: b"r", 34: b'"', 92: b"\\"}
_ESCAPED = [
    b"\\" + _LETTERS[byte] if byte in _LETTERS else bytes([byte]) if 0x20 <= byte < 0x7F else b"\\%03o" % byte
    for byte in range(256)
]


class ContentSource(Protocol):
    """Where the content behind an id is read; `read` is only asked for content up to MAX_COMPARED_BYTES."""

    def size(self, oid: ObjectId) -> int:
        """Length of the content in bytes."""
        ...

    def read(self, oid: ObjectId) -> bytes:
        """The whole content."""
        ...

    def read_up_to(self, most: int, oid: ObjectId) -> bytes | None:
        """The whole content; None where it is longer than that."""
        ...

    def lines(self, oid: ObjectId) -> int | None:
        """How many lines the content has; None where it is not text, or too large to be counted."""
        ...


class Pair(NamedTuple):
    """One file before and after. A renamed one has another `old_path`; similarity is in percent."""

    path: Path
    old_path: Path
    old: Entry | None
    new: Entry | None
    similarity: int = 100

    @property
    def renamed(self) -> bool:
        """Was it found under another name before?"""
        return self.old_path != self.path

    @property
    def retyped(self) -> bool:
        """Did a symlink take the place of a file, or a file that of a symlink?"""
        if self.old is None or self.new is None:
            return False
        return (self.old.mode == SYMLINK_MODE) != (self.new.mode == SYMLINK_MODE)

    @property
    def same_content(self) -> bool:
        """Is there nothing to compare, because only the name or the mode differs?"""
        return self.old is not None and self.new is not None and self.old.oid == self.new.oid


def restrict(changes: Changes, paths: Sequence[Path]) -> Changes:
    """The changes at or below the given paths. No paths at all means everything, and so does the root."""
    if not paths or b"" in paths:
        return changes
    files, folders = frozenset(paths), tuple(path + b"/" for path in paths)
    return {path: change for path, change in changes.items() if path in files or path.startswith(folders)}


class Comparison(NamedTuple):
    """How two contents compare. Nothing is told of lines where these are not text, or too large."""

    size: int  # of the new one
    insertions: int | None = None
    deletions: int | None = None
    hunks: bytes | None = None
    is_binary: bool = False


Comparing = Callable[[Entry | None, Entry | None], Comparison]


def comparing(content: ContentSource, context: int = 3) -> Comparing:
    """Compares two sides of a file, with so many lines around each hunk."""
    return lambda old, new: _compared(old, new, content, context)


def unified(pairs: Iterable[Pair], content: ContentSource, context: int = 3) -> str:
    """The patch as text. Bytes that are not UTF-8 become U+FFFD: apply `unified_bytes`, show this."""
    return patch_text(pairs, comparing(content, context))


def patch_text(pairs: Iterable[Pair], compare: Comparing) -> str:
    """The same where somebody else compares."""
    return _patches(pairs, compare).decode(errors="replace")


def unified_bytes(pairs: Iterable[Pair], content: ContentSource, context: int = 3) -> bytes:
    """The patch as `git diff --full-index -M` writes it and `git apply` takes it."""
    return _patches(pairs, comparing(content, context))


def load(entry: Entry | None, content: ContentSource) -> bytes | None:
    """One side of a comparison: empty where there is no file, None where it is too large to compare."""
    return b"" if entry is None else content.read_up_to(MAX_COMPARED_BYTES, entry.oid)


def compare(old: bytes, new: bytes, context: int = 3) -> "pygit2.Patch | None":
    """The difference of two texts line by line, or None where finding it could stall the daemon."""
    if min(_lines_apart(old, new)) > MAX_COMPARED_LINES:
        return None
    create, flags = _libgit2()
    return create(old, new, flag=flags, context_lines=context)


@cache
def _libgit2() -> tuple[Callable[..., "pygit2.Patch"], int]:
    """What compares, and how. Loaded when needed: it is a fifth of a start, and most starts find nothing to compare."""
    import pygit2
    from pygit2.enums import DiffOption

    # Whether content is text is decided here, by git's rule, so libgit2 must not decide again.
    return pygit2.Patch.create_from, int(DiffOption.FORCE_TEXT | DiffOption.INDENT_HEURISTIC)


class Edit(NamedTuple):
    """So many lines of the old text, from this one on (counted from 0), give way to so many of the new one."""

    start: int
    deleted: int
    inserted: int


def edits(old: bytes, new: bytes) -> list[Edit] | None:
    """What turns one text into another, first line first; None where finding it could stall the daemon."""
    patch = compare(old, new, context=0)
    return None if patch is None else [_edit(hunk) for hunk in patch.hunks]


def _edit(hunk: "pygit2.DiffHunk") -> Edit:
    # Where nothing is deleted, git names the line before the place, else the first deleted one.
    start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
    return Edit(start, hunk.old_lines, hunk.new_lines)


def _lines_apart(old: bytes, new: bytes) -> tuple[int, int]:
    """Lines on each side between the common beginning and the common end: what libgit2 has to think about."""
    if min(old.count(b"\n"), new.count(b"\n")) <= MAX_COMPARED_LINES:
        return 0, 0
    head = common_length(old, new)
    old, new = old[head:], new[head:]
    tail = common_length(old, new, from_end=True)
    return old.count(b"\n", 0, len(old) - tail), new.count(b"\n", 0, len(new) - tail)


def _compared(old: Entry | None, new: Entry | None, content: ContentSource, context: int) -> Comparison:
    before, after = load(old, content), load(new, content)
    size = len(after) if after is not None else content.size(new.oid) if new else 0
    if (before and is_binary(before)) or (after and is_binary(after)):
        return Comparison(size, is_binary=True)
    if before is None or after is None:
        return Comparison(size)
    only = only_hunk(before, after, context)
    if only is not None:
        return Comparison(size, *only)
    patch = compare(before, after, context)
    if patch is None:
        return Comparison(size)
    _, insertions, deletions = patch.line_stats
    return Comparison(size, insertions, deletions, _hunks(patch))


def _patches(pairs: Iterable[Pair], compare: Comparing) -> bytes:
    return b"".join(_file_patch(side, compare) for pair in pairs for side in _split(pair))


def _split(pair: Pair) -> tuple[Pair, ...]:
    """A file that became a symlink is a deletion and an addition: no hunk turns one into the other."""
    if not pair.retyped:
        return (pair,)
    return Pair(pair.path, pair.path, pair.old, None), Pair(pair.path, pair.path, None, pair.new)


def _file_patch(pair: Pair, compare: Comparing) -> bytes:
    lines = [b"diff --git %s %s" % (_quoted(b"a/" + pair.old_path), _quoted(b"b/" + pair.path))]
    lines += (line.encode() if isinstance(line, str) else line for line in _header(pair))
    return b"\n".join(lines) + b"\n" + (b"" if pair.same_content else _body(pair, compare))


def _header(pair: Pair) -> Iterator[str | bytes]:
    old, new = pair.old, pair.new
    if old and new and old.mode != new.mode:
        yield f"old mode {old.mode:06o}"
        yield f"new mode {new.mode:06o}"
    elif new and not old:
        yield f"new file mode {new.mode:06o}"
    elif old and not new:
        yield f"deleted file mode {old.mode:06o}"
    if pair.renamed:
        yield f"similarity index {pair.similarity}%"
        yield b"rename from " + _quoted(pair.old_path)
        yield b"rename to " + _quoted(pair.path)
    if not pair.same_content:
        mode = f" {new.mode:06o}" if old and new and old.mode == new.mode else ""
        yield f"index {_hex(old)}..{_hex(new)}{mode}"


def _body(pair: Pair, compare: Comparing) -> bytes:
    """The hunks, or the sentence that stands where there are none."""
    old_name = _quoted(b"a/" + pair.old_path) if pair.old else b"/dev/null"
    new_name = _quoted(b"b/" + pair.path) if pair.new else b"/dev/null"
    found = compare(pair.old, pair.new)
    if found.is_binary:
        return b"Binary files %s and %s differ\n" % (old_name, new_name)
    if found.hunks is None:
        return b"Files %s and %s differ, too large to compare line by line\n" % (old_name, new_name)
    header = b"--- %s\n+++ %s\n" % (_labelled(old_name), _labelled(new_name))
    return header + found.hunks if found.hunks else b""


def _hunks(patch: "pygit2.Patch") -> bytes:
    """What libgit2 wrote below its own header, which knows neither our names nor our modes."""
    text = patch.data
    start = text.find(b"\n@@ ")
    return text[start + 1 :] if start >= 0 else b""


def _labelled(name: bytes) -> bytes:
    """A tab ends a name with a space in it, or else tools take what follows the space for a timestamp."""
    return name + b"\t" if b" " in name else name


def _hex(entry: Entry | None) -> str:
    return entry.oid.hex() if entry else _NO_OBJECT


def _quoted(path: Path) -> bytes:
    """A name as git writes it with core.quotePath: in quotes where a byte is not plain ASCII."""
    if _PLAIN.fullmatch(path):
        return path
    return b'"%s"' % b"".join(_ESCAPED[byte] for byte in path)

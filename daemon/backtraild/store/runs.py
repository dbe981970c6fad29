"""One run of lines that gave way to another, between a head and a tail that both texts share: told without libgit2.

Nearly every edit is of this sort: lines appended to a log, a few changed in a source. The hunk is byte for byte what
git prints, because git has no choice: of what lies between head and tail nothing is found on the other side, and
neither run could as well stand a line further up or down. Everything else is left to libgit2.
"""

import re
from typing import NamedTuple

MOST_REPLACED_BYTES = 64 * 1024  # on each side; to compare sets of more lines takes longer than libgit2
FURTHEST = 100  # lines above a hunk, among which the one is looked for that gives it a name
LONGEST_NAME = 60  # much longer ones are cut off
_NAMING = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_$")
_PLAIN = re.compile(rb"[\t -~]*\r?\n")  # in a name; of other bytes, libgit2 leaves some out at the end
_UNFINISHED = b"\n\\ No newline at end of file\n"
_NEWLINE = 10


class Run(NamedTuple):
    """All that differs between two texts: one piece of each, whole lines; before and after it they are the same."""

    head: int  # bytes that both begin with
    tail: int  # and end with
    gone: bytes
    come: bytes


class Hunk(NamedTuple):
    """The same as git tells it."""

    insertions: int
    deletions: int
    text: bytes


def only_hunk(old: bytes, new: bytes, context: int) -> Hunk | None:
    """The hunk that turns one text into the other; None where git may find several, or none, or has a choice."""
    run = _run(old, new)
    if _has_a_choice(run, old):
        return None
    start, end = _lines_before(old, run.head, context), _lines_after(old, len(old) - run.tail, context)
    name = _name(old, start)
    if name is None:
        return None
    above, below = old[start : run.head], old[len(old) - run.tail : end]
    first, around = old.count(b"\n", 0, start), _count(above) + _count(below)
    insertions, deletions = _count(run.come), _count(run.gone)
    ranges = _range(first, deletions + around), _range(first, insertions + around)
    told = _signed(b" ", above) + _signed(b"-", run.gone) + _signed(b"+", run.come) + _signed(b" ", below)
    return Hunk(insertions, deletions, b"@@ -%s +%s @@%s\n%s" % (*ranges, name, told))


def common_length(one: bytes, two: bytes, *, from_end: bool = False) -> int:
    """Length of the common beginning or end, found by halving: comparing slices is far quicker than bytes."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        same = one[-middle:] == two[-middle:] if from_end else one[:middle] == two[:middle]
        low, high = (middle, high) if same else (low, middle - 1)
    return low


def _run(old: bytes, new: bytes) -> Run:
    same = len(old) if new.startswith(old) else common_length(old, new)  # a log may be long
    head = old.rfind(b"\n", 0, same) + 1
    before, after = old[head:], new[head:]
    tail = _whole_lines(before, after, common_length(before, after, from_end=True))
    return Run(head, tail, before[: len(before) - tail], after[: len(after) - tail])


def _whole_lines(before: bytes, after: bytes, tail: int) -> int:
    """How much of a common end is whole lines: it may begin within one whose beginnings differ."""
    if all(tail == len(text) or text[-tail - 1] == _NEWLINE for text in (before, after)):
        return tail
    newline = before.find(b"\n", len(before) - tail)
    return len(before) - newline - 1 if newline >= 0 else 0


def _has_a_choice(run: Run, old: bytes) -> bool:
    """Might git tell it in another way?"""
    gone, come = run.gone, run.come
    if not (gone or come) or min(len(gone), len(come)) > MOST_REPLACED_BYTES:
        return True
    if gone and come and not set(gone.split(b"\n")[:-1]).isdisjoint(come.split(b"\n")[:-1]):
        return True
    above = old[_lines_before(old, run.head, 1) : run.head]
    after = len(old) - run.tail
    below = old[after : _lines_after(old, after, 1)]
    return _could_move(gone, above, below) or _could_move(come, above, below)


def _could_move(run: bytes, above: bytes, below: bytes) -> bool:
    """Would the text be the same if the run stood one line further up or down?"""
    return run != b"" and (_ends_with(run, above) or _begins_with(run, below))


def _ends_with(run: bytes, line: bytes) -> bool:
    """Is this its last line? An empty one is none."""
    return line != b"" and run.endswith(line) and (len(run) == len(line) or run[-len(line) - 1] == _NEWLINE)


def _begins_with(run: bytes, line: bytes) -> bool:
    """Is this its first line? One that is unfinished is only the same as all of it."""
    return line != b"" and run.startswith(line) and (len(run) == len(line) or line[-1] == _NEWLINE)


def _name(text: bytes, end: int) -> bytes | None:
    """What git writes behind the numbers: the last line before a hunk that begins like a definition."""
    for _ in range(FURTHEST):
        if not end:
            return b""
        start = _lines_before(text, end, 1)
        if text[start] in _NAMING:
            line = text[start:end]
            return b" " + line.rstrip() if len(line) <= LONGEST_NAME and _PLAIN.fullmatch(line) else None
        end = start
    return None


def _lines_before(text: bytes, at: int, count: int) -> int:
    """Where so many lines before a place begin; fewer at the beginning."""
    while count and at:
        at, count = text.rfind(b"\n", 0, at - 1) + 1, count - 1
    return at


def _lines_after(text: bytes, at: int, count: int) -> int:
    """Where so many lines from a place on end; fewer at the end."""
    while count and at < len(text):
        at, count = text.find(b"\n", at) + 1 or len(text), count - 1
    return at


def _count(lines: bytes) -> int:
    """An unfinished last line is one."""
    return lines.count(b"\n") + (lines[-1:] not in (b"", b"\n"))


def _range(first: int, count: int) -> bytes:
    """Which lines a hunk shows of one side; where it shows none, git names the one before the place."""
    return b"%d" % (first + 1) if count == 1 else b"%d,%d" % (first + (count > 0), count)


def _signed(sign: bytes, lines: bytes) -> bytes:
    """Each line behind a sign, and a note behind the last one if it is unfinished."""
    if not lines:
        return b""
    body, end = (lines[:-1], b"\n") if lines[-1] == _NEWLINE else (lines, _UNFINISHED)
    return sign + body.replace(b"\n", b"\n" + sign) + end

"""The small pieces that more than one text is made of: a kind, counted lines, a bar, a file of a list."""

from collections.abc import Iterable, Sequence
from math import log

from backtrail.amounts import size
from backtrail.cli.characters import pad, visible, width, wrapped
from backtrail.cli.terminal import Screen
from backtrail.cli.words import count, rounded
from backtrail.values import FileChange, SkippedFile

_KINDS = {
    "baseline": ("baseline", "blue"),
    "auto": ("auto", "dim"),
    "manual": ("manual", "green"),
    "agent": ("agent", "magenta"),
    "pre_restore": ("safety", "yellow"),
    "restore": ("restore", "cyan"),
}
_LETTERS = {
    "added": ("A", "green"),
    "modified": ("M", "yellow"),
    "deleted": ("D", "red"),
    "renamed": ("R", "cyan"),
    "mode": ("M", "yellow"),
}
_SKIPPED = {
    "too-large": "too large",
    "special-file": "not a regular file",
    "unreadable": "can't be read",
    "changing": "was being written to",
    "reserved-name": "has a reserved name",
}
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_SHORTEST_CUT = 20
_BIG = 100  # where all changes are small, none has a long bar


def kind(name: str, screen: Screen, columns: int = 0) -> str:
    """The kind of a checkpoint in one short word."""
    word, colour = _KINDS.get(name, (visible(name), "dim"))
    return screen.paint(pad(word, columns), colour)


def kind_width(names: Iterable[str]) -> int:
    """How many columns the longest of these kinds takes."""
    return max((width(_KINDS.get(name, (name,))[0]) for name in names), default=0)


def letter(status: str, screen: Screen) -> str:
    """What became of a file, in the letter that git has for it."""
    sign, colour = _LETTERS.get(status, ("?", "dim"))
    return screen.paint(sign, colour)


def plus(number: int | None) -> str:
    """Lines that were added; nothing if there are none."""
    return f"+{rounded(number)}" if number else ""


def minus(number: int | None, screen: Screen) -> str:
    """Lines that were removed; nothing if there are none."""
    return screen.sign(f"−{rounded(number)}") if number else ""


def lines(insertions: int | None, deletions: int | None, screen: Screen) -> str:
    """Both, as in `+12 −3`."""
    added, removed = screen.paint(plus(insertions), "green"), screen.paint(minus(deletions, screen), "red")
    return " ".join(filter(None, (added, removed)))


def bar(value: int, largest: int, columns: int, screen: Screen) -> str:
    """How big a change is beside the others: by its order of magnitude, or one big change would hide the rest."""
    share = log(1 + value) / log(1 + max(largest, _BIG)) if value else 0.0
    return pad(blocks(share, columns, screen.unicode), columns)


def blocks(share: float, columns: int, unicode: bool) -> str:
    """A bar of that share of the columns; the smallest share that is not nothing can be seen."""
    eighths = max(round(share * columns * 8), 1 if share else 0)
    if not unicode:
        return "#" * ((eighths + 7) // 8)
    return _EIGHTHS[8] * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def listing(rows: Sequence[str], total: int, indent: str, screen: Screen) -> list[str]:
    """Lines under each other, and how many more there are."""
    found = [f"{indent}{row}" for row in rows]
    if total > len(rows):
        found.append(screen.paint(screen.sign(f"{indent}… and {total - len(rows):,} more"), "dim"))
    return found


def paths(items: Iterable[str], room: int, screen: Screen) -> list[str]:
    """Paths that fit."""
    return [screen.cut_path(visible(item), room) for item in items]


def files(changes: Sequence[FileChange], total: int, indent: str, screen: Screen) -> list[str]:
    """Changed files with their letters and counted lines."""
    names = [name(change, screen) for change in changes]
    longest = min(max(map(width, names), default=0), max(_SHORTEST_CUT, screen.width - len(indent) - 18))
    rows = [
        f"{letter(change.status, screen)}  {pad(screen.cut_path(shown, longest), longest)}"
        f"  {_lines_or_size(change, screen)}"
        for change, shown in zip(changes, names, strict=True)
    ]
    return listing(rows, total, indent, screen)


def skipped(left: Sequence[SkippedFile], total: int, indent: str, screen: Screen) -> list[str]:
    """Files that were not captured, with the reason."""
    names = paths((file.path for file in left), max(_SHORTEST_CUT, screen.width - 40), screen)
    longest = max(map(width, names), default=0)
    sizes = [size(file.size) for file in left]
    rows = [
        f"{pad(name, longest)}  {length:>{max(map(len, sizes))}}  {_SKIPPED.get(file.reason, visible(file.reason))}"
        for name, length, file in zip(names, sizes, left, strict=True)
    ]
    return listing(rows, total, indent, screen)


def facts(pairs: Sequence[tuple[str, str]], indent: str, screen: Screen) -> list[str]:
    """Names and what they stand for, in two columns."""
    longest = max((width(name) for name, _ in pairs), default=0)
    return [f"{indent}{screen.paint(pad(name, longest), 'dim')}  {told}" for name, told in pairs]


def paragraph(text: str, indent: str, screen: Screen) -> list[str]:
    """A sentence set in, in as many lines as it takes on a terminal."""
    if not text:
        return []
    told = visible(text)
    found = wrapped(told, max(20, screen.width - len(indent))) if screen.terminal else [told]
    return [indent + line for line in found]


def together(rows: Iterable[str]) -> str:
    """Rows as one text."""
    return "".join(f"{row.rstrip(' ')}\n" for row in rows)


def summary(changed: int, insertions: int, deletions: int, screen: Screen) -> str:
    """`3 files changed  +12 −3`."""
    return f"{count(changed, 'file')} changed  {lines(insertions, deletions, screen)}".rstrip()


def name(change: FileChange, screen: Screen) -> str:
    """The path of a changed file; both paths of a renamed one."""
    if change.old_path is None:
        return visible(change.path)
    return f"{visible(change.old_path)} {screen.sign('→')} {visible(change.path)}"


def _lines_or_size(change: FileChange, screen: Screen) -> str:
    if change.status == "mode":
        return screen.paint("mode", "dim")
    if change.insertions is None and change.deletions is None and change.status != "deleted":
        return screen.paint(size(change.size), "dim")
    return lines(change.insertions, change.deletions, screen)

"""Differences as text: the patch itself, a line for each file, or only what became of each."""

from collections.abc import Iterator

from backtrail.amounts import size
from backtrail.cli.characters import pad, visible, width
from backtrail.cli.render import cells
from backtrail.cli.terminal import Screen
from backtrail.cli.words import count
from backtrail.values import CheckpointDiff, FileChange

_COLOURS = {"+": ("green",), "-": ("red",), "@": ("cyan",), "\\": ("dim",)}


def diff(found: CheckpointDiff, screen: Screen) -> str:
    """The patch. Into a pipe or file it goes byte for byte, so that `git apply` takes it."""
    if not (screen.terminal or screen.colour):
        return found.diff_content
    return "".join(f"{line}\n" for line in _painted(found.diff_content, screen))


def diff_stat(found: CheckpointDiff, screen: Screen) -> str:
    """For each file how many lines changed, and a bar of them; a sum at the end."""
    if not found.files:
        return ""
    names = [cells.name(change, screen) for change in found.files]
    counts = [_changed(change) for change in found.files]
    column = max(map(len, counts))
    longest = min(max(map(width, names)), max(10, (screen.width - column) * 6 // 10))
    if not screen.terminal:
        longest = max(map(width, names))
    room = max(6, screen.width - longest - column - 5)
    largest = max((change.insertions or 0) + (change.deletions or 0) for change in found.files)
    rows = [
        f" {pad(screen.cut_path(name, longest), longest)} | {told:>{column}} {_bar(change, largest, room, screen)}"
        for name, told, change in zip(names, counts, found.files, strict=True)
    ]
    return cells.together([*rows, f" {_sum(found)}"])


def name_status(found: CheckpointDiff, screen: Screen) -> str:
    """A letter and a path for each file, with tabs between as git has them."""
    rows = []
    for change in found.files:
        moved = [] if change.old_path is None else [visible(change.old_path)]
        rows.append("\t".join([cells.letter(change.status, screen), *moved, visible(change.path)]))
    return cells.together(rows)


def _painted(patch: str, screen: Screen) -> Iterator[str]:
    in_hunk = False
    # Only a line feed ends a line of a patch; other separators are content.
    for line in patch.removesuffix("\n").split("\n") if patch else ():
        if line.startswith("diff "):
            in_hunk = False
        elif line.startswith("@@"):
            in_hunk = True
        styles = _COLOURS.get(line[:1], ()) if in_hunk else ("bold",)
        yield screen.paint(visible(line, keep="\t"), *styles)


def _changed(change: FileChange) -> str:
    if change.status == "mode":
        return "mode"
    if change.insertions is None and change.deletions is None:
        return size(change.size)
    return f"{(change.insertions or 0) + (change.deletions or 0):,}"


def _bar(change: FileChange, largest: int, room: int, screen: Screen) -> str:
    """As many signs as lines if all fit, else in proportion; what is there at all gets a sign."""
    scale = min(1.0, room / largest) if largest else 1.0
    added, removed = (
        max(int(number * scale), 1) if number else 0
        for number in (change.insertions or 0, change.deletions or 0)
    )
    return screen.paint("+" * added, "green") + screen.paint("-" * removed, "red")


def _sum(found: CheckpointDiff) -> str:
    told = [f"{count(len(found.files), 'file')} changed"]
    if found.insertions:
        told.append(f"{count(found.insertions, 'line')} added")
    if found.deletions:
        told.append(f"{count(found.deletions, 'line')} removed")
    return ", ".join(told)

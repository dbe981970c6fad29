"""Checkpoints as text: the list of them, one with its files, and what became of one."""

from collections.abc import Iterable, Sequence

from backtrail.cli.characters import pad, pad_start, visible, width
from backtrail.cli.render import cells
from backtrail.cli.terminal import Screen
from backtrail.cli.words import count, rounded
from backtrail.values import (
    Checkpoint,
    CheckpointPage,
    CheckpointSummary,
    Content,
    DeletedCheckpoints,
    SummaryPage,
)

AnyCheckpoint = Checkpoint | CheckpointSummary
_BAR = 8
# The columns that a list of long messages must leave them before it shows a bar, and numbers of files.
_MESSAGE_BEFORE_BAR = 44
_MESSAGE_BEFORE_FILES = 32
_SHORTEST_MESSAGE = 12
_MESSAGE_IN_A_PIPE = 60  # a longer one is whole, but the other rows need not be as wide
_SESSION = 12
_FILES_UNDER_EACH = 10
_SKIPPED_SHOWN = 20


def checkpoint_list(page: SummaryPage | CheckpointPage, screen: Screen) -> str:
    """One line for each, newest first; with the files under it where the page has them."""
    shown: Sequence[AnyCheckpoint] = page.checkpoints
    if not shown:
        return "There are no such checkpoints.\n"
    columns = _Columns(shown, screen)
    rows: list[str] = []
    for one in shown:
        rows.append(columns.row(one))
        if isinstance(one, Checkpoint):
            few = one.files_changed[:_FILES_UNDER_EACH]
            rows.extend(cells.files(few, one.files_changed_count, "      ", screen))
    if page.next is not None and screen.terminal:
        rows.append(screen.paint(screen.sign("… and older ones; -n NUMBER shows more"), "dim"))
    return cells.together(rows)


def checkpoint(one: Checkpoint, screen: Screen) -> str:
    """One checkpoint with all that is known of it."""
    title = f"{screen.paint(f'Checkpoint {one.number}', 'bold')}  {cells.kind(one.kind, screen)}"
    rows = [f"{title}  {screen.ago(one.timestamp)}{_pin(one, screen)}", ""]
    rows += [f"    {visible(line)}" for line in one.message.split("\n")]
    rows += ["", *cells.facts(_facts(one, screen), "", screen), ""]
    rows += cells.files(one.files_changed, one.files_changed_count, "  ", screen)
    rows.append("  " + cells.summary(one.files_changed_count, one.insertions, one.deletions, screen))
    if one.skipped:
        rows += ["", screen.paint(f"Not captured: {count(len(one.skipped), 'file')}", "yellow")]
        rows += cells.skipped(one.skipped[:_SKIPPED_SHOWN], len(one.skipped), "  ", screen)
    return cells.together(rows)


def saved(one: Checkpoint, screen: Screen) -> str:
    """What a save made."""
    told = cells.summary(one.files_changed_count, one.insertions, one.deletions, screen)
    rows = [f"{screen.paint(f'Checkpoint {one.number}', 'bold')} saved: {told}"]
    if one.skipped:
        left = f"Not captured: {count(len(one.skipped), 'file')}; `backtrail show {one.number}` says which and why."
        rows.append(screen.paint(left, "yellow"))
    return cells.together(rows)


def pinned(one: AnyCheckpoint, _: Screen) -> str:
    """Whether a checkpoint is kept for ever, after that was changed."""
    if one.pinned:
        return f"Checkpoint {one.number} is pinned: it is kept until it is unpinned or deleted.\n"
    return f"Checkpoint {one.number} is no longer pinned: retention decides how long it is kept.\n"


def deleted(gone: DeletedCheckpoints, screen: Screen) -> str:
    """Which checkpoints were let go, and what they were."""
    columns = _Columns(gone.deleted, screen)
    return cells.together(
        [f"{count(len(gone.deleted), 'checkpoint')} deleted:", *map(columns.row, gone.deleted)]
    )


def folder(content: Content, screen: Screen) -> str:
    """The names in a folder of a checkpoint, marked as `ls -F` does."""
    marks = {"folder": "/", "executable": "*", "symlink": "@"}
    colours = {"folder": ("bold", "blue"), "executable": ("green",), "symlink": ("cyan",)}
    return cells.together(
        screen.paint(visible(entry.name), *colours.get(entry.kind, ())) + marks.get(entry.kind, "")
        for entry in content.entries
    )


class _Columns:
    """How wide each column of a list is, so that all rows are aligned; the message gets what is left.

    The bar, then the number of files give way where messages would be cut too short.
    """

    def __init__(self, shown: Sequence[AnyCheckpoint], screen: Screen) -> None:
        self._screen = screen
        self._number = _longest(str(one.number) for one in shown)
        self._pins = any(one.pinned for one in shown)
        self._time = _longest(screen.ago(one.timestamp) for one in shown)
        self._kind = cells.kind_width(one.kind for one in shown)
        self._files = _longest(map(_files, shown))
        self._plus = _longest(cells.plus(one.insertions) for one in shown)
        self._minus = _longest(cells.minus(one.deletions, screen) for one in shown)
        self._largest = max((one.insertions + one.deletions for one in shown), default=0)
        self._bar = _BAR
        self._message = self._fitted(_longest(_first_line(one) + _turn(one, screen) for one in shown))

    def row(self, one: AnyCheckpoint) -> str:
        """One checkpoint."""
        screen = self._screen
        parts = [
            screen.paint(pad_start(str(one.number), self._number), "bold") + self._pin(one),
            pad(screen.ago(one.timestamp), self._time),
            cells.kind(one.kind, screen, self._kind),
            self._told(one),
            screen.paint(pad_start(_files(one), self._files), "dim") if self._files else "",
            self._lines(one),
            self._size(one),
        ]
        return "  ".join(filter(None, parts))

    def _fitted(self, longest: int) -> int:
        if not self._screen.terminal:
            return min(longest, _MESSAGE_IN_A_PIPE)
        if self._room() < min(longest, _MESSAGE_BEFORE_BAR):
            self._bar = 0
        if self._room() < min(longest, _MESSAGE_BEFORE_FILES):
            self._files = 0
        return min(longest, max(self._room(), _SHORTEST_MESSAGE))

    def _room(self) -> int:
        """What the other columns leave, with two spaces before each."""
        others = (self._time, self._kind, self._files, self._plus + 1 + self._minus, self._bar)
        return (
            self._screen.width - self._number - 2 * self._pins - 2 - sum(2 + each for each in others if each)
        )

    def _pin(self, one: AnyCheckpoint) -> str:
        if not self._pins:
            return ""
        return " " + (self._screen.paint(self._screen.sign("★"), "yellow") if one.pinned else " ")

    def _told(self, one: AnyCheckpoint) -> str:
        """The message, and after it whose turn it was: that stays when the message is cut."""
        message = _first_line(one)
        turn = self._screen.cut(
            _turn(one, self._screen), max(self._message - width(message), self._message // 2)
        )
        message = self._screen.cut(message, self._message - width(turn))
        space = " " * (self._message - width(message) - width(turn))
        return message + self._screen.paint(turn, "magenta") + space

    def _lines(self, one: AnyCheckpoint) -> str:
        plus = pad_start(cells.plus(one.insertions), self._plus)
        minus = pad(cells.minus(one.deletions, self._screen), self._minus)
        return f"{self._screen.paint(plus, 'green')} {self._screen.paint(minus, 'red')}"

    def _size(self, one: AnyCheckpoint) -> str:
        if not self._bar:
            return ""
        bar = cells.bar(one.insertions + one.deletions, self._largest, self._bar, self._screen)
        return self._screen.paint(bar, "blue")


def _longest(texts: Iterable[str]) -> int:
    return max(map(width, texts), default=0)


def _first_line(one: AnyCheckpoint) -> str:
    return visible(one.message.strip().partition("\n")[0].rstrip())


def _turn(one: AnyCheckpoint, screen: Screen) -> str:
    if one.session is None:
        return ""
    turn = "" if one.turn is None else f"turn {one.turn} "
    return f"  {turn}{screen.cut(visible(one.session), _SESSION)}"


def _files(one: AnyCheckpoint) -> str:
    number = one.files_changed_count
    return f"{rounded(number)} file{'s' * (number != 1)}" if number else ""


def _pin(one: AnyCheckpoint, screen: Screen) -> str:
    return screen.paint(screen.sign("  ★ pinned"), "yellow") if one.pinned else ""


def _facts(one: Checkpoint, screen: Screen) -> list[tuple[str, str]]:
    facts = [("id", one.id), ("made", f"{one.timestamp.astimezone(screen.zone):%Y-%m-%d %H:%M:%S %z}")]
    if one.parent is not None:
        facts.append(("after", f"checkpoint {one.parent}"))
    if one.session is not None:
        turn = "" if one.turn is None else f", turn {one.turn}"
        facts.append(("session", f"{visible(one.session)}{turn}"))
    if one.conversation is not None:
        facts.append(("conversation", visible(one.conversation)))
    return facts + [(visible(key), visible(str(value))) for key, value in one.metadata.items()]

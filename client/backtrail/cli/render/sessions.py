"""Sessions as text: the list of them, one with its turns, what was said in it, and what became of it."""

from collections.abc import Iterable, Sequence
from typing import Any

from backtrail.cli.characters import pad, pad_start, visible, width, wrapped
from backtrail.cli.render import cells
from backtrail.cli.spoken import spoken
from backtrail.cli.terminal import Screen
from backtrail.cli.words import count, numbers
from backtrail.session_values import DeletedSession, Session, SessionPage, SessionSummary, Turn

_STATUSES = {"active": ("●", "green"), "idle": ("○", "yellow"), "ended": ("○", "dim")}
_ROLES = {"user": "green", "assistant": "cyan", "system": "dim"}
_STATUS = 8
_SHORTEST_TITLE = 24
_NARROWEST = 20
_TOOLS_IN_A_LINE = 6


def session_list(page: SessionPage, screen: Screen) -> str:
    """One line for each, the last used first; titles under them where there is no room beside them."""
    if not page.sessions:
        return "There are no such sessions.\n"
    columns = _Columns(page.sessions, screen)
    rows = [row for one in page.sessions for row in columns.rows(one)]
    if page.next is not None and screen.terminal:
        rows.append(screen.paint(screen.sign("… and older ones; -n NUMBER shows more"), "dim"))
    return cells.together(rows)


def session(one: Session, screen: Screen) -> str:
    """One session with all that is known of it."""
    rows = [_head(one, screen), ""]
    rows += cells.facts(_facts(one, screen), "  ", screen)
    if one.turns:
        rows.append("")
    for turn in one.turns:
        rows += turn_rows(turn, screen)
    return cells.together(rows)


def session_told(one: SessionSummary, screen: Screen) -> str:
    """A session after something was told about it."""
    return cells.together([_head(one, screen), *cells.facts(_facts(one, screen), "  ", screen)])


def session_deleted(gone: DeletedSession, _: Screen) -> str:
    """What is left of a session."""
    text = f"The session {visible(gone.session)} and its conversation are deleted."
    if gone.checkpoints:
        plural = "" if len(gone.checkpoints) == 1 else "s"
        text += f" Retention decides about checkpoint{plural} {numbers(gone.checkpoints)}."
    return f"{text}\n"


def turn_started(session: str, turn: Turn, _: Screen) -> str:
    """A turn that begins."""
    before = "" if turn.before is None else f"; checkpoint {turn.before} is the state before it"
    return f"Turn {turn.turn} of {visible(session)} has begun{before}.\n"


def turn_rows(turn: Turn, screen: Screen, indent: str = "  ") -> list[str]:
    """A turn: when, what was asked, which tools were used, between which checkpoints."""
    name = screen.paint(f"turn {turn.turn}", "dim" if turn.rewound else "bold")
    told = [screen.ago(turn.started), _span(turn, screen), _mark(turn, screen)]
    rows = [indent + "  ".join(filter(None, (name, *told)))]
    rows += said_rows(turn.prompt, indent + "    ", screen, lines=4)
    if turn.tools:
        rows.append(f"{indent}    {screen.paint(screen.cut(_tools(turn), screen.width - 8), 'dim')}")
    return rows


def messages(said: Sequence[Any], first: int, screen: Screen) -> str:
    """Messages under each other: who, the number of the message, and the text set in."""
    rows: list[str] = []
    for number, message in enumerate(said, first + 1):
        role, text = spoken(message)
        colour = _ROLES.get(role, "magenta")
        head = f"{screen.paint(visible(role), 'bold', colour)} {screen.paint(f'{number:,}', 'dim')}"
        rows += [head, *said_rows(text, "  ", screen), ""]
    return cells.together(rows)


def said_rows(text: str, indent: str, screen: Screen, lines: int | None = None) -> list[str]:
    """A text of several lines, wrapped and set in; only its first lines, if so many are asked for."""
    rows: list[str] = []
    room = max(_NARROWEST, screen.width - len(indent))
    for line in text.strip("\n").split("\n") if text else ():
        if lines is not None and len(rows) > lines:
            break  # enough to know that it is cut
        told = visible(line.expandtabs(4))
        rows += wrapped(told, room) if screen.terminal and told else [told]
    if lines is not None and len(rows) > lines:
        rows = [*rows[:lines], screen.paint(screen.sign("…"), "dim")]
    return [f"{indent}{row}" for row in rows]


def status(name: str, screen: Screen) -> str:
    """Whether somebody works in a session."""
    mark, colour = _STATUSES.get(name, ("○", "dim"))
    return screen.paint(screen.sign(f"{mark} {visible(name)}"), colour)


class _Columns:
    """How wide each column of a list is. Ids are never cut: they are what somebody has to type."""

    def __init__(self, shown: Sequence[SessionSummary], screen: Screen) -> None:
        self._screen = screen
        self._id = _longest(visible(one.session) for one in shown)
        self._agent = _longest(visible(one.agent) for one in shown)
        self._turns = _longest(map(_turns, shown))
        self._time = _longest(screen.ago(one.updated) for one in shown)
        others = (_STATUS, self._id, self._agent, self._turns, self._time)
        self._room = screen.width - sum(2 + each for each in others if each)
        wanted = min(_longest(map(_title, shown)), _SHORTEST_TITLE)
        self._is_narrow = screen.terminal and self._room < wanted

    def rows(self, one: SessionSummary) -> list[str]:
        """One session."""
        screen = self._screen
        parts = [
            status(one.status, screen) + " " * (_STATUS - 2 - width(visible(one.status))),
            screen.paint(pad(visible(one.session), self._id), "bold"),
            pad(visible(one.agent), self._agent) if self._agent else "",
            pad(screen.ago(one.updated), self._time),
            screen.paint(pad_start(_turns(one), self._turns), "dim"),
        ]
        row, title = "  ".join(filter(None, parts)), _title(one)
        if self._is_narrow:
            indent = " " * (_STATUS + 2)
            return [row, indent + screen.cut(title, screen.width - len(indent))] if title else [row]
        return [f"{row}  {screen.cut(title, self._room)}"]


def _head(one: SessionSummary, screen: Screen) -> str:
    title = f": {visible(one.title)}" if one.title else ""
    return f"{screen.paint(visible(one.session), 'bold')}{title}  {status(one.status, screen)}"


def _facts(one: SessionSummary, screen: Screen) -> list[tuple[str, str]]:
    facts = [("agent", visible(one.agent)), ("phase", visible(one.phase)), ("part of", _known(one.parent))]
    at = f" at {visible(one.forked_at)}" if one.forked_at else ""
    facts.append(("forked from", f"{_known(one.forked_from)}{at}" if one.forked_from or at else ""))
    facts.append(("follows", ", ".join(visible(each) for each in one.follows)))
    facts.append(("begun", screen.ago(one.created)))
    facts.append(("last used", screen.ago(one.updated)))
    facts.append(("turns", f"{one.turn_count:,}"))
    if isinstance(one, Session) and one.snapshots:
        facts.append(("messages", f"{one.snapshots[-1].message_count:,}"))
        facts.append(("taken out", _secrets(one)))
    facts += [(visible(key), visible(str(value))) for key, value in one.metadata.items()]
    return [fact for fact in facts if fact[1]]


def _secrets(one: Session) -> str:
    """How many secrets the conversation had."""
    total = sum(one.snapshots[-1].redacted.values())
    return count(total, "secret") if total else ""


def _title(one: SessionSummary) -> str:
    phase = f"[{visible(one.phase)}] " if one.phase else ""
    return phase + visible(one.title)


def _turns(one: SessionSummary) -> str:
    return count(one.turn_count, "turn")


def _span(turn: Turn, screen: Screen) -> str:
    if turn.before is None and turn.after is None:
        return ""
    before, after = ("?" if number is None else str(number) for number in (turn.before, turn.after))
    return screen.paint(screen.sign(f"checkpoints {before} → {after}"), "blue")


def _mark(turn: Turn, screen: Screen) -> str:
    if turn.rewound:
        return screen.paint("rewound", "yellow")
    if turn.interrupted:
        return screen.paint("interrupted", "red")
    return "" if turn.ended else screen.paint("under way", "green")


def _tools(turn: Turn) -> str:
    used: dict[str, int] = {}
    for tool in turn.tools:
        used[tool.name] = used.get(tool.name, 0) + 1
    names = [visible(name) + (f" ({times})" if times > 1 else "") for name, times in used.items()]
    more = len(names) - _TOOLS_IN_A_LINE
    return "used " + ", ".join(names[:_TOOLS_IN_A_LINE]) + (f" and {more} more" if more > 0 else "")


def _known(text: str | None) -> str:
    return visible(text or "")


def _longest(texts: Iterable[str]) -> int:
    return max(map(width, texts), default=0)

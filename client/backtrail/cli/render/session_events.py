"""What happened to sessions, in a few words: for the stream of events and for the timeline."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from backtrail.cli.characters import visible
from backtrail.cli.terminal import Screen
from backtrail.cli.words import count


class Happened(Protocol):
    """What both have in common."""

    @property
    def data(self) -> dict[str, Any]: ...
    @property
    def checkpoint(self) -> int | None: ...
    @property
    def session(self) -> str | None: ...


Tell = Callable[[Happened, Screen], str]


def text(data: Mapping[str, Any], name: str) -> str:
    """What an event says about something, as text that is safe to show."""
    return visible(str(data.get(name) or ""))


def number(data: Mapping[str, Any], name: str) -> int:
    """The same for a number; whatever is not one counts as nothing."""
    value = data.get(name)
    return value if isinstance(value, int) else 0


def _started(happened: Happened, screen: Screen) -> str:
    title = text(happened.data, "title")
    return f"{_session(happened, screen)} begun" + (f": {title}" if title else "")


def _updated(happened: Happened, screen: Screen) -> str:
    return f"{_session(happened, screen)} described anew"


def _ended(happened: Happened, screen: Screen) -> str:
    reason = text(happened.data, "reason")
    return f"{_session(happened, screen)} ended" + (f": {reason}" if reason else "")


def _deleted(happened: Happened, screen: Screen) -> str:
    return f"{_session(happened, screen)} deleted"


def _resumed(happened: Happened, screen: Screen) -> str:
    return f"{_session(happened, screen)} resumed"


def _forked(happened: Happened, screen: Screen) -> str:
    what = f"checkpoint {happened.checkpoint}" if happened.session is None else _session(happened, screen)
    return f"{what} forked into {text(happened.data, 'new_root') or 'another folder'}"


def _turn_started(happened: Happened, screen: Screen) -> str:
    prompt = " ".join(str(happened.data.get("prompt") or "").split())
    return f"{_turn(happened, screen)} begun" + (f": {visible(prompt)}" if prompt else "")


def _turn_ended(happened: Happened, screen: Screen) -> str:
    after = happened.data.get("after", happened.checkpoint)
    return f"{_turn(happened, screen)} done" + (f", checkpoint {after}" if isinstance(after, int) else "")


def _tool_used(happened: Happened, screen: Screen) -> str:
    return f"{_turn(happened, screen)} used {text(happened.data, 'name') or text(happened.data, 'tool')}"


def _said(happened: Happened, screen: Screen) -> str:
    messages = count(number(happened.data, "message_count"), "message")
    return f"conversation of {_session(happened, screen)} recorded: {messages}"


def _rewound(happened: Happened, screen: Screen) -> str:
    back = happened.data.get("turns_restored")
    if isinstance(back, list) and back:
        return f"{_session(happened, screen)} has its turns again: {', '.join(map(str, back))}"
    side = "before" if happened.data.get("before") else "after"
    return f"{_session(happened, screen)} went back to {side} turn {number(happened.data, 'turn')}"


def _phase(happened: Happened, screen: Screen) -> str:
    return f"{_session(happened, screen)} is in phase {text(happened.data, 'phase')}"


def _session(happened: Happened, screen: Screen) -> str:
    return screen.paint(visible(happened.session or "a session"), "magenta")


def _turn(happened: Happened, screen: Screen) -> str:
    return f"{_session(happened, screen)} turn {number(happened.data, 'turn')}"


TELLS: Mapping[str, Tell] = {
    "session_started": _started,
    "session_updated": _updated,
    "session_ended": _ended,
    "session_deleted": _deleted,
    "session_resumed": _resumed,
    "session_forked": _forked,
    "turn_started": _turn_started,
    "turn_ended": _turn_ended,
    "tool_used": _tool_used,
    "conversation_saved": _said,
    "conversation_rewound": _rewound,
    "phase_changed": _phase,
}

"""What is looked at, and what a key does to it. Pure: what the daemon or an editor has to do is told as a wish."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from backtrail.cli.browse import layout
from backtrail.session_values import RewindResult, Session, Turn

_HEAD_AND_FOOT = 2
_LONGEST_DETAIL = 10
_SHORTEST_LIST = 3


class View(Enum):
    """What fills the screen."""

    TURNS = "turns"
    MESSAGES = "messages"
    PLAN = "plan"
    DONE = "done"


class Wish(Enum):
    """What a key asks for that is done outside of this module."""

    READ = "read the messages of the selected turn"
    EDIT = "let the prompt of the selected turn be edited"
    GO_BACK = "carry the plan out"
    UNDO = "take that back"
    LEAVE = "leave the screen"


class State(Struct, frozen=True):
    """Everything that decides about what is drawn; `changed` says how many files a checkpoint changed."""

    session: Session
    lines: int
    columns: int
    changed: Mapping[int, int] = field(default_factory=dict)
    view: View = View.TURNS
    selected: int = 0
    top: int = 0
    messages: Sequence[Any] = ()
    first_message: int = 0
    rows: tuple[layout.Row, ...] = ()
    offset: int = 0
    prompt: str = ""
    rewind: RewindResult | None = None
    status: str = ""

    @property
    def turn(self) -> Turn | None:
        """The selected one; None where there are none."""
        return self.session.turns[self.selected] if self.session.turns else None

    @property
    def room(self) -> int:
        """Lines between the head and the foot."""
        return max(self.lines - _HEAD_AND_FOOT, 1)

    @property
    def detail_room(self) -> int:
        """Lines under the list that tell about the selected turn; none in a very low window."""
        found = min(_LONGEST_DETAIL, self.room // 2)
        return found if self.room - found >= _SHORTEST_LIST else 0

    @property
    def list_room(self) -> int:
        """Turns that are in sight at once."""
        return self.room - self.detail_room


def opened(session: Session, changed: Mapping[int, int], lines: int, columns: int) -> State:
    """The turns of a session, the newest selected."""
    state = State(session=session, changed=changed, lines=lines, columns=columns)
    return _selecting(state, len(session.turns) - 1)


def resized(state: State, lines: int, columns: int) -> State:
    """The same in a window of another size."""
    if (lines, columns) == (state.lines, state.columns):
        return state
    state = replace(state, lines=lines, columns=columns)
    return _scrolled(_laid_out(_selecting(state, state.selected)), state.offset)


def reading(state: State, messages: Sequence[Any], first: int) -> State:
    """The messages of the selected turn; `first` is how many there are before them."""
    state = replace(state, view=View.MESSAGES, messages=messages, first_message=first, offset=0, status="")
    return _laid_out(state)


def planned(state: State, prompt: str, plan: RewindResult) -> State:
    """An edited prompt, and what going back to before it would do."""
    return replace(state, view=View.PLAN, prompt=prompt, rewind=plan, status="")


def gone_back(state: State, done: RewindResult) -> State:
    """What going back has done."""
    return replace(state, view=View.DONE, rewind=done, status="")


def undone(state: State, session: Session, status: str) -> State:
    """The turns again, after going back was taken back: the edit is dropped with it."""
    state = replace(state, session=session, view=View.TURNS, prompt="", rewind=None, status=status)
    return _selecting(state, state.selected)


def told(state: State, status: str) -> State:
    """Something to say in the last line."""
    return replace(state, status=status)


def press(state: State, key: str) -> tuple[State, Wish | None]:
    """What a key leads to; what was said before is gone with it. No key at all changes nothing."""
    return _PRESSED[state.view](replace(state, status=""), key) if key else (state, None)


def _in_turns(state: State, key: str) -> tuple[State, Wish | None]:
    if key in ("escape", "q"):
        return state, Wish.LEAVE
    if key in ("right", " ", "l") and state.turn:
        return state, Wish.READ
    if key == "enter" and state.turn:
        return _editing(state, state.turn)
    last = len(state.session.turns) - 1
    return _selecting(state, _moved(key, state.selected, state.list_room, last)), None


def _editing(state: State, turn: Turn) -> tuple[State, Wish | None]:
    if turn.rewound:
        return told(
            state, f"Turn {turn.turn} is set aside; only a turn that still counts can be edited."
        ), None
    return state, Wish.EDIT


def _in_messages(state: State, key: str) -> tuple[State, Wish | None]:
    if key in ("escape", "left", "q", "h"):
        return replace(state, view=View.TURNS, messages=(), rows=(), offset=0), None
    return _scrolled(state, _moved(key, state.offset, state.room, len(state.rows))), None


def _in_plan(state: State, key: str) -> tuple[State, Wish | None]:
    if key in ("y", "enter"):
        return state, Wish.GO_BACK
    if key in ("n", "escape", "q"):
        back = replace(state, view=View.TURNS, prompt="", rewind=None)
        return told(back, "Nothing was changed."), None
    return state, None


def _in_done(state: State, key: str) -> tuple[State, Wish | None]:
    if key == "u":
        return state, Wish.UNDO
    return state, Wish.LEAVE if key in ("enter", "escape", "q") else None


_PRESSED: Mapping[View, Callable[[State, str], tuple[State, Wish | None]]] = {
    View.TURNS: _in_turns,
    View.MESSAGES: _in_messages,
    View.PLAN: _in_plan,
    View.DONE: _in_done,
}


def _moved(key: str, place: int, page: int, last: int) -> int:
    """Where a key leads in a list; it may be outside of it."""
    steps = {"up": -1, "k": -1, "down": 1, "j": 1, "page up": -page, "page down": page, " ": page}
    ends = {"home": 0, "g": 0, "end": last, "G": last}
    return ends.get(key, place + steps.get(key, 0))


def _selecting(state: State, wanted: int) -> State:
    """A turn selected, and the list moved as little as it takes to have it in sight."""
    selected = max(0, min(wanted, len(state.session.turns) - 1))
    top = min(max(state.top, selected - state.list_room + 1), selected)
    # A window that grew is filled.
    top = max(0, min(top, len(state.session.turns) - state.list_room))
    return replace(state, selected=selected, top=top)


def _scrolled(state: State, wanted: int) -> State:
    return replace(state, offset=max(0, min(wanted, len(state.rows) - state.room)))


def _laid_out(state: State) -> State:
    return replace(state, rows=layout.messages(state.messages, state.first_message, state.columns))

"""Turns of sessions: begun, told about, ended, and hidden when somebody goes back behind them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from backtrail.errors import UnknownTurn
from backtraild.sessions import facts
from backtraild.sessions.cleaning import PROMPT_LIMIT, Cleaner, Redactor
from backtraild.sessions.journal import Journal
from backtraild.sessions.ledger import Entered
from backtraild.sessions.model import (
    Reversal,
    Session,
    SessionStatus,
    ToolCall,
    Turn,
    check_number,
    session_key,
)

TOOLS_LIMIT = 1000  # of one turn that are listed; each use writes the turn's record again


class Turns:
    """What happens in the turns of all sessions of one store."""

    def __init__(self, journal: Journal, redactor: Redactor, now: Callable[[], datetime]) -> None:
        self._journal = journal
        self._redactor = redactor
        self._now = now

    def begin(
        self,
        session: str,
        number: int | None = None,
        role: str = "user",
        prompt: str = "",
        before: int | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Turn:
        """Begin a turn, with the next number if none is given, in a session that is begun if it is unknown.

        A turn that is still open was interrupted. The same one begun again is the one there is.
        """
        check_number("A turn's number", number)
        check_number("A checkpoint's number", before)
        now, base = self._now(), self._journal.find_or_begin(session)
        old = base.session if base else Session(session, now, now)
        unfinished = self._journal.open_turn(base)
        cleaner = Cleaner(self._redactor)
        turn = Turn(
            ordinal=old.turn_count + 1,
            number=old.last_number + 1 if number is None else number,
            started=now,
            role=cleaner.text(role),
            prompt=cleaner.text(prompt, PROMPT_LIMIT),
            prompt_cut=len(prompt) > PROMPT_LIMIT,
            before=before,
            metadata=cleaner.metadata({}, metadata),
        )
        if unfinished and number is not None and _is_same(unfinished, turn):
            return unfinished
        turn = replace(turn, redacted=dict(cleaner.redacted))
        begun = replace(
            facts.resumed(old, now),
            updated=now,
            turn_count=turn.ordinal,
            last_number=max(old.last_number, turn.number),
            open_turn=turn.ordinal,
        )
        closed = [facts.interrupted(unfinished, now)] if unfinished else []
        self._journal.write(base, facts.counted(begun, cleaner.redacted), [*closed, turn])
        return turn

    def tool_used(self, session: str, number: int | None, call: ToolCall) -> Turn:
        """Tell of a tool's use, or that one told of before, with the same id, has ended."""
        base, turn = self._named(session, number)
        return self._change(base, turn, tools=[call])

    def end(
        self,
        session: str,
        number: int | None = None,
        after: int | None = None,
        snapshot: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        tools: Iterable[ToolCall] = (),
    ) -> Turn:
        """End a turn, the open one if no number is given. Told again, it is completed with what is given."""
        check_number("A checkpoint's number", after)
        check_number("A snapshot's number", snapshot)
        base, turn = self._named(session, number)
        done = replace(
            turn,
            ended=self._now() if turn.ended is None or turn.interrupted else turn.ended,
            interrupted=False,
            after=turn.after if after is None else after,
            snapshot=turn.snapshot if snapshot is None else snapshot,
        )
        return self._change(base, done, metadata, tools)

    def get(self, session: str, number: int) -> Turn:
        """The last turn of a number that is not rewound."""
        found = self.find(self._journal.get(session), number)
        if found is None:
            raise UnknownTurn(
                f"Session {session!r} has no turn {number}.",
                f"`backtrail session show {session}` shows those there are.",
            )
        return found

    def all(self, session: str, *, include_rewound: bool = False) -> list[Turn]:
        """Turns in the order in which they were begun."""
        self._journal.get(session)
        key = session_key(session)
        return self._journal.read(lambda: self._journal.rows.turns(key, include_rewound=include_rewound))

    def reverse(self, session: str, reversal: Reversal) -> None:
        """Hide turns and bring others back, in one step. What was done already is not done again."""
        base, now = self._journal.get(session), self._now()
        if base.session.rewound_by >= reversal.checkpoint:
            return
        turns = {turn.ordinal: turn for turn in self.all(session, include_rewound=True)}
        changed = [_hidden(turns[ordinal], now) for ordinal in reversal.hidden if ordinal in turns]
        changed += [replace(turns[ordinal], rewound=False) for ordinal in reversal.shown if ordinal in turns]
        turns |= {turn.ordinal: turn for turn in changed}
        left = {ordinal: turn.number for ordinal, turn in turns.items() if not turn.rewound}
        told = {"hidden": len(reversal.hidden), "shown": len(reversal.shown), "by": reversal.checkpoint}
        old = facts.with_moment(base.session, "rewound", now, told)
        gone_back = replace(
            old,
            updated=now,
            last_number=max(left.values(), default=0),
            open_turn=old.open_turn if old.open_turn in left else None,
            snapshot=reversal.snapshot,
            rewound_by=reversal.checkpoint,
        )
        self._journal.write(base, gone_back, changed)

    def find(self, base: Entered, number: int) -> Turn | None:
        """The turn that a number means; None if there is none."""
        check_number("A turn's number", number)
        turn = self._journal.open_turn(base)
        if turn is not None and turn.number == number:
            return turn
        key = session_key(base.session.id)
        return self._journal.read(lambda: self._journal.rows.turn(key, number))

    def _named(self, session: str, number: int | None) -> tuple[Entered, Turn]:
        """A session and a turn of it; without a number, the one under way."""
        base = self._journal.get(session)
        turn = self._journal.open_turn(base) if number is None else self.get(session, number)
        if turn is None:
            raise UnknownTurn(f"No turn of session {session!r} is under way.", "Name the turn by its number.")
        return base, turn

    def _change(
        self,
        base: Entered,
        turn: Turn,
        metadata: Mapping[str, Any] | None = None,
        tools: Iterable[ToolCall] = (),
    ) -> Turn:
        """Write a turn with more said about it; one that has ended leaves its session idle."""
        now, cleaner, session = self._now(), Cleaner(self._redactor), base.session
        for call in tools:
            turn = _with_tool(turn, cleaner.tool(call))
        turn = replace(turn, metadata=cleaner.metadata(turn.metadata, metadata))
        turn = replace(turn, redacted=dict(Counter(turn.redacted) + cleaner.redacted))
        if turn.ended is not None and session.open_turn == turn.ordinal:
            session = replace(session, open_turn=None, status=SessionStatus.IDLE)
        session = facts.counted(replace(session, updated=now), cleaner.redacted)
        self._journal.write(base, session, [turn])
        return turn


def _hidden(turn: Turn, now: datetime) -> Turn:
    return replace(facts.interrupted(turn, now) if turn.ended is None else turn, rewound=True)


def _with_tool(turn: Turn, call: ToolCall) -> Turn:
    for at, known in enumerate(turn.tools):
        if call.id and known.id == call.id:
            merged = replace(
                call,
                input=call.input or known.input,
                started=known.started or call.started,
                ended=call.ended or known.ended,
            )
            return replace(turn, tools=(*turn.tools[:at], merged, *turn.tools[at + 1 :]))
    if len(turn.tools) < TOOLS_LIMIT:
        return replace(turn, tools=(*turn.tools, call))
    return replace(turn, more_tools=turn.more_tools + 1)


def _is_same(known: Turn, given: Turn) -> bool:
    return (known.number, known.role, known.prompt) == (given.number, given.role, given.prompt)

"""What the full screen asks the daemon about one session. Nothing here draws."""

from collections.abc import Sequence
from typing import Any

from backtrail.cli.paging import gather
from backtrail.client import Client
from backtrail.protocol import LIST_SUMMARIES, UNDO, List, Undo
from backtrail.session_protocol import (
    CONVERSATION,
    MAX_MESSAGES,
    REWIND,
    SESSION_SHOW,
    ReadConversation,
    Rewind,
    SessionShow,
)
from backtrail.session_values import ConversationSnapshot, RewindResult, Session, Turn
from backtrail.values import CheckpointSummary, RestoreResult

# How many files changed is told of the newest checkpoints: more would delay the first picture.
_COUNTED = 2000


class Asking:
    """One session of a workspace, as its daemon tells it."""

    def __init__(self, client: Client, workspace: str, session: str) -> None:
        self._client = client
        self._workspace = workspace
        self._session = session

    def session(self) -> Session:
        """The session with all its turns."""
        return self._client.call(SESSION_SHOW, SessionShow(workspace=self._workspace, session=self._session))

    def changed(self) -> dict[int, int]:
        """How many files each of the session's checkpoints changed."""

        def page(limit: int, cursor: int | None) -> tuple[list[CheckpointSummary], int | None]:
            asked = List(workspace=self._workspace, session=self._session, limit=limit, cursor=cursor)
            found = self._client.call(LIST_SUMMARIES, asked)
            return found.checkpoints, found.next

        return {one.number: one.files_changed for one in gather(page, _COUNTED)[0]}

    def messages(self, session: Session, turn: Turn) -> tuple[Sequence[Any], int]:
        """What was said in a turn, and how many messages there are before it."""
        snapshot = snapshot_of(session, turn)
        if snapshot is None:
            return [], 0
        start, end = messages_of(session, turn, snapshot.message_count)
        asked = ReadConversation(
            workspace=self._workspace,
            session=self._session,
            snapshot=snapshot.number,
            start=start,
            limit=min(max(end - start, 1), MAX_MESSAGES),
        )
        found = self._client.call(CONVERSATION, asked)
        return found.messages, found.start

    def plan(self, turn: int) -> RewindResult:
        """What going back to right before a turn would do."""
        return self._client.call(REWIND, self._before(turn), timeout=None)

    def go_back(self, plan: RewindResult) -> RewindResult:
        """Do exactly that, or nothing."""
        return self._client.call(REWIND, self._before(plan.turn, plan.plan), timeout=None)

    def undo(self) -> RestoreResult:
        """Take it back."""
        return self._client.call(UNDO, Undo(workspace=self._workspace), timeout=None)

    def _before(self, turn: int, plan: str | None = None) -> Rewind:
        return Rewind(
            workspace=self._workspace,
            session=self._session,
            before_turn=turn,
            plan=plan,
            confirm=plan is not None,
        )


def snapshot_of(session: Session, turn: Turn) -> ConversationSnapshot | None:
    """The conversation after a turn, also of one that is set aside: its number may have come again since."""
    again = next((one for one in session.turns if one.turn == turn.turn and one.ordinal > turn.ordinal), None)
    found = [
        one
        for one in session.snapshots
        if one.turn == turn.turn and (again is None or one.created < again.started)
    ]
    return found[-1] if found and turn.messages is not None else None


def messages_of(session: Session, turn: Turn, recorded: int) -> tuple[int, int]:
    """Where in the conversation a turn begins and ends; all of it where it was shortened in that turn."""
    before = [
        one.messages
        for one in session.turns
        if one.ordinal < turn.ordinal and one.turn < turn.turn and one.messages is not None
        if turn.rewound or not one.rewound
    ]
    start = before[-1] if before else 0
    return (start, recorded) if start < recorded else (0, recorded)

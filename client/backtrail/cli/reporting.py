"""What an agent's hook tells, told to the daemon: sessions, turns, tools and the checkpoints around them.

There is a deadline for all of it. What the daemon was asked for and is not done by then, it goes on with.
"""

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from backtrail.cli import typed
from backtrail.conversing import conversation
from backtrail.errors import NothingToDo, UnknownSession, UnknownTurn, UnknownWorkspace
from backtrail.hooks import Told, What
from backtrail.pathtext import from_text
from backtrail.protocol import SAVE, WORKSPACES, Conversation, Method, Save, Tool, Workspaces
from backtrail.session_protocol import (
    ATTACH,
    SESSION_END,
    SESSION_SHOW,
    SESSION_START,
    TOOL_USED,
    TURN_START,
    Attach,
    SessionEnd,
    SessionShow,
    SessionStart,
    ToolUsed,
    TurnStart,
)
from backtrail.session_values import SessionSummary
from backtrail.values import Value
from backtrail.wire.deadline import Deadline

if TYPE_CHECKING:
    from backtrail.client import Client

_Params = TypeVar("_Params", bound=Value)
_Result = TypeVar("_Result", bound=Value)

# Tools are used again and again, and must not wait each time for a daemon that can't be started.
_START_THE_DAEMON = {What.SESSION_STARTED, What.TURN_STARTED, What.TURN_ENDED}
_LARGE_INPUT = 1024 * 1024
_SHORT_FIELD = 1000
_LONG_TITLE = 80
_LARGE_RECORD = 4 * 1024 * 1024


class _Record(msgspec.Struct):
    """A transcript that is one object with the messages in it."""

    messages: list[Any]


class Report:
    """One call of a hook, and everything that follows from it."""

    def __init__(
        self, client: "Client", deadline: Deadline, agent: str, told: Told, workspace: str | None = None
    ) -> None:
        self._client = client
        self._deadline = deadline
        self._agent = agent
        self._told = told
        self._named = workspace
        self._workspace = ""
        self._follows: list[str] = []

    def make(self) -> None:
        """Tell it. What happens in a folder that is not watched, or in a turn that nobody began, is ignored."""
        steps = {
            What.SESSION_STARTED: self._session_started,
            What.TURN_STARTED: self._turn_started,
            What.TOOL_USED: self._tool_used,
            What.TURN_ENDED: self._turn_ended,
            What.SUBAGENT_ENDED: self._subagent_ended,
            What.SESSION_ENDED: self._session_ended,
        }
        try:
            folders = self._folders()
            if folders:
                self._workspace, *self._follows = folders
                steps[self._told.what]()
        except (UnknownWorkspace, UnknownSession, UnknownTurn):
            return

    def _session_started(self) -> None:
        self._begin(self._told.session, self._told.parent, follows=self._follows)
        self._attach(self._told.session)

    def _turn_started(self) -> None:
        """Not every agent tells of its sessions, so that each turn may be the first that is heard of one."""
        session = self._begin(self._told.session, self._told.parent, follows=self._follows)
        params = TurnStart(workspace=self._workspace, session=self._told.session, prompt=self._told.prompt)
        turn = self._ask(TURN_START, params)
        # The end of the turn before was not in the transcript yet when it ended. After a rewind, what the agent
        # remembers is more than that turn's conversation; then the two ways of counting differ for good.
        if turn.turn == turn.ordinal > 1:
            self._attach(self._told.session, turn.turn - 1)
        if not session.title and (title := _title(self._told.prompt)):
            self._begin(self._told.session, title=title)

    def _tool_used(self) -> None:
        if not self._told.tool:
            return
        tool = Tool(
            name=self._told.tool,
            id=self._told.tool_id,
            input=_short(self._told.tool_input),
            ended=datetime.now(UTC),
        )
        self._ask(TOOL_USED, ToolUsed(workspace=self._workspace, session=self._told.session, tool=tool))

    def _turn_ended(self) -> None:
        params = Save(
            workspace=self._workspace,
            kind="agent",
            session=self._told.session,
            turn=self._last_turn() if self._told.again else None,
            conversation=_said(self._told.transcript),
            agent=self._agent,
        )
        self._ask(SAVE, params)

    def _subagent_ended(self) -> None:
        """Its work belongs to the turn under way, so the checkpoint is of no session; its words are its own."""
        name = self._told.subagent_kind or "sub-agent"
        params = Save(workspace=self._workspace, kind="agent", message=f"After {name} of {self._agent}")
        try:
            made = str(self._ask(SAVE, params).number)
        except NothingToDo:
            made = None
        if self._told.subagent:
            session = f"{self._told.session}/{self._told.subagent}"
            self._begin(session, self._told.session, title=self._told.subagent_kind)
            self._attach(session, checkpoint=made)
            self._ask(SESSION_END, SessionEnd(workspace=self._workspace, session=session))

    def _session_ended(self) -> None:
        params = SessionEnd(workspace=self._workspace, session=self._told.session, reason=self._told.reason)
        ended = self._ask(SESSION_END, params)
        # After a rewind there is no turn of this number, and nothing is attached to it.
        self._attach(self._told.session, ended.turn_count or None)

    def _begin(
        self, session: str, parent: str = "", title: str = "", follows: list[str] | None = None
    ) -> SessionSummary:
        params = SessionStart(
            workspace=self._workspace,
            session=session,
            agent=self._agent,
            title=title or None,
            parent=parent or None,
            follows=follows or None,
        )
        return self._ask(SESSION_START, params)

    def _attach(self, session: str, turn: int | None = None, checkpoint: str | None = None) -> None:
        """Record what was said up to now, if the agent has written it down already."""
        said = _said(self._told.transcript)
        if said is not None:
            params = Attach(
                workspace=self._workspace,
                session=session,
                conversation=said,
                turn=turn,
                checkpoint=checkpoint,
                type="auto",
            )
            self._ask(ATTACH, params)

    def _last_turn(self) -> int | None:
        params = SessionShow(workspace=self._workspace, session=self._told.session, rewound=False)
        turns = self._ask(SESSION_SHOW, params).turns
        return turns[-1].turn if turns else None

    def _folders(self) -> list[str]:
        """The watched folders in which the agent works; the first one leads. A single one is not looked up."""
        if self._named is not None:
            return [typed.workspace(self._named)]
        folders = self._told.folders or ("",)
        if len(folders) == 1:
            return [typed.absolute(folders[0])]
        roots = [each.root for each in self._ask(WORKSPACES, Workspaces()).workspaces]
        return list(dict.fromkeys(filter(None, (_root_around(folder, roots) for folder in folders))))

    def _ask(self, method: Method[_Params, _Result], params: _Params) -> _Result:
        may_start = self._told.what in _START_THE_DAEMON
        return self._client.call(method, params, timeout=self._deadline.left(), autostart=may_start)


def _root_around(folder: str, roots: list[str]) -> str | None:
    """The innermost of these folders that contains a path."""
    path = os.fsencode(os.path.realpath(folder)) + b"/"
    around = [root for root in roots if path.startswith(from_text(root).rstrip(b"/") + b"/")]
    return max(around, key=len, default=None)


def _said(transcript: str) -> Conversation | None:
    """The conversation in a file, which the agent may not have begun to write. The daemon reads it by itself."""
    path = os.path.expanduser(transcript)
    if not (transcript and os.path.isfile(path)):
        return None
    if path.endswith(".json") and os.path.getsize(path) <= _LARGE_RECORD:
        try:
            with open(path, "rb") as file:
                return conversation(msgspec.json.decode(file.read(), type=_Record).messages)
        except (OSError, ValueError, RecursionError):
            pass  # a list of messages, or lines
    return Conversation(path=typed.absolute(path))


def _title(prompt: str) -> str:
    """The first words of what was asked first: nobody knows a conversation by its UUID. No word is cut, see below."""
    line = prompt.strip().partition("\n")[0]
    return line if len(line) <= _LONG_TITLE else line[: _LONG_TITLE + 1].rpartition(" ")[0]


def _short(given: Any) -> Any:
    """A tool's input, of which the daemon keeps the beginning. One that is large loses what makes it so.

    Nothing is cut: half of a secret would not be recognised as one.
    """
    try:
        if len(msgspec.json.encode(given)) <= _LARGE_INPUT:
            return given
    except (ValueError, RecursionError):
        return ""
    if not isinstance(given, dict):
        return ""
    return {
        name: value for name, value in given.items() if isinstance(value, str) and len(value) <= _SHORT_FIELD
    }

"""What can be asked about conversations and history: each question is a method with its parameters."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict, TypeVar

from backtrail import asking, conversing
from backtrail import session_protocol as wire
from backtrail import session_values as answers
from backtrail.asking import Name, PathLike, Time
from backtrail.conversing import ConversationLike
from backtrail.protocol import MIRROR, Method, Mirror, Tool
from backtrail.values import Mirrored, Value

_Params = TypeVar("_Params", bound=Value)
_Result = TypeVar("_Result", bound=Value)

Question = tuple[Method[_Params, _Result], _Params]


class SessionFacts(TypedDict, total=False):
    """What may be said of a session when it begins."""

    agent: str | None
    title: str | None
    phase: str | None
    parent: str | None
    metadata: dict[str, Any] | None
    follows: Sequence[PathLike] | None


class SessionChanges(TypedDict, total=False):
    """What may change in a session; `status` is active, idle or ended."""

    title: str | None
    phase: str | None
    status: str | None
    metadata: dict[str, Any] | None


class SessionFilters(TypedDict, total=False):
    """Which sessions are wanted, and how many at a time."""

    status: str | None
    agent: str | None
    parent: str | None
    limit: int
    cursor: str | None


class TimelineFilters(TypedDict, total=False):
    """What is wanted of the timeline; `type` is task, chat, checkpoint, phase or file."""

    type: str | None
    session: str | None
    phase: str | None
    since: Time | None
    until: Time | None
    path: PathLike | None
    limit: int
    cursor: int | None


class Rewinding(TypedDict, total=False):
    """How far to go back, what goes back, and whether it is only a plan."""

    to_turn: int | None
    before_turn: int | None
    scope: str
    only_session: bool
    confirm: bool
    plan: str | None
    contents: bool


class Questions:
    """Those about a workspace."""

    def __init__(self, workspace: str, root: str) -> None:
        self._workspace = workspace
        self._root = root

    def sessions(self, filters: SessionFilters) -> Question[wire.SessionList, answers.SessionPage]:
        """Which sessions there are."""
        return wire.SESSION_LIST, wire.SessionList(workspace=self._workspace, **filters)

    def timeline(self, filters: TimelineFilters) -> Question[wire.AskTimeline, answers.Timeline]:
        """What happened."""
        given: dict[str, Any] = {**filters}
        path = filters.get("path")
        given["path"] = None if path is None else asking.inside(self._root, path)
        given["since"], given["until"] = asking.time(filters.get("since")), asking.time(filters.get("until"))
        return wire.TIMELINE, wire.AskTimeline(workspace=self._workspace, **given)

    def log(self, path: PathLike, limit: int, cursor: str | None) -> Question[wire.Log, answers.FileHistory]:
        """The versions of a file."""
        inside = asking.inside(self._root, path)
        return wire.LOG, wire.Log(workspace=self._workspace, path=inside, limit=limit, cursor=cursor)

    def blame(self, path: PathLike, checkpoint: Name | None) -> Question[wire.AskBlame, answers.Blame]:
        """Where its lines are from."""
        inside = asking.inside(self._root, path)
        params = wire.AskBlame(workspace=self._workspace, path=inside, checkpoint=_optional(checkpoint))
        return wire.BLAME, params

    def search(
        self, words: str, session: str | None, limit: int, cursor: str | None
    ) -> Question[wire.Search, answers.SearchResult]:
        """Where words are."""
        params = wire.Search(
            workspace=self._workspace, words=words, session=session, limit=limit, cursor=cursor
        )
        return wire.SEARCH, params

    def mirror(self, remote: PathLike, dry_run: bool, delete: bool) -> Question[Mirror, Mirrored]:
        """A copy of everything elsewhere."""
        params = Mirror(
            workspace=self._workspace, remote=asking.remote(remote), dry_run=dry_run, delete=delete
        )
        return MIRROR, params

    def branch(self, checkpoint: Name, name: str, force: bool) -> Question[wire.Branch, answers.Branched]:
        """A branch with a checkpoint's files."""
        params = wire.Branch(
            workspace=self._workspace, checkpoint=asking.name(checkpoint), name=name, force=force
        )
        return wire.BRANCH, params

    def fork(
        self,
        folder: PathLike,
        *,
        checkpoint: Name | None = None,
        session: str | None = None,
        turn: int | None = None,
        new_session: str | None = None,
    ) -> Question[wire.Fork, answers.Forked]:
        """A new folder with the files of a checkpoint, or of a session's turn."""
        params = wire.Fork(
            workspace=self._workspace,
            folder=asking.absolute(folder),
            session=session,
            turn=turn,
            checkpoint=_optional(checkpoint),
            new_session=new_session,
        )
        return wire.FORK, params


class SessionQuestions:
    """Those about one session."""

    def __init__(self, workspace: str, session: str) -> None:
        self._workspace = workspace
        self._session = session

    def start(self, facts: SessionFacts) -> Question[wire.SessionStart, answers.SessionSummary]:
        """Begin it."""
        given: dict[str, Any] = {**facts}
        follows = facts.get("follows")
        given["follows"] = None if follows is None else [asking.workspace(each) for each in follows]
        return wire.SESSION_START, wire.SessionStart(
            workspace=self._workspace, session=self._session, **given
        )

    def update(self, changes: SessionChanges) -> Question[wire.SessionUpdate, answers.SessionSummary]:
        """Change what is known of it."""
        params = wire.SessionUpdate(workspace=self._workspace, session=self._session, **changes)
        return wire.SESSION_UPDATE, params

    def end(self, reason: str) -> Question[wire.SessionEnd, answers.SessionSummary]:
        """It is over."""
        params = wire.SessionEnd(workspace=self._workspace, session=self._session, reason=reason)
        return wire.SESSION_END, params

    def show(self, rewound: bool) -> Question[wire.SessionShow, answers.Session]:
        """Everything about it but what was said."""
        params = wire.SessionShow(workspace=self._workspace, session=self._session, rewound=rewound)
        return wire.SESSION_SHOW, params

    def delete(self) -> Question[wire.OfSession, answers.DeletedSession]:
        """Let go of it."""
        return wire.SESSION_DELETE, wire.OfSession(workspace=self._workspace, session=self._session)

    def start_turn(
        self, prompt: str, turn: int | None, role: str, metadata: Mapping[str, Any] | None
    ) -> Question[wire.TurnStart, answers.Turn]:
        """A turn begins."""
        params = wire.TurnStart(
            workspace=self._workspace,
            session=self._session,
            turn=turn,
            role=role,
            prompt=prompt,
            metadata=dict(metadata or {}),
        )
        return wire.TURN_START, params

    def tool_used(
        self,
        name: str,
        identity: str,
        given: Any,
        started: datetime | None,
        ended: datetime | None,
        turn: int | None,
    ) -> Question[wire.ToolUsed, answers.Turn]:
        """A tool was used."""
        tool = Tool(name=name, id=identity, input=given, started=started, ended=ended)
        params = wire.ToolUsed(workspace=self._workspace, session=self._session, tool=tool, turn=turn)
        return wire.TOOL_USED, params

    def attach(
        self,
        conversation: ConversationLike,
        turn: int | None,
        checkpoint: Name | None,
        kind: str,
        metadata: Mapping[str, Any] | None,
    ) -> Question[wire.Attach, answers.Attached]:
        """Record what was said by itself."""
        params = wire.Attach(
            workspace=self._workspace,
            session=self._session,
            conversation=conversing.conversation(conversation),
            turn=turn,
            checkpoint=_optional(checkpoint),
            type=kind,
            metadata=dict(metadata or {}),
        )
        return wire.ATTACH, params

    def messages(
        self, turn: int | None = None, snapshot: int | None = None, start: int = 0
    ) -> Question[wire.ReadConversation, answers.Messages]:
        """What was said, a page of it."""
        params = wire.ReadConversation(
            workspace=self._workspace, session=self._session, turn=turn, snapshot=snapshot, start=start
        )
        return wire.CONVERSATION, params

    def more_messages(
        self, page: answers.Messages
    ) -> Question[wire.ReadConversation, answers.Messages] | None:
        """The page after a page, of the same snapshot whatever is said meanwhile; None after the last."""
        end = page.start + len(page.messages)
        if not page.messages or end >= page.message_count:
            return None
        return self.messages(snapshot=page.snapshot, start=end)

    def rewind(self, how: Rewinding) -> Question[wire.Rewind, answers.RewindResult]:
        """Go back."""
        return wire.REWIND, wire.Rewind(workspace=self._workspace, session=self._session, **how)

    def resume(self, checkpoint: Name | None) -> Question[wire.Resume, answers.Resumption]:
        """Go on."""
        params = wire.Resume(
            workspace=self._workspace, session=self._session, checkpoint=_optional(checkpoint)
        )
        return wire.RESUME, params


def _optional(checkpoint: Name | None) -> str | None:
    return None if checkpoint is None else asking.name(checkpoint)

"""One agent conversation, as a program sees it: every method is one request to the daemon, some are several."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO, Unpack

from backtrail import exporting
from backtrail import session_values as values
from backtrail.asking import Name, PathLike
from backtrail.conversing import ConversationLike, Talk
from backtrail.questions import Questions, Rewinding, SessionChanges, SessionFacts, SessionQuestions

if TYPE_CHECKING:
    from backtrail.client import OnProgress, Timeout
    from backtrail.values import Checkpoint
    from backtrail.workspace import Workspace


class Session:
    """Got from `Workspace.session`. It is begun by `start`, or by the first turn that is started or saved."""

    def __init__(self, workspace: "Workspace", session: str) -> None:
        self.workspace = workspace
        self.id = session
        self._ask = workspace.client.call
        self._questions = SessionQuestions(workspace.id, session)

    def __repr__(self) -> str:
        return f"<Session {self.id} in {self.workspace.root}>"

    def start(self, **facts: Unpack[SessionFacts]) -> values.SessionSummary:
        """Begin the session, or go on with it; what is given is taken over."""
        return self._ask(*self._questions.start(facts))

    def update(self, **changes: Unpack[SessionChanges]) -> values.SessionSummary:
        """Change what is known of it."""
        return self._ask(*self._questions.update(changes))

    def end(self, reason: str = "") -> values.SessionSummary:
        """The conversation is over."""
        return self._ask(*self._questions.end(reason))

    def show(self, *, rewound: bool = True) -> values.Session:
        """Everything about it but what was said: facts, turns, snapshots."""
        return self._ask(*self._questions.show(rewound))

    def delete(self) -> values.DeletedSession:
        """Let go of it and of all that was said; its checkpoints are left to retention."""
        return self._ask(*self._questions.delete())

    def start_turn(
        self,
        prompt: str = "",
        *,
        turn: int | None = None,
        role: str = "user",
        metadata: Mapping[str, Any] | None = None,
    ) -> values.Turn:
        """A turn begins: what is on the disk now is its state before."""
        return self._ask(*self._questions.start_turn(prompt, turn, role, metadata))

    def tool_used(
        self,
        name: str,
        *,
        id: str = "",  # noqa: A002  # the word for it everywhere
        input: Any = "",  # noqa: A002
        started: datetime | None = None,
        ended: datetime | None = None,
        turn: int | None = None,
    ) -> values.Turn:
        """A tool was used in the turn under way, or in another; told again under its id, it has ended."""
        return self._ask(*self._questions.tool_used(name, id, input, started, ended, turn))

    def save(
        self,
        message: str | None = None,
        *,
        turn: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        full: bool = False,
        kind: str = "agent",
        timeout: "Timeout" = ...,
        on_progress: "OnProgress | None" = None,
        **talk: Unpack[Talk],
    ) -> "Checkpoint":
        """A checkpoint of the files after a turn, and what was said up to there; see `Workspace.save`."""
        return self.workspace.save(
            message,
            session=self.id,
            turn=turn,
            metadata=metadata,
            full=full,
            kind=kind,
            timeout=timeout,
            on_progress=on_progress,
            **talk,
        )

    def attach(
        self,
        conversation: ConversationLike,
        *,
        turn: int | None = None,
        checkpoint: Name | None = None,
        type: str = "manual",  # noqa: A002
        metadata: Mapping[str, Any] | None = None,
        timeout: "Timeout" = ...,
    ) -> values.ConversationSnapshot:
        """Record what was said by itself, for instance where that failed with the checkpoint."""
        question = self._questions.attach(conversation, turn, checkpoint, type, metadata)
        return self._ask(*question, timeout=timeout).snapshot

    def conversation(self, turn: int | None = None, *, snapshot: int | None = None) -> Iterator[Any]:
        """The messages, as they are now, as they were after a turn, or as a snapshot holds them."""
        page = self._ask(*self._questions.messages(turn, snapshot))
        yield from page.messages
        while question := self._questions.more_messages(page):
            page = self._ask(*question)
            yield from page.messages

    def rewind(
        self,
        *,
        timeout: "Timeout" = ...,
        on_progress: "OnProgress | None" = None,
        **how: Unpack[Rewinding],
    ) -> values.RewindResult:
        """Go back to right after a turn, or to right before one; without `confirm`, tell what that would do.

        `scope` is files, conversation or both, which is what is meant without one. The `plan` of the answer, given
        back with `confirm`, makes sure that nothing else is done. `Workspace.undo` takes it back.
        """
        return self._ask(*self._questions.rewind(how), timeout=timeout, on_progress=on_progress)

    def resume(self, checkpoint: Name | None = None) -> values.Resumption:
        """All that is needed to go on, from its last state or from a checkpoint of it."""
        return self._ask(*self._questions.resume(checkpoint))

    def fork(
        self,
        folder: PathLike,
        *,
        at_turn: int | None = None,
        new_session: str | None = None,
        timeout: "Timeout" = None,
    ) -> values.Forked:
        """A new folder with the files of its last turn, or of another, and a session that goes on from there."""
        questions = Questions(self.workspace.id, self.workspace.root)
        question = questions.fork(folder, session=self.id, turn=at_turn, new_session=new_session)
        return self._ask(*question, timeout=timeout)

    def export(self, file: PathLike | BinaryIO) -> None:
        """Write everything about it into a file, as lines of JSON; `backtrail.exporting` tells what they hold."""
        session = self.show()
        with exporting.opened(file) as target:
            target.writelines(exporting.heading(session))
            for snapshot in exporting.generations(session):
                for index, said in enumerate(self.conversation(snapshot=snapshot.number)):
                    target.write(exporting.message(snapshot.generation, index, said))

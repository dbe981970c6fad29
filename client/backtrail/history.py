"""What a workspace tells of its past and of the conversations in it; `Workspace` is one of these."""

from typing import TYPE_CHECKING, Unpack, cast

if TYPE_CHECKING:
    from backtrail import session_values as values
    from backtrail.asking import Name, PathLike
    from backtrail.client import Client, Timeout
    from backtrail.questions import Questions, SessionFacts, SessionFilters, TimelineFilters
    from backtrail.session import Session
    from backtrail.values import Mirrored
    from backtrail.workspace import Workspace


class History:
    """The part of a workspace that most programs never use: what it needs is imported when it is used."""

    client: "Client"
    id: str
    root: str

    def session(self, session: str, **facts: "Unpack[SessionFacts]") -> "Session":
        """A conversation by the agent's id of it. With anything said about it, it is begun; else nothing is asked."""
        from backtrail.session import Session

        found = Session(cast("Workspace", self), session)
        if facts:
            found.start(**facts)
        return found

    def sessions(self, **filters: "Unpack[SessionFilters]") -> "values.SessionPage":
        """The conversations there are, the last used first."""
        return self.client.call(*self._questions.sessions(filters))

    def timeline(self, **filters: "Unpack[TimelineFilters]") -> "values.Timeline":
        """What happened, oldest first."""
        return self.client.call(*self._questions.timeline(filters))

    def log(self, path: "PathLike", *, limit: int = 50, cursor: str | None = None) -> "values.FileHistory":
        """The checkpoints in which a file, or something in a folder, changed, newest first."""
        return self.client.call(*self._questions.log(path, limit, cursor))

    def blame(self, path: "PathLike", checkpoint: "Name | None" = None) -> "values.Blame":
        """Which checkpoint each line of a file is from: as a checkpoint holds it, or as it is now."""
        return self.client.call(*self._questions.blame(path, checkpoint))

    def search(
        self, words: str, *, session: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> "values.SearchResult":
        """Where all the words are, in messages, prompts and paths; newest first."""
        return self.client.call(*self._questions.search(words, session, limit, cursor))

    def branch(self, checkpoint: "Name", name: str, *, force: bool = False) -> "values.Branched":
        """A branch with a checkpoint's files in the user's own repository, where nothing else changes."""
        return self.client.call(*self._questions.branch(checkpoint, name, force))

    def mirror(
        self, remote: "PathLike", *, dry_run: bool = False, delete: bool = False, timeout: "Timeout" = None
    ) -> "Mirrored":
        """Have a git repository elsewhere hold all checkpoints and conversations; `delete` those gone from here.

        Checkpoints hold what the files hold, secrets included.
        """
        return self.client.call(*self._questions.mirror(remote, dry_run, delete), timeout=timeout)

    def fork(
        self,
        folder: "PathLike",
        checkpoint: "Name" = "@",
        *,
        new_session: str | None = None,
        timeout: "Timeout" = None,
    ) -> "values.Forked":
        """A new folder with a checkpoint's files, watched from then on."""
        question = self._questions.fork(folder, checkpoint=checkpoint, new_session=new_session)
        return self.client.call(*question, timeout=timeout)

    @property
    def _questions(self) -> "Questions":
        from backtrail.questions import Questions

        return Questions(self.id, self.root)

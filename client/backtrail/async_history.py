"""What a workspace tells of its past, as a program with an event loop sees it: `History` with await."""

from typing import TYPE_CHECKING, Unpack, cast

if TYPE_CHECKING:
    from backtrail import session_values as values
    from backtrail.asking import Name, PathLike
    from backtrail.async_client import AsyncClient
    from backtrail.async_session import AsyncSession
    from backtrail.async_workspace import AsyncWorkspace
    from backtrail.client import Timeout
    from backtrail.questions import Questions, SessionFacts, SessionFilters, TimelineFilters
    from backtrail.values import Mirrored


class AsyncHistory:
    """The part of a workspace that most programs never use: what it needs is imported when it is used."""

    client: "AsyncClient"
    id: str
    root: str

    async def session(self, session: str, **facts: "Unpack[SessionFacts]") -> "AsyncSession":
        """A conversation by the agent's id of it. With anything said about it, it is begun; else nothing is asked."""
        from backtrail.async_session import AsyncSession

        found = AsyncSession(cast("AsyncWorkspace", self), session)
        if facts:
            await found.start(**facts)
        return found

    async def sessions(self, **filters: "Unpack[SessionFilters]") -> "values.SessionPage":
        """The conversations there are, the last used first."""
        return await self.client.call(*self._questions.sessions(filters))

    async def timeline(self, **filters: "Unpack[TimelineFilters]") -> "values.Timeline":
        """What happened, oldest first."""
        return await self.client.call(*self._questions.timeline(filters))

    async def log(
        self, path: "PathLike", *, limit: int = 50, cursor: str | None = None
    ) -> "values.FileHistory":
        """The checkpoints in which a file, or something in a folder, changed, newest first."""
        return await self.client.call(*self._questions.log(path, limit, cursor))

    async def blame(self, path: "PathLike", checkpoint: "Name | None" = None) -> "values.Blame":
        """Which checkpoint each line of a file is from: as a checkpoint holds it, or as it is now."""
        return await self.client.call(*self._questions.blame(path, checkpoint))

    async def search(
        self, words: str, *, session: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> "values.SearchResult":
        """Where all the words are, in messages, prompts and paths; newest first."""
        return await self.client.call(*self._questions.search(words, session, limit, cursor))

    async def branch(self, checkpoint: "Name", name: str, *, force: bool = False) -> "values.Branched":
        """A branch with a checkpoint's files in the user's own repository, where nothing else changes."""
        return await self.client.call(*self._questions.branch(checkpoint, name, force))

    async def mirror(
        self, remote: "PathLike", *, dry_run: bool = False, delete: bool = False, timeout: "Timeout" = None
    ) -> "Mirrored":
        """Have a git repository elsewhere hold all checkpoints and conversations; `delete` those gone from here.

        Checkpoints hold what the files hold, secrets included.
        """
        return await self.client.call(*self._questions.mirror(remote, dry_run, delete), timeout=timeout)

    async def fork(
        self,
        folder: "PathLike",
        checkpoint: "Name" = "@",
        *,
        new_session: str | None = None,
        timeout: "Timeout" = None,
    ) -> "values.Forked":
        """A new folder with a checkpoint's files, watched from then on."""
        question = self._questions.fork(folder, checkpoint=checkpoint, new_session=new_session)
        return await self.client.call(*question, timeout=timeout)

    @property
    def _questions(self) -> "Questions":
        from backtrail.questions import Questions

        return Questions(self.id, self.root)

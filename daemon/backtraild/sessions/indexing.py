"""Letting recorded messages be found: at once where they are few, else bit by bit when there is time."""

import contextlib

from backtrail.errors import BacktrailError
from backtraild.sessions.journal import Journal
from backtraild.sessions.model import session_key
from backtraild.sessions.passages import Missing
from backtraild.transcripts import Transcripts

AT_ONCE = 100  # more new messages than these are left for later, so that recording them takes no longer
BIT = 200  # messages that become findable in one go while somebody may want the thread: tens of milliseconds
BATCH = 1000  # and while somebody waits for all of them


class Indexing:
    """Reads conversations for the full-text index. A failure here is tried again later and fails nothing else."""

    def __init__(self, journal: Journal, transcripts: Transcripts) -> None:
        self._journal = journal
        self._transcripts = transcripts

    def newest(self, session: str) -> None:
        """The messages that were recorded last, if they are few."""
        with contextlib.suppress(BacktrailError):
            missing = self._missing(session_key(session))
            if sum(part.stop - part.start for part in missing) <= AT_ONCE:
                for part in missing:
                    self._part(part)

    def everything(self) -> None:
        """All that can't be found yet. A damaged conversation must not keep the others from being found."""
        for part in self._missing(None):
            with contextlib.suppress(BacktrailError):
                self._part(part)

    def some(self) -> bool:
        """A bit of what can't be found yet; False if there was nothing to do."""
        for part in self._missing(None):
            with contextlib.suppress(BacktrailError):
                self._batch(part, part.start, BIT)
                return True
        return False

    def _missing(self, key: str | None) -> list[Missing]:
        return self._journal.read(lambda: self._journal.passages.missing(key))

    def _part(self, part: Missing) -> None:
        for start in range(part.start, part.stop, BATCH):
            self._batch(part, start, BATCH)

    def _batch(self, part: Missing, start: int, size: int) -> None:
        stop = min(start + size, part.stop)
        lines = self._transcripts.read(part.session, part.generation, start, stop)
        with self._journal.changing():
            self._journal.passages.put_messages(part, start, lines)

"""A store with sessions in it: opened, closed, and opened again as the next process would."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from backtraild.redaction import Redactor
from backtraild.sessions import Reversal, Sessions, Snapshot
from backtraild.state import Database, Index
from backtraild.store import Store
from backtraild.transcripts import Messages, Transcripts
from support.git import git

BEGINNING = datetime(2026, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)


class Clock:
    """Every look at it is a second later."""

    def __init__(self, first: datetime = BEGINNING) -> None:
        self.time = first

    def __call__(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


class Desk:
    """Everything that sessions of one workspace need, over real files."""

    def __init__(self, folder: Path, clock: Clock | None = None) -> None:
        self.folder = folder
        self.git_dir = folder / "repo.git"
        self.clock = clock or Clock()
        self.losses = 0
        self.store = Store.create(str(self.git_dir))
        self.database = Database(str(folder / "state.db"))
        self.index = Index(self.database)
        self.transcripts = Transcripts(self.store, Redactor(), self.database)
        self.sessions = Sessions(
            self.store, self.database, self.transcripts, Redactor(), self.clock, self._table_lost
        )
        self.sessions.reconcile()

    def close(self) -> None:
        self.database.close()

    def reopened(self, *, table: bool = True) -> "Desk":
        """As the next process finds it; without the table, only what is in git is left."""
        self.close()
        if not table:
            for suffix in ("", "-wal", "-shm"):
                (self.folder / f"state.db{suffix}").unlink(missing_ok=True)
        return Desk(self.folder, self.clock)

    def rewind(self, session: str, after_number: int) -> tuple[int, ...]:
        """Hide all turns with higher numbers; their ordinals."""
        hidden = [turn for turn in self.sessions.turns(session) if turn.number > after_number]
        kept = [turn.snapshot for turn in self.sessions.turns(session) if turn.number <= after_number]
        ordinals = tuple(turn.ordinal for turn in hidden)
        snapshot = max((number for number in kept if number is not None), default=None)
        self.reverse(session, ordinals, (), snapshot)
        return ordinals

    def reverse(
        self, session: str, hidden: tuple[int, ...], shown: tuple[int, ...], snapshot: int | None = None
    ) -> None:
        """As the next checkpoint that records a rewind would have it."""
        by = self.sessions.get(session).rewound_by + 1
        self.sessions.reverse(session, Reversal(by, hidden, shown, snapshot))

    def refs(self) -> list[str]:
        """What git itself says that there is."""
        said = git("for-each-ref", "--format=%(refname)", git_dir=self.git_dir)
        return said.decode().split()

    def picture(self) -> dict[str, Any]:
        """All that can be asked about all sessions."""
        sessions = self.sessions.list(limit=1000).sessions
        return {
            session.id: (
                self.sessions.get(session.id),
                session,
                self.sessions.turns(session.id, include_rewound=True),
                self.sessions.turns(session.id),
                self.sessions.snapshots(session.id),
                [self._messages(session.id, each) for each in self.sessions.snapshots(session.id)],
            )
            for session in sessions
        }

    def _messages(self, session: str, snapshot: Snapshot) -> list[bytes]:
        return list(self.sessions.conversation(session, snapshot=snapshot.number))

    def _table_lost(self) -> None:
        self.losses += 1


def said(*texts: str) -> Messages:
    """A conversation in which user and assistant take turns."""
    roles = ("user", "assistant")
    return Messages([{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)])


def all_objects(git_dir: Path) -> bytes:
    """The content of every object that a repository holds, reachable or not."""
    return git("cat-file", "--batch-all-objects", "--batch", git_dir=git_dir)

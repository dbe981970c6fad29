"""The face of the sessions of one workspace."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from backtrail.errors import UsageError
from backtraild.sessions import facts
from backtraild.sessions.cleaning import Cleaner, Redactor
from backtraild.sessions.conversations import Conversations
from backtraild.sessions.indexing import Indexing
from backtraild.sessions.journal import Journal, unknown
from backtraild.sessions.ledger import Entered
from backtraild.sessions.model import (
    HitPage,
    Session,
    SessionPage,
    SessionStatus,
    Snapshot,
    Turn,
    session_key,
)
from backtraild.sessions.rows import microseconds
from backtraild.sessions.search import Search
from backtraild.sessions.turns import Turns
from backtraild.state import Database
from backtraild.store import Store
from backtraild.transcripts import Transcripts

LARGEST_PAGE = 1000

_CURSOR = r"(-?[0-9]{1,18}):([a-z0-9-]{1,60})"


class Sessions:
    """All sessions of one store. Used by one thread, outside of transactions.

    Every call that changes something is durable when it returns, and costs the same however long the session is.
    `table_lost` is called when the tables beside the store were damaged and begun anew.
    """

    def __init__(
        self,
        store: Store,
        database: Database,
        transcripts: Transcripts,
        redactor: Redactor,
        now: Callable[[], datetime],
        table_lost: Callable[[], None] = lambda: None,
    ) -> None:
        self._journal = Journal(store, database, table_lost)
        self._transcripts = transcripts
        self._redactor = redactor
        self._now = now
        self._search = Search(database)
        self._indexing = Indexing(self._journal, transcripts)
        turns = Turns(self._journal, redactor, now)
        conversations = Conversations(self._journal, turns, transcripts, redactor, now)
        self.begin_turn, self.end_turn, self.tool_used = turns.begin, turns.end, turns.tool_used
        self.turn, self.turns = turns.get, turns.all
        self.reverse = turns.reverse
        self.record_conversation, self.bind_conversation = conversations.record, conversations.bind
        self.keep_conversation, self.asked = conversations.keep, conversations.asked
        self.conversation, self.copy_conversation = conversations.read, conversations.copy
        self.snapshot, self.snapshots = conversations.snapshot, conversations.snapshots
        self.reconcile, self.rebuild = self._journal.reconcile, self._journal.rebuild
        self.heal = self._journal.heal
        self.index_some = self._indexing.some

    def start(
        self,
        session: str,
        *,
        agent: str | None = None,
        title: str | None = None,
        phase: str | None = None,
        parent: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        forked_from: str | None = None,
        forked_at: str | None = None,
        follows: Sequence[str] | None = None,
    ) -> Session:
        """Begin a session, or go on with the one there is; what is given is taken over."""
        facts.check_lineage(session, parent, forked_from)
        base, now = self._journal.find_or_begin(session), self._now()
        cleaner = Cleaner(self._redactor)
        old = base.session if base else Session(session, now, now)
        changed = replace(
            facts.resumed(old, now),
            parent=old.parent if parent is None else parent,
            forked_from=old.forked_from if forked_from is None else forked_from,
            forked_at=old.forked_at if forked_at is None else cleaner.text(forked_at),
            follows=old.follows if follows is None else tuple(dict.fromkeys(follows)),
        )
        changed = self._told(changed, cleaner, now, agent, title, phase, metadata)
        return self._written(base, changed, cleaner, now)

    def update(
        self,
        session: str,
        *,
        title: str | None = None,
        phase: str | None = None,
        status: SessionStatus | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Session:
        """Change what is given. Another phase is a moment in the session's life."""
        if status is not None and SessionStatus(status) is SessionStatus.ENDED:
            self.end(session)
        base, now = self._journal.get(session), self._now()
        cleaner = Cleaner(self._redactor)
        changed = self._told(base.session, cleaner, now, None, title, phase, metadata)
        if status is not None:
            changed = replace(changed, status=SessionStatus(status))
        return self._written(base, changed, cleaner, now)

    def end(self, session: str, reason: str = "") -> Session:
        """End a session; a turn that is still open was interrupted."""
        base, now = self._journal.get(session), self._now()
        cleaner = Cleaner(self._redactor)
        changed = facts.ended(base.session, cleaner.text(reason), now)
        unfinished = self._journal.open_turn(base)
        turns = [] if unfinished is None else [facts.interrupted(unfinished, now)]
        changed = facts.counted(replace(changed, updated=now), cleaner.redacted)
        return self._journal.write(base, changed, turns).session

    def add_moment(self, session: str, kind: str, data: Mapping[str, Any] | None = None) -> Session:
        """Something happened to a session that is worth remembering, such as a fork."""
        base, now = self._journal.get(session), self._now()
        cleaner = Cleaner(self._redactor)
        changed = facts.with_moment(base.session, cleaner.text(kind), now, cleaner.metadata({}, data))
        return self._written(base, changed, cleaner, now)

    def get(self, session: str) -> Session:
        """One session."""
        return self._journal.get(session).session

    def list(
        self,
        status: SessionStatus | None = None,
        agent: str | None = None,
        parent: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> SessionPage:
        """Sessions, the last used first."""
        _check_limit(limit, "sessions")
        before = _place(cursor)
        status = None if status is None else SessionStatus(status)
        found = self._journal.read(
            lambda: self._journal.rows.select(status, agent, parent, limit + 1, before)
        )
        page = tuple(found[:limit])
        return SessionPage(page, _cursor(page[-1]) if len(found) > limit else None)

    def last_turn(self, session: str) -> Turn | None:
        """The turn that was begun last and is not rewound."""
        key = session_key(session)
        return self._journal.read(lambda: self._journal.rows.last_turn(key))

    def turn_ended_by(self, session: str, checkpoint: int) -> Turn | None:
        """The turn, rewound or not, that ended with a checkpoint; None if none did."""
        key = session_key(session)
        return self._journal.read(lambda: self._journal.rows.ended_by(key, checkpoint))

    def turns_beyond(self, checkpoint: int) -> Sequence[tuple[str, Turn]]:
        """Turns of all sessions, rewound ones too, that were not over when a checkpoint was made."""
        return self._journal.read(lambda: self._journal.rows.reaching_beyond(checkpoint))

    def turns_around(self, checkpoint: int) -> Sequence[tuple[str, Turn]]:
        """Turns of all sessions, rewound ones too, in which a checkpoint was made."""
        return self._journal.read(lambda: self._journal.rows.around(checkpoint))

    def said_by(self, session: str, checkpoint: int) -> Snapshot | None:
        """The conversation that was recorded with a checkpoint; None if there is none."""
        key = session_key(session)
        return self._journal.read(lambda: self._journal.rows.said_by(key, checkpoint))

    def find(self, session: str) -> Session | None:
        """One session; None if there is none of this id."""
        found = self._journal.find(session)
        return None if found is None else found.session

    def delete(self, session: str) -> frozenset[int]:
        """Let go of a session and its conversation, damaged or not; the checkpoints that it referred to."""
        key = session_key(session)
        if not self._journal.has(session):
            raise unknown(session)
        checkpoints = self._journal.read(lambda: self._journal.rows.checkpoints(key))
        # The conversation first: a crash in between must not leave one that nobody can name any more.
        self._transcripts.delete(key)
        self._journal.forget(session)
        return checkpoints

    def search(
        self, words: str, session: str | None = None, limit: int = 20, cursor: str | None = None
    ) -> HitPage:
        """Where all the words are, in messages, prompts and paths; newest first."""
        self._search.check()
        _check_limit(limit, "hits")
        if session is not None:
            self._journal.get(session)
        self._indexing.everything()
        return self._journal.read(lambda: self._search.find(words, session, limit, cursor))

    def _told(
        self,
        session: Session,
        cleaner: Cleaner,
        now: datetime,
        agent: str | None,
        title: str | None,
        phase: str | None,
        metadata: Mapping[str, Any] | None,
    ) -> Session:
        return replace(
            facts.in_phase(session, None if phase is None else cleaner.text(phase), now),
            agent=session.agent if agent is None else cleaner.text(agent),
            title=session.title if title is None else cleaner.text(title),
            metadata=cleaner.metadata(session.metadata, metadata),
        )

    def _written(self, base: Entered | None, session: Session, cleaner: Cleaner, now: datetime) -> Session:
        """Nothing is written where nothing changed: a session may be begun again and again."""
        if base is not None and session == base.session:
            return session
        changed = facts.counted(replace(session, updated=now), cleaner.redacted)
        return self._journal.write(base, changed).session


def _check_limit(limit: int, what: str) -> None:
    if not 1 <= limit <= LARGEST_PAGE:
        raise UsageError(f"A page of {limit} {what} makes no sense.", f"Ask for 1 to {LARGEST_PAGE:,}.")


def _cursor(session: Session) -> str:
    return f"{microseconds(session.updated)}:{session_key(session.id)}"


def _place(cursor: str | None) -> tuple[int, str] | None:
    if cursor is None:
        return None
    parts = re.fullmatch(_CURSOR, cursor)
    if parts is None:
        raise UsageError(f"{cursor[:50]!a} is not where a list ended.", "Give `next` of the page before.")
    return int(parts[1]), parts[2]

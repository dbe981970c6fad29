"""Conversations of sessions: recorded as snapshots, bound to turns and checkpoints, read again."""

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from backtrail.errors import BacktrailError, UnknownTurn, UsageError
from backtraild.sessions import facts, texts
from backtraild.sessions.cleaning import PROMPT_LIMIT, Cleaner, Redactor
from backtraild.sessions.indexing import Indexing
from backtraild.sessions.journal import Journal
from backtraild.sessions.model import Session, Snapshot, SnapshotType, Turn, check_number, session_key
from backtraild.sessions.turns import Turns
from backtraild.transcripts import Recorded, Source, Transcripts

# Messages in which the prompt of a turn is looked for.
MOST_ASKED = 1_000


class Conversations:
    """The snapshots of all sessions of one store."""

    def __init__(
        self,
        journal: Journal,
        turns: Turns,
        transcripts: Transcripts,
        redactor: Redactor,
        now: Callable[[], datetime],
    ) -> None:
        self._journal = journal
        self._turns = turns
        self._transcripts = transcripts
        self._redactor = redactor
        self._now = now
        self._indexing = Indexing(journal, transcripts)

    def record(
        self,
        session: str,
        source: Source,
        type: SnapshotType = SnapshotType.AUTO,  # noqa: A002  # the word for it everywhere
        turn: int | None = None,
        checkpoint: int | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Snapshot:
        """Keep a conversation as it is now; durable when this returns. An unknown session is begun."""
        # What can't be kept is refused before anything is written.
        check_number("A turn's number", turn)
        check_number("A checkpoint's number", checkpoint)
        Cleaner(self._redactor).metadata({}, metadata)
        return self.bind(session, self.keep(session, source), type, turn, checkpoint, metadata)

    def keep(self, session: str, source: Source) -> Recorded:
        """Keep what was said so far, durably; it is part of the session once it is bound."""
        return self._transcripts.record(session_key(session), source)

    def bind(
        self,
        session: str,
        recorded: Recorded,
        type: SnapshotType = SnapshotType.AUTO,  # noqa: A002
        turn: int | None = None,
        checkpoint: int | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Snapshot:
        """Make a snapshot of what is recorded already, such as the conversation of a fork."""
        now, base = self._now(), self._journal.find_or_begin(session)
        old = base.session if base else Session(session, now, now)
        cleaner = Cleaner(self._redactor)
        snapshot = Snapshot(
            number=old.snapshot_count + 1,
            generation=recorded.generation,
            message_count=recorded.message_count,
            type=type,
            bytes=recorded.bytes,
            content_hash=recorded.content_hash,
            created=now,
            turn=turn,
            checkpoint=checkpoint,
            incomplete=recorded.incomplete,
            appended=recorded.appended,
            redacted=dict(recorded.redacted),
            metadata=cleaner.metadata({}, metadata),
        )
        # A turn that is not there (yet) must not cost the conversation: the snapshot names it all the same.
        told = None if base is None or turn is None else self._turns.find(base, turn)
        is_late = told is not None and told.number < old.last_number
        if told is not None and not is_late and not told.prompt:
            told = _prompted(told, self.asked(old, recorded, told.number), cleaner)
        turns = [] if told is None else [replace(told, snapshot=snapshot.number)]
        shown = old.snapshot if is_late else snapshot.number
        changed = replace(old, updated=now, snapshot_count=snapshot.number, snapshot=shown)
        self._journal.write(base, facts.counted(changed, cleaner.redacted), turns, [snapshot])
        self._indexing.newest(session)
        return snapshot

    def asked(self, session: Session, recorded: Recorded, number: int) -> str:
        """What was asked in a turn that is just over, by all that was said so far; empty where that does not tell.

        It is what comes first after the conversation as it was before. Where that is unknown, or the agent has
        rewritten it, it is what was asked last.
        """
        key, end = session_key(session.id), recorded.message_count
        # What can't be read is told by whoever reads the conversation.
        with contextlib.suppress(BacktrailError):
            before = self._said_before(session, number)
            if before is not None and before <= end - recorded.appended:
                lines = self._transcripts.read(
                    key, recorded.generation, before, min(before + MOST_ASKED, end)
                )
                return next(filter(None, map(texts.asked, lines)), "")
            lines = self._transcripts.read(key, recorded.generation, max(0, end - MOST_ASKED), end)
            last = deque(filter(None, map(texts.asked, lines)), maxlen=1)
            return last[0] if last else ""
        return ""

    def _said_before(self, session: Session, number: int) -> int | None:
        """How many messages there were before a turn that is new; None if nobody knows."""
        if session.snapshot is not None:
            return self.snapshot(session.id).message_count
        return 0 if number == 1 else None

    def copy(
        self, session: str, git_dir: str, original: str, shown: Snapshot, checkpoint: int | None = None
    ) -> Snapshot:
        """Take over what a snapshot of a session in another store shows: a fork goes on from there."""
        recorded = self._transcripts.copy(
            git_dir,
            session_key(original),
            shown.generation,
            shown.message_count,
            session_key(session),
            shown.content_hash,
        )
        return self.bind(session, recorded, shown.type, None, checkpoint, shown.metadata)

    def snapshots(self, session: str) -> list[Snapshot]:
        """All snapshots, oldest first."""
        self._journal.get(session)
        key = session_key(session)
        return self._journal.read(lambda: self._journal.rows.snapshots(key))

    def snapshot(self, session: str, number: int | None = None) -> Snapshot:
        """One snapshot; without a number, the conversation as it is now."""
        check_number("A snapshot's number", number)
        wanted = self._journal.get(session).session.snapshot if number is None else number
        key = session_key(session)
        found = self._journal.read(lambda: self._journal.rows.snapshot(key, wanted or 0))
        if found is None:
            which = "conversation" if number is None else f"snapshot {number}"
            raise UnknownTurn(f"Session {session!r} has no {which}.")
        return found

    def read(
        self,
        session: str,
        snapshot: int | None = None,
        turn: int | None = None,
        count: int | None = None,
        start: int = 0,
        stop: int | None = None,
    ) -> Iterator[bytes]:
        """Messages as lines, from `start` up to `stop`: of a snapshot, after a turn, or the first `count` ones.

        Without any of these, as they are now. Read as a whole, a snapshot is checked against its hash.
        """
        if sum(way is not None for way in (snapshot, turn, count)) > 1:
            raise UsageError(
                "A conversation is named by a snapshot, by a turn or by a count, not by several."
            )
        shown = self._after(session, turn) if turn is not None else self.snapshot(session, snapshot)
        end = shown.message_count if count is None else count
        end = end if stop is None else min(stop, end)
        if start < 0 or not 0 <= end <= shown.message_count:
            raise UsageError(
                f"The conversation has {shown.message_count} messages: {start} to {end} are not in it."
            )
        content_hash = shown.content_hash if start == 0 and end == shown.message_count else None
        key = session_key(session)
        return self._transcripts.read(key, shown.generation, min(start, end), end, content_hash)

    def _after(self, session: str, number: int) -> Snapshot:
        turn = self._turns.get(session, number)
        if turn.snapshot is None:
            raise UnknownTurn(f"No conversation was recorded for turn {number} of session {session!r}.")
        return self.snapshot(session, turn.snapshot)


def _prompted(turn: Turn, prompt: str, cleaner: Cleaner) -> Turn:
    """A turn of which nobody told what was asked in it, with what the conversation tells."""
    return replace(turn, prompt=cleaner.text(prompt, PROMPT_LIMIT), prompt_cut=len(prompt) > PROMPT_LIMIT)

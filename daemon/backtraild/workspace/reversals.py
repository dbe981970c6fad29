"""The turns of a session follow the files: what the last restore's record says about them is made to hold."""

import contextlib
import logging

from backtrail.errors import BacktrailError
from backtraild.model import Checkpoint, Kind
from backtraild.sessions import Session, Sessions
from backtraild.state import Query
from backtraild.workspace.catalogue import Catalogue
from backtraild.workspace.parts import Parts
from backtraild.workspace.rewinds import RewindNote, note_of

_log = logging.getLogger(__name__)


class Reversals:
    """Rewinds are recorded as checkpoints first. Then turns are hidden or brought back, once, crash or not."""

    def __init__(self, parts: Parts, catalogue: Catalogue, sessions: Sessions) -> None:
        self._parts = parts
        self._catalogue = catalogue
        self._sessions = sessions
        self._is_owed = True  # is it not known whether everything that was recorded is done?

    def owe(self) -> None:
        """Something is about to be recorded that has to be done to turns."""
        self._is_owed = True

    def last_restore(self) -> Checkpoint | None:
        """The checkpoint that records the last restore, rewind or undo."""
        rows = self._catalogue.asked(lambda: self._parts.index.select(Query(limit=1, kind=Kind.RESTORE)))
        return self._parts.store.get(rows[0][0]) if rows else None

    def finish(self) -> None:
        """Do to the turns what the last restore says; nothing if it is done."""
        if self._is_owed:
            self._finish()
            self._is_owed = False

    def _finish(self) -> None:
        last = self.last_restore()
        note = None if last is None else note_of(last)
        if last is None or note is None or not note.scope.has_conversation:
            return
        if self._session_of(note) is not None:
            self._sessions.reverse(note.session, note.reversal(last.number))

    def catch_up(self) -> None:
        """The same, where something else has to go on even if a session can't be read or written."""
        try:
            self.finish()
        except BacktrailError as error:
            _log.warning("turns could not be brought into agreement with the files: %s", error.message)

    def inverse(self, last: Checkpoint) -> RewindNote | None:
        """What undoing a restore does to the turns; None if nothing.

        Those that were begun since then are hidden, to be brought back if the undoing is undone.
        """
        note, session = note_of(last), None
        if note is not None and note.scope.has_conversation:
            # A damaged session must not keep the files from going back.
            with contextlib.suppress(BacktrailError):
                session = self._session_of(note)
        if note is None or session is None:
            return None
        begun = [turn.ordinal for turn in self._sessions.turns(session.id) if turn.ordinal > note.turn_count]
        return RewindNote(
            session=note.session,
            created=note.created,
            turn=note.turn,
            ordinal=note.ordinal,
            before=note.before,
            scope=note.scope,
            turn_count=session.turn_count,
            snapshot=note.snapshot_before,
            snapshot_before=session.snapshot,
            hidden=tuple(sorted({*note.shown, *begun})),
            shown=note.hidden,
        )

    def _session_of(self, note: RewindNote) -> Session | None:
        found = self._sessions.find(note.session)
        return found if found is not None and note.is_about(found) else None

"""Sessions in git with the tables beside them: written to git first, then to the tables, and brought to agree.

A crash, a full disk or damage may leave the tables behind. They tell which tree their rows were made from, so that
what differs is seen and made again; nothing that was acknowledged depends on them.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from backtrail.errors import StoreDamaged, StoreFailed, UnknownSession
from backtraild.model import ObjectId
from backtraild.sessions.ledger import Entered, FromTheFuture, Ledger
from backtraild.sessions.mending import begin_again
from backtraild.sessions.model import Session, Snapshot, Turn, session_key
from backtraild.sessions.passages import Passages
from backtraild.sessions.rows import Rows
from backtraild.state import Database, TableLost
from backtraild.store import Store

_SEARCHABLE = "searchable"

_Answer = TypeVar("_Answer")


class Journal:
    """All records of all sessions of one store. Used by one thread.

    `table_lost` is called when the tables were damaged and begun anew: those of others are empty then, too.
    """

    def __init__(self, store: Store, database: Database, table_lost: Callable[[], None]) -> None:
        self._ledger = Ledger(store)
        self._database = database
        self._table_lost = table_lost
        self.rows = Rows(database)
        self.passages = Passages(database)
        self._behind = False
        self._beginnings = database.beginnings

    def find(self, session: str) -> Entered | None:
        """A session as it stands in git; None if there is none of this id. A damaged one is begun again."""
        try:
            return self._ledger.load(session_key(session))
        except FromTheFuture:
            raise
        except StoreDamaged:
            begun = self._begun_again(session)
            if begun is None:
                raise
            return begun

    def find_or_begin(self, session: str) -> Entered | None:
        """The same, for whoever is about to write: one of which nothing is left is as good as none."""
        try:
            return self.find(session)
        except FromTheFuture:
            raise
        except StoreDamaged:
            return None

    def has(self, session: str) -> bool:
        """Is there a session of this id, damaged or not?"""
        return session_key(session) in self._ledger.names()

    def get(self, session: str) -> Entered:
        """A session that has to be there."""
        found = self.find(session)
        if found is None:
            raise unknown(session)
        return found

    def open_turn(self, entered: Entered | None) -> Turn | None:
        """The turn under way, from git. A damaged one must not keep the next from beginning."""
        if entered is None or entered.session.open_turn is None:
            return None
        try:
            return self._ledger.turn(entered.tree, entered.session.open_turn)
        except StoreDamaged:
            return None

    def write(
        self,
        base: Entered | None,
        session: Session,
        turns: Iterable[Turn] = (),
        snapshots: Iterable[Snapshot] = (),
    ) -> Entered:
        """Put records in place of those there were; durable when this returns."""
        key, turns, snapshots = session_key(session.id), list(turns), list(snapshots)
        try:
            tree = self._ledger.write(key, None if base is None else base.tree, session, turns, snapshots)
        except StoreDamaged:  # a folder of earlier records
            base = self._begun_again(session.id)
            tree = self._ledger.write(key, None if base is None else base.tree, session, turns, snapshots)
        except BaseException:
            self._behind = True  # the ref may stand although it could not be made sure of
            raise
        with self.changing():
            if base is None:
                self._forget(key)  # what is left of one of the same id that was deleted
            elif self.rows.tree(key) != base.tree:
                # Rows of earlier records are missing; with these alone, nobody would see that any more.
                self._behind = True
                return Entered(session, tree)
            self._put(key, tree, session, turns, snapshots)
        return Entered(session, tree)

    def read(self, call: Callable[[], _Answer]) -> _Answer:
        """Ask the tables, brought up to date, and made anew if they turn out to be damaged."""
        if self._behind or self._beginnings != self._database.beginnings:
            self.reconcile()
        try:
            with self._database.transaction():
                return call()
        except TableLost:
            self._lost()
            self.reconcile()
            with self._database.transaction():
                return call()

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """A transaction on the tables whose failure costs time later, and nothing now."""
        try:
            with self._database.transaction():
                yield
        except TableLost:
            self._lost()
        except StoreFailed:
            self._behind = True

    def forget(self, session: str) -> None:
        """Let go of a session's records, damaged or not."""
        key = session_key(session)
        with self.changing():
            self._forget(key)
        self._ledger.remove(key)

    def rebuild(self) -> None:
        """Make all rows again from git."""
        with self.changing():
            for key in self.rows.trees():
                self._forget(key)
        self.reconcile()

    def heal(self) -> None:
        """Begin every session again that has damaged records; those that nothing tells of any more are left out."""
        known = self.read(lambda: {key: self.rows.session(key) for key in self.rows.trees()})
        for key, session in known.items():
            tree = self._tree(key)
            if session is not None and (tree is None or not self._ledger.is_whole(tree)):
                self._begun_again(session.id)

    def reconcile(self) -> None:
        """Make the tables agree with git, which is the truth, by reading those sessions that differ."""
        try:
            self._reconcile()
        except TableLost:  # they are empty now, and will do
            self._lost()
            self._reconcile()
        self._behind = False
        self._beginnings = self._database.beginnings

    def _reconcile(self) -> None:
        present = {key: self._tree(key) for key in self._ledger.names()}
        with self._database.transaction():
            known = self.rows.trees()
            # A SQLite that can search took over from one that could not: what is there can't be found yet.
            unsearched = self._database.searchable and self._database.fact(_SEARCHABLE) is None
            for key in known.keys() - present.keys():
                self._forget(key)
            for key, tree in present.items():
                if unsearched or tree is None or known.get(key) != tree:
                    self._adopt(key)
            if unsearched:
                self._database.remember(_SEARCHABLE, "yes")

    def _adopt(self, key: str) -> None:
        """Make the rows of a session from git. One that is damaged is begun again, as long as its id is known."""
        known = self.rows.session(key)
        try:
            entered = self._ledger.load(key)
        except FromTheFuture:
            entered = None
        except StoreDamaged:
            entered = None if known is None else begin_again(known.id, self._ledger, self.rows)
        if entered is None or (known is not None and known.created != entered.session.created):
            self._forget(key)
        if entered is not None:
            turns, snapshots = self._ledger.turns(entered.tree), self._ledger.snapshots(entered.tree)
            self._put(key, entered.tree, entered.session, list(turns), list(snapshots))

    def _begun_again(self, session: str) -> Entered | None:
        entered = begin_again(session, self._ledger, self.rows)
        if entered is not None:
            with self.changing():
                self._adopt(session_key(session))
        return entered

    def _put(
        self, key: str, tree: ObjectId, session: Session, turns: list[Turn], snapshots: list[Snapshot]
    ) -> None:
        self.rows.put(key, tree, session, turns, snapshots)
        self.passages.put_prompts(key, turns)

    def _forget(self, key: str) -> None:
        self.passages.forget(key)
        self.rows.forget(key)

    def _tree(self, key: str) -> ObjectId | None:
        try:
            return self._ledger.tree(key)
        except StoreDamaged:
            return None

    def _lost(self) -> None:
        self._behind = True
        self._table_lost()


def unknown(session: str) -> UnknownSession:
    """What to say to somebody who asks for a session that is not there."""
    return UnknownSession(
        f"There is no session {session!r}.", "`backtrail session list` shows those there are."
    )

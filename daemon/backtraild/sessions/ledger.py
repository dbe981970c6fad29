"""Sessions in git: what each one's ref holds, read and written.

`refs/sessions/<key>` is a commit without parents whose tree has `session` (the facts, as JSON) and one small JSON
blob for each turn and for each conversation snapshot, in folders of 256: `turns/0000/01`, `snapshots/0000/01`.
Adding a turn writes its blob, its folder, the two trees above, the facts and the commit, however many came before.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from backtrail.errors import StoreDamaged
from backtraild.model import FILE_MODE, TREE_MODE, Change, Changes, Entry, ObjectId, Path
from backtraild.sessions.model import FORMAT, Session, Snapshot, Turn
from backtraild.sessions.soundness import LARGEST_RECORD, check_session, check_snapshot, check_turn
from backtraild.store import PackWriter, Store, failing, trees

SESSIONS = "refs/sessions"
FACTS, TURNS, SNAPSHOTS = b"session", b"turns", b"snapshots"

_Record = TypeVar("_Record")
_sessions = msgspec.json.Decoder(Session)
_turns = msgspec.json.Decoder(Turn)
_snapshots = msgspec.json.Decoder(Snapshot)


class Entered(Struct, frozen=True):
    """A session as it stands in git: its facts, and the tree that all of its records are in."""

    session: Session
    tree: ObjectId


class FromTheFuture(StoreDamaged):
    """A session that a newer Backtrail wrote: not to be guessed at, and not to be written over."""


class Ledger:
    """The records of all sessions of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._named = store.named
        self._objects = store.objects

    def names(self) -> list[str]:
        """All sessions, damaged ones too."""
        with failing("read"):
            return self._named.names(SESSIONS)

    def tree(self, key: str) -> ObjectId | None:
        """Which tree a session's records are in; None if there is no such session."""
        with failing("read"):
            return self._named.tree(f"{SESSIONS}/{key}")

    def load(self, key: str) -> Entered | None:
        """A session's facts; None if there is no such session."""
        tree = self.tree(key)
        if tree is None:
            return None
        session = self._read(tree, FACTS, _sessions)
        if session.format > FORMAT:
            raise FromTheFuture(
                f"Session {key} was written by a newer Backtrail (format {session.format}).",
                "Upgrade Backtrail.",
            )
        check_session(session, key)
        return Entered(session, tree)

    def turn(self, tree: ObjectId, ordinal: int) -> Turn:
        """One turn."""
        turn = self._read(tree, _path(TURNS, ordinal), _turns)
        if turn.ordinal != ordinal:
            raise StoreDamaged(f"Turn {turn.ordinal} in the store lies where turn {ordinal} should.")
        check_turn(turn)
        return turn

    def turns(self, tree: ObjectId) -> Iterator[Turn]:
        """All turns that can be read, in the order of their ordinals."""
        return self._all(tree, TURNS, _turns, lambda turn: turn.ordinal, check_turn)

    def snapshots(self, tree: ObjectId) -> Iterator[Snapshot]:
        """All snapshots that can be read, in the order of their numbers."""
        return self._all(tree, SNAPSHOTS, _snapshots, lambda snapshot: snapshot.number, check_snapshot)

    def is_whole(self, tree: ObjectId) -> bool:
        """Can all records be read?"""
        try:
            for _, entry in trees.walk(tree, self._objects.read_tree):
                self._objects.read_blob(entry.oid)
        except StoreDamaged:
            return False
        return True

    def write(
        self,
        key: str,
        base: ObjectId | None,
        session: Session,
        turns: Iterable[Turn] = (),
        snapshots: Iterable[Snapshot] = (),
        *,
        afresh: bool = False,
    ) -> ObjectId:
        """Put records in place, all or none; durable when this returns. The tree they are in.

        Written `afresh`, nothing that the store has already is relied upon.
        """
        records: dict[Path, Any] = {FACTS: session}
        records |= {_path(TURNS, turn.ordinal): turn for turn in turns}
        records |= {_path(SNAPSHOTS, snapshot.number): snapshot for snapshot in snapshots}
        pack = self._named.new_pack(afresh)
        try:
            with failing("written"):
                tree = self._store.write_tree(
                    pack, None if base is None else base.hex(), _added(pack, records)
                )
                self._named.publish(f"{SESSIONS}/{key}", pack, tree, f"Session {session.id}")
        finally:
            pack.abandon()
        return tree

    def remove(self, key: str) -> None:
        """Let go of a session, damaged or not."""
        with failing("changed"):
            self._named.remove(f"{SESSIONS}/{key}")

    def _all(
        self,
        tree: ObjectId,
        folder: Path,
        decoder: "msgspec.json.Decoder[_Record]",
        number: Callable[[_Record], int],
        check: Callable[[_Record], None],
    ) -> Iterator[_Record]:
        for path, oid in self._places(tree, folder):
            with contextlib.suppress(StoreDamaged):  # a damaged turn must not hide the others
                record = self._decoded(oid, decoder)
                check(record)
                if _path(folder, number(record)) == path:
                    yield record

    def _places(self, tree: ObjectId, folder: Path) -> Iterator[tuple[Path, ObjectId]]:
        """Where records lie. Each one says its place, so that an object which occurs again was put there by others."""
        top = self._entries(tree).get(folder)
        known: set[ObjectId] = set()
        for above, (mode, inner) in [] if top is None else sorted(self._entries(top.oid).items()):
            if mode == TREE_MODE and inner not in known:
                known.add(inner)
                for name, (_, oid) in sorted(self._entries(inner).items()):
                    if oid not in known:
                        known.add(oid)
                        yield b"%s/%s/%s" % (folder, above, name), oid

    def _entries(self, oid: ObjectId) -> dict[bytes, Entry]:
        try:
            return self._objects.read_tree(oid)
        except StoreDamaged:
            return {}

    def _read(self, tree: ObjectId, path: Path, decoder: "msgspec.json.Decoder[_Record]") -> _Record:
        entry = trees.find(tree, path, self._objects.read_tree)
        if entry is None:
            raise StoreDamaged(f"A session in the store lacks {path.decode()}.", "Run `backtrail verify`.")
        return self._decoded(entry.oid, decoder)

    def _decoded(self, oid: ObjectId, decoder: "msgspec.json.Decoder[_Record]") -> _Record:
        if self._objects.size(oid) > LARGEST_RECORD:
            raise StoreDamaged(f"Record {oid.hex()} in the store is larger than any that Backtrail writes.")
        try:
            return decoder.decode(self._objects.read_blob(oid))
        except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
            raise StoreDamaged(f"Record {oid.hex()} in the store was not written by Backtrail.") from error


def _added(pack: PackWriter, records: Mapping[Path, Any]) -> Changes:
    blobs = {path: pack.add_blob(msgspec.json.encode(record)) for path, record in records.items()}
    return {path: Change(None, Entry(FILE_MODE, oid)) for path, oid in blobs.items()}


def _path(folder: Path, number: int) -> Path:
    return b"%s/%04x/%02x" % (folder, number >> 8, number & 0xFF)

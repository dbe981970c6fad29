"""The parts of an opened workspace, and how they are brought into agreement."""

import contextlib
import os

from msgspec import Struct

from backtrail.errors import StoreDamaged
from backtraild import durable, formats
from backtraild.layout import TABLE
from backtraild.model import Changes, ObjectId, WorkspaceConfig
from backtraild.state import Database, FolderListings, Index, Skips, StatTable, TableLost
from backtraild.store import EMPTY_TREE, Store, trees
from backtraild.workspace.forgiving import forgiving
from backtraild.workspace.room import Room
from backtraild.workspace.steps import Steps
from backtraild.workspace.suspicion import Suspicion


class Parts(Struct, frozen=True):
    """What saving, reading and restoring share."""

    root: bytes
    folder: str
    config: WorkspaceConfig
    store: Store
    room: Room
    database: Database
    table: StatTable
    skips: Skips
    listings: FolderListings
    index: Index
    suspicion: Suspicion
    steps: Steps

    @property
    def journal(self) -> str:
        """Where a restore writes down what it is about to do."""
        return os.path.join(self.folder, "restore.journal")

    def changes_between(self, old: str | None, new: str) -> Changes:
        """How two trees differ; None stands for the empty one."""
        known = self.steps.between(old, new)
        if known is not None:
            return known
        objects = self.store.objects
        return dict(
            trees.compare(_tree_id(old), _tree_id(new), objects.read_tree, objects.read_differing_entries)
        )


def open_parts(root: str, folder: str, config: WorkspaceConfig) -> Parts:
    """Open the store of a workspace, making it where there is none."""
    durable.make_folder(folder)
    formats.upgrade(folder)
    store = Store.create(os.path.join(folder, "repo.git"))
    suspicion = Suspicion()
    suspicion.note(store.mended)
    database = Database(os.path.join(folder, TABLE))
    return Parts(
        root=os.fsencode(root),
        folder=folder,
        config=config,
        store=store,
        room=Room(folder, store, config),
        database=database,
        table=StatTable(database),
        skips=Skips(database),
        listings=FolderListings(database),
        index=Index(database),
        suspicion=suspicion,
        steps=Steps(),
    )


def reconcile(parts: Parts) -> None:
    """Make the table beside the store agree with git, which is the truth.

    They differ after a crash between the two, after a power cut, and when the table was lost.
    """
    try:
        _reconcile(parts)
    except TableLost:  # it is empty now, and will do
        _reconcile(parts)


def _reconcile(parts: Parts) -> None:
    with parts.database.transaction():
        agree(parts)


def agree(parts: Parts) -> None:
    """Bring the table into agreement with git, inside the caller's transaction."""
    _reconcile_index(parts)
    _reconcile_stats(parts)


def _reconcile_index(parts: Parts) -> None:
    present, indexed = set(parts.store.numbers), parts.index.numbers()
    parts.index.remove(indexed - present)
    unlisted = set()
    for number in sorted(present - (indexed - parts.suspicion.unlisted)):
        try:
            parts.index.add(parts.store.get(number))
        except StoreDamaged:
            unlisted.add(number)  # what is listed can be restored
    parts.suspicion.unlisted = unlisted


def _reconcile_stats(parts: Parts) -> None:
    tree = parts.store.newest_tree()
    if parts.table.tree == tree:
        return
    if tree is None:  # all checkpoints were deleted: no file is captured any more
        parts.table.clear()
        return
    try:
        changes = parts.changes_between(parts.table.tree, tree)
    except StoreDamaged:  # the tree that the rows describe is gone: begin anew
        parts.table.clear()
        changes = _readable(parts, tree)
    # Rows of changed files are marked, so that the next look reads those files and no others.
    parts.table.follow(changes, tree)


def _readable(parts: Parts, tree: str) -> Changes:
    """The files of a tree that can still be found; a healing look at the disk finds the others."""
    try:
        return parts.changes_between(None, tree)
    except StoreDamaged as error:
        parts.suspicion.raise_for(error.message)
        parts.suspicion.partial = True
    with contextlib.suppress(StoreDamaged):
        return dict(trees.compare(EMPTY_TREE, _tree_id(tree), forgiving(parts.store.objects.read_tree)))
    return {}


def _tree_id(tree: str | None) -> ObjectId:
    return EMPTY_TREE if tree is None else bytes.fromhex(tree)

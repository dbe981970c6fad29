"""Forks: a new folder with the files of an earlier point, watched, and a session that goes on in it.

No history is copied: the new folder's first checkpoint is the point that it comes from.
"""

import contextlib
import logging
import os
import stat
from collections.abc import Callable, Iterator

from msgspec import Struct

from backtrail.errors import BacktrailError
from backtraild import origins, stores
from backtraild.meter import Meter
from backtraild.model import Job
from backtraild.origins import Origin
from backtraild.registry import workspace_id
from backtraild.restore import Ground, Population
from backtraild.roster import Roster
from backtraild.sessions import check_session_id
from backtraild.store import StoreReader, trees
from backtraild.unfinished import ForkNote, ForkNotes, is_in_use, note_of, take_away

_log = logging.getLogger(__name__)


class Forked(Struct, frozen=True):
    """A fork. `checkpoint` is the first one of the new folder, `forked_from` a session, or else a workspace."""

    workspace: str
    root: str
    checkpoint: int
    session: str | None
    forked_from: str
    forked_at: str
    files: int


class Forking(Roster):
    """Whoever watches folders can fork them. May be called in any thread."""

    def start(self) -> None:
        """Undo forks that a kill has left unfinished, then watch what was watched before."""
        for note in self._notes.left():
            try:
                told = self._undone(note)
                self._notes.forget(note)
            except (
                BacktrailError,
                OSError,
            ) as error:  # such as a disk that is not there: the next start tries again
                told = f"It could not be undone: {error}"
            reason = f"The daemon ended while it made a fork in {note.root}. {told}"
            self.log.append("error", note.workspace, note.root, data={"reason": reason})
        super().start()

    @property
    def _notes(self) -> ForkNotes:
        return ForkNotes(str(self._places.data / "forks"))

    def fork(
        self,
        workspace: str,
        folder: str,
        session: str | None = None,
        turn: int | None = None,
        checkpoint: str | None = None,
        new_session: str | None = None,
        *,
        job: Job = None,
    ) -> Forked:
        """Begin a new folder at a session's turn, at its last one, or at a checkpoint.

        The folder does not exist, or is empty. The session that goes on in it carries the conversation up to that
        point and tells where it comes from; a checkpoint that belongs to no session has none, unless it is named.
        Whatever fails, nothing of a half-made fork is left.
        """
        source = self.entry(workspace)
        if new_session is not None:
            check_session_id(new_session)
        origin = self.ask(workspace, origins.find(session, turn, checkpoint))
        ground = Ground(folder, _mode(source.root))
        files = _Files(str(self.store(workspace) / "repo.git"), origin, ground.path)
        had_store = stores.has_checkpoints(self._places.store(workspace_id(ground.path)))
        tree = origin.checkpoint.tree
        note = note_of(ground.path, ground.made, files.git_dir, tree, had_store=had_store)
        with (
            _otherwise(ground.give_back),
            self._notes.under_way(note),
            _otherwise(files.take_away),
            self.watched_anew(ground.path, source, files.write, job=job) as new,
        ):
            begun = self.ask(new.id, origins.begin(origin, files.git_dir, new_session))
            self.ask(source.id, origins.remember(origin, new, begun))
            self._notes.finish(note)
        return Forked(
            workspace=new.id,
            root=new.root,
            checkpoint=begun.checkpoint,
            session=begun.session,
            forked_from=source.id if origin.session is None else origin.session.id,
            forked_at=origin.at,
            files=files.count,
        )

    def _undone(self, note: ForkNote) -> str:
        """Take back all of a fork that nobody was told of; what was done about it."""
        entry = self._registry.get(note.workspace)
        if entry is not None and not note.had_store and is_in_use(str(stores.folder_of(self._places, entry))):
            return "It has been worked in since, and stays as it is."
        take_away(note)
        if entry is not None:
            if not note.had_store:
                stores.purge(self._places, entry)
            self._registry.remove(entry.id)
        return "What was written has been removed."


class _Files:
    """The files of a point, read from the store by a reader of its own: the store's worker goes on meanwhile."""

    def __init__(self, git_dir: str, origin: Origin, root: str) -> None:
        self.git_dir = git_dir
        self.count = 0
        self._tree = bytes.fromhex(origin.checkpoint.tree)
        self._population = Population(root)

    def write(self, meter: Meter) -> None:
        """Put them into the folder."""
        objects = StoreReader(self.git_dir).objects
        files = dict(trees.walk(self._tree, objects.read_tree))
        self.count = len(files)
        self._population.write(files, objects, meter.begin("writing", 2 * len(files)))

    def take_away(self) -> None:
        """Have the folder empty again, as far as nobody else worked in it."""
        self._population.take_away()


def _mode(root: str) -> int:
    """Who may enter a folder; the usual ones where it is gone."""
    try:
        return stat.S_IMODE(os.stat(root).st_mode)
    except OSError:
        return 0o755


@contextlib.contextmanager
def _otherwise(undo: Callable[[], None]) -> Iterator[None]:
    """Undo something if the block fails. What can't be undone is no reason to hide why it had to be."""
    try:
        yield
    except BaseException:
        try:
            undo()
        except BacktrailError as error:
            _log.warning("a fork that failed could not be undone completely: %s", error.message)
        raise

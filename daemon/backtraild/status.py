"""How a workspace is doing, told without waiting for its worker, which may be in the middle of a long look."""

import contextlib
import os
import sqlite3
import threading
import time

from msgspec import Struct

from backtrail.pathtext import sendable
from backtraild import space
from backtraild.model import Checkpoint, Path, Skipped, SkipReason
from backtraild.registry import Registered
from backtraild.space import Space
from backtraild.store import QUARANTINE
from backtraild.worker import Worker

SKIPPED_SHOWN = 100
# Adding up the sizes of many small files takes a while; they change little.
STORE_SIZE_SECONDS = 5.0


class SkippedFiles(Struct, frozen=True):
    """How many files are seen and not captured, and the first few of them."""

    count: int = 0
    first: tuple[Skipped, ...] = ()


class WorkspaceStatus(Struct, frozen=True):
    """All that `status` shows of one workspace."""

    workspace: str
    root: Path
    state: str
    reasons: tuple[str, ...]
    files: int
    bytes: int
    pending: int
    last_checkpoint: Checkpoint | None
    store_bytes: int
    max_store_bytes: int
    space: Space
    checkpoints: int
    skipped: SkippedFiles
    watcher: str
    overlaps: tuple[str, ...]
    notices: tuple[str, ...]


class _Table(Struct, frozen=True):
    """What only the table knows, as of one state of the workspace."""

    facts: object
    bytes: int
    skipped: SkippedFiles


class StatusReader:
    """Reads the status of one workspace; remembers what is costly to find out."""

    def __init__(self, entry: Registered, folder: str, worker: Worker) -> None:
        self._entry = entry
        self._folder = folder
        self._worker = worker
        self._lock = threading.Lock()
        self._table = _Table(None, 0, SkippedFiles())
        self._store_bytes = 0
        self._measured_at = -STORE_SIZE_SECONDS

    def read(self, overlaps: list[str], notice: str | None = None) -> WorkspaceStatus:
        """The status now, with a notice that concerns all workspaces."""
        notices = (notice, _quarantined(self._folder))
        with self._lock:
            return self._read(tuple(overlaps), tuple(sendable(each) for each in notices if each))

    def _read(self, overlaps: tuple[str, ...], notices: tuple[str, ...]) -> WorkspaceStatus:
        worker, facts = self._worker, self._worker.facts
        # A new Facts is made after everything that was done: as long as it is the same, so are the sums.
        if facts is not None and facts is not self._table.facts:
            with contextlib.suppress(sqlite3.Error):  # the table is being made, or made anew
                self._table = _Table(facts, *_sums(os.path.join(self._folder, "state.db")))
        now = time.monotonic()
        if now >= self._measured_at + STORE_SIZE_SECONDS:
            self._measured_at, self._store_bytes = now, _size_on_disk(self._folder)
        return WorkspaceStatus(
            workspace=self._entry.id,
            root=os.fsencode(self._entry.root),
            state=worker.health.state,
            reasons=tuple(worker.health.reasons),
            files=0 if facts is None else facts.files,
            bytes=self._table.bytes,
            pending=worker.pending,
            last_checkpoint=None if facts is None else facts.last,
            store_bytes=self._store_bytes,
            max_store_bytes=self._entry.config.max_store_bytes,
            space=self._space(),
            checkpoints=0 if facts is None else facts.checkpoints,
            skipped=self._table.skipped,
            watcher="none" if facts is None else facts.watcher,
            overlaps=overlaps,
            notices=notices,
        )

    def _space(self) -> Space:
        try:
            return space.look(self._folder, self._entry.config.min_free_bytes)
        except OSError:  # the disk of a store may be away
            return Space(0, self._entry.config.min_free_bytes or 0)


def _quarantined(folder: str) -> str | None:
    """Broken packs that were taken out of the store; whatever could be read in them is in it again."""
    quarantine = os.path.join(folder, QUARANTINE)
    try:
        count = sum(name.endswith(".pack") for name in os.listdir(quarantine))
    except OSError:
        return None
    which = "1 damaged pack" if count == 1 else f"{count:,} damaged packs"
    next_step = (
        "`backtrail verify` says which checkpoints are whole. Once nothing is missed, delete the folder."
    )
    return f"{quarantine} holds {which} of the store. {next_step}" if count else None


def _sums(database: str) -> tuple[int, SkippedFiles]:
    """Through a connection of its own: readers and the one writer of a WAL database do not wait for each other."""
    connection = sqlite3.connect(f"file:{_quoted(database)}?mode=ro", uri=True, timeout=0.1)
    try:
        (size,) = connection.execute("SELECT COALESCE(SUM(size), 0) FROM files").fetchone()
        (count,) = connection.execute("SELECT COUNT(*) FROM skips").fetchone()
        rows = connection.execute(
            "SELECT path, size, reason FROM skips ORDER BY path LIMIT ?", (SKIPPED_SHOWN,)
        ).fetchall()
    finally:
        connection.close()
    first = tuple(Skipped(path, length, SkipReason(reason)) for path, length, reason in rows)
    return int(size), SkippedFiles(int(count), first)


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _size_on_disk(folder: str) -> int:
    """What the store takes, in blocks rather than bytes, as `du` counts."""
    total, folders = 0, [folder]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                with contextlib.suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
    return total

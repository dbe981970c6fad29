"""What one look at the disk has found so far, and the table brought up to date with what is gone."""

import os
from collections.abc import Callable

from msgspec import Struct

from backtraild import guard
from backtraild.model import Change, Entry, Limits, Path, Skipped, SkipReason, is_below, join_path, split_path
from backtraild.scan.capture import passes_unseen
from backtraild.state import Stat, StatTable


class ScanResult(Struct, frozen=True):
    """What a look at the disk found."""

    changes: dict[Path, Change]
    unsettled: frozenset[Path]  # not captured for a reason that may pass without an event: look again soon


class Findings:
    """Gathered during one look."""

    def __init__(
        self, table: StatTable, limits: Limits, progress: Callable[[int], None], *, enforce_limits: bool
    ) -> None:
        self._table = table
        self._limits = limits
        self._progress = progress
        self._enforce_limits = enforce_limits
        self._files = self._size = 0
        self._changes: dict[Path, Change] = {}
        self._unreadable: list[Path] = []
        self.unsettled: set[Path] = set()
        self.skipped: list[Skipped] = []
        self.visited: set[Path] = set()

    @property
    def result(self) -> ScanResult:
        """What there is to tell in the end."""
        return ScanResult(self._changes, frozenset(self.unsettled))

    def count(self, status: os.stat_result) -> None:
        """One file that was looked at closely."""
        self._files += 1
        if status.st_size <= self._limits.max_file_size:  # what is left out takes no room in the store
            self._size += status.st_size
        self._progress(self._files)

    def count_unchanged(self, files: int, size: int) -> None:
        """Files of one folder that are as they were."""
        self._files += files
        self._size += size

    def finish_folder(self, path: Path) -> None:
        """All in a folder was looked at, or given away to be."""
        self.visited.add(path)
        self.check_limits()
        self._progress(self._files)

    def check_limits(self) -> None:
        """Fail where the folder turns out to be larger than it may be."""
        if self._enforce_limits:
            guard.check_size(self._files, self._size, self._limits, force=False)

    def note(self, path: Path, old: Entry | None, new: Entry | None) -> None:
        """A step from one content to the next. Where hints overlap, a path may take several in one look."""
        earlier = self._changes.pop(path, None)
        first = old if earlier is None else earlier.old
        if first != new:
            self._changes[path] = Change(first, new)

    def skip(self, path: Path, size: int, reason: SkipReason) -> None:
        """A file that is left out, or left as it was captured."""
        self.skipped.append(Skipped(path, size, reason))

    def skip_unreadable(self, path: Path, error: OSError) -> None:
        """A file or folder that can't be looked at."""
        self.skip(path, 0, SkipReason.UNREADABLE)
        if passes_unseen(error):
            self.unsettled.add(path)

    def shut(self, path: Path, error: OSError) -> None:
        """A folder that can't be listed keeps the content last captured."""
        self.visited.add(path)
        self._unreadable.append(path)
        self.skip_unreadable(path, error)

    def lose(self, path: Path) -> None:
        """A folder that moved away before all in it was looked at: what is in it stays as it was captured."""
        self._unreadable.append(path)
        self.unsettled.add(path)

    def forget_file(self, path: Path) -> None:
        """There is no such file any more."""
        known = self._table.get(path)
        if known is not None:
            folder, name = split_path(path)
            self.forget_files(folder, {name: known})

    def forget_files(self, folder: Path, gone: dict[bytes, Stat]) -> None:
        """These files of a folder are gone."""
        if gone:
            self._table.remove(folder, gone)
            for name, known in gone.items():
                self.note(join_path(folder, name), known.entry, None)

    def forget_below(self, path: Path) -> None:
        """There is no such folder any more."""
        for folder in self._table.folders_below(path):
            self.forget_files(folder, self._table.folder(folder))

    def forget_unvisited(self, path: Path) -> None:
        """Folders that are in the table but were not met on the way are gone, except behind closed doors."""
        for folder in self._table.folders_below(path):
            if folder not in self.visited and not self._is_behind_closed_door(folder):
                self.forget_files(folder, self._table.folder(folder))

    def _is_behind_closed_door(self, folder: Path) -> bool:
        return any(folder == shut or is_below(folder, shut) for shut in self._unreadable)

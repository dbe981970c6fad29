"""One look at the disk: at everything, or at the paths that may have changed."""

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from errno import ELOOP, ENOTDIR

from backtraild import guard
from backtraild.ignore import IGNORE_FILES, FolderRules
from backtraild.model import (
    BlobSink,
    Change,
    Entry,
    Limits,
    Path,
    Placed,
    Skipped,
    SkipReason,
    is_dot_git,
    join_path,
    split_path,
)
from backtraild.scan.capture import Left, as_placed, capture, is_unchanged, passes_unseen
from backtraild.scan.delegation import Delegation, Differing
from backtraild.scan.deputy import Deputy
from backtraild.scan.folders import (
    Folder,
    descend,
    list_folder,
    open_folder,
    open_root,
    read_rules,
    unavailable,
)
from backtraild.scan.glance import Glance, glance
from backtraild.scan.observer import NoObserver, Observer
from backtraild.scan.trail import Trail
from backtraild.scan.way import Way
from backtraild.state import Ahead, Skips, Stat, StatTable, walking_order


@dataclass(frozen=True, slots=True)
class ScanResult:
    """What a look at the disk found."""

    changes: dict[Path, Change]
    unsettled: frozenset[Path]  # not captured for a reason that may pass without an event: look again soon


# A folder on the way down, and those of its subfolders that are still to be entered.
_Frame = tuple[Folder, Iterator[bytes]]


@dataclass(slots=True)
class _Findings:
    """What is gathered during one look."""

    changes: dict[Path, Change] = field(default_factory=dict)
    unsettled: set[Path] = field(default_factory=set)
    skipped: list[Skipped] = field(default_factory=list)
    visited: set[Path] = field(default_factory=set)
    unreadable: list[Path] = field(default_factory=list)
    files: int = 0
    size: int = 0


class Scanner:
    """Compares disk and stat table, gives new content to a sink, and brings the table up to date.

    The caller holds a transaction on the table: it keeps what the scan wrote once the checkpoint is durable,
    or rolls it back and the scan never happened.
    """

    def __init__(
        self,
        root: bytes,
        rules: FolderRules,
        table: StatTable,
        skips: Skips,
        sink: BlobSink,
        limits: Limits,
        *,
        observer: Observer | None = None,
        deputy: Deputy | None = None,
        enforce_limits: bool = False,
        clock: Callable[[], int] = time.time_ns,
        progress: Callable[[int], None] = lambda _: None,
        placed: Mapping[Path, Placed] | None = None,
    ) -> None:
        self._placed = placed or {}
        self._root = root
        self._rules = rules
        self._table = table
        self._skips = skips
        self._sink = sink
        self._limits = limits
        self._observer = observer or NoObserver()
        self._delegation = Delegation(deputy)
        self._enforce_limits = enforce_limits
        self._clock = clock
        self._progress = progress
        self._found = _Findings()

    def everything(self) -> ScanResult:
        """Look at the whole workspace."""
        self._look_at_tree(open_root(self._root), b"", self._rules)
        self._skips.replace(b"", self._found.skipped)
        return self._result()

    def paths(self, dirty: Iterable[Path]) -> ScanResult:
        """Look at these paths, and below those that are folders."""
        with Way(self._root, self._rules) as way:
            for folder, names in _by_folder(dirty):
                if folder not in self._found.visited:
                    self._look_into(way, folder, names)
        return self._result()

    def _result(self) -> ScanResult:
        return ScanResult(self._found.changes, frozenset(self._found.unsettled))

    def _look_into(self, way: Way, folder: Path, names: list[bytes]) -> None:
        """Look at some names of one folder, if the way to it leads through folders that are captured."""
        if names == [b""]:  # the root itself
            self.everything()
            return
        place = self._walk_to(way, folder)
        if place is not None:
            self._look_at(place, names)

    def _walk_to(self, way: Way, folder: Path) -> Folder | None:
        """Enter a folder from the root. Where the way ends, what is there now is looked at instead."""
        place, names = way.turn_to(folder)
        for name in names:
            deeper = descend(place, name, IGNORE_FILES)
            if deeper is None:
                self._look_at(place, [name])
                return None
            way.go_down(deeper)
            place = deeper
            self._forget_file(place.path)  # a file that made way for the folder
        return place

    def _look_at(self, place: Folder, names: list[bytes]) -> None:
        """Look at some names in a folder, whatever they are now; what is known of them is asked and told at once."""
        before = len(self._found.skipped)
        known = self._table.some(place.path, names)
        nested = self._table.has_below(place.path)
        rows: list[tuple[bytes, Stat]] = []
        for name in names:
            row = self._look_at_name(place, name, known.get(name), nested)
            if row is not None:
                rows.append((name, row))
        self._table.put(place.path, rows)
        paths = [join_path(place.path, name) for name in names]
        self._skips.replace_all(paths, self._found.skipped[before:])

    def _look_at_name(self, place: Folder, name: bytes, known: Stat | None, nested: bool) -> Stat | None:
        path = join_path(place.path, name)
        try:
            status = os.stat(name, dir_fd=place.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            self._forget(path)
        except OSError as error:  # one file that can't be looked at must not end the look at the others
            self._skip_unreadable(path, error)
        else:
            is_folder = stat.S_ISDIR(status.st_mode)
            if place.rules.excludes(name, is_folder):
                self._forget(path)
            elif is_folder and not is_dot_git(name):
                self._look_at_subfolder(place, name, path)
            else:
                if nested:
                    self._forget_below(path)
                self._observer.leave(path, frozenset())
                if known is None or not is_unchanged(known, status, self._limits.max_file_size):
                    return self._look_at_file(place, name, path, status, known)
        return None

    def _look_at_subfolder(self, place: Folder, name: bytes, path: Path) -> None:
        self._forget_file(path)
        descriptor = self._open_folder(place.descriptor, name, path)
        if descriptor is not None:
            self._look_at_tree(descriptor, path, place.rules.child(name))

    def _look_at_tree(self, descriptor: int, path: Path, rules: FolderRules) -> None:
        """Look at a folder and everything below it; owns the descriptor."""
        ahead = self._table.ahead(path)
        with Trail() as trail, self._delegation:
            trail.go_down(*self._enter(descriptor, path, rules, ahead))
            while trail:
                name = trail.next_name()
                if name is None:
                    self._lose(trail.go_up())
                    continue
                place = trail.folder
                below = join_path(place.path, name)
                opened = self._open_folder(place.descriptor, name, below)
                if opened is not None:
                    trail.go_down(*self._enter(opened, below, place.rules.child(name), ahead))
            self._take_answers(wait=True)
        self._observer.leave(path, self._found.visited)
        self._forget_unvisited(path)

    def _lose(self, folders: list[Folder]) -> None:
        """Folders that moved away before all in them was looked at: what is in them stays as it was captured."""
        for folder in folders:
            self._found.unreadable.append(folder.path)
            self._found.unsettled.add(folder.path)

    def _open_folder(self, parent: int, name: bytes, path: Path) -> int | None:
        try:
            return open_folder(name, parent)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (ENOTDIR, ELOOP):  # swapped for a file or a symlink since it was listed
                self._found.unsettled.add(path)
            else:
                self._shut(path, error)
            return None

    def _shut(self, path: Path, error: OSError) -> None:
        """A folder that can't be listed keeps the content last captured."""
        self._observer.shut_out(path, error.strerror or str(error))
        self._found.visited.add(path)
        self._found.unreadable.append(path)
        self._skip_unreadable(path, error)

    def _enter(self, descriptor: int, path: Path, rules: FolderRules, ahead: Ahead) -> _Frame:
        try:
            return self._look_at_folder(descriptor, path, rules, ahead)
        except BaseException:
            os.close(descriptor)
            raise

    def _look_at_folder(self, descriptor: int, path: Path, rules: FolderRules, ahead: Ahead) -> _Frame:
        """Compare the files of one folder with their rows; its subfolders are left to the caller."""
        self._observer.enter(path, descriptor)
        try:
            entries = list_folder(descriptor)
            place = Folder(path, descriptor, read_rules(descriptor, rules, entries))
        except OSError as error:
            if not path:
                raise unavailable(self._root, error) from error
            self._shut(path, error)
            return Folder(path, descriptor, rules), iter(())
        self._observer.govern(path, place.rules)
        known = ahead.rows(path)
        seen = glance(entries, place.rules, known, self._limits.max_file_size)
        self._found.files += seen.unchanged
        self._found.size += seen.unchanged_size
        if seen.shut or seen.differing:
            self._look_closer(place, seen)
        if known:
            self._forget_files(path, {name: Stat._make(row) for name, row in known.items()})
        self._found.visited.add(path)
        self._check_limits()
        self._progress(self._found.files)
        return place, iter(sorted(seen.subfolders, key=walking_order))

    def _look_closer(self, place: Folder, seen: Glance) -> None:
        """Take note of the files of a folder that are not as they were captured."""
        for name, error in seen.shut:
            self._skip_unreadable(join_path(place.path, name), error)
        here: Iterable[Differing] = seen.differing
        if not self._placed:  # what was put there need not be read
            here = self._delegation.keep(place, seen.differing, self._limits.max_file_size)
        self._look_at_files(place, here)
        self._take_answers(wait=False)

    def _look_at_files(self, place: Folder, files: Iterable[Differing]) -> None:
        rows: list[tuple[bytes, Stat]] = []
        for name, status, known in files:
            path = join_path(place.path, name)
            row = self._look_at_file(place, name, path, status, None if known is None else Stat._make(known))
            if row is not None:
                rows.append((name, row))
        if rows:
            self._table.put(place.path, rows)

    def _take_answers(self, *, wait: bool) -> None:
        """Take note of files that the deputy has read, and look at those that it has not."""
        for place, files, answer in self._delegation.answered(wait=wait):
            rows: list[tuple[bytes, Stat]] = []
            closer: list[Differing] = []
            for file, captured in zip(files, answer or [None] * len(files), strict=True):
                if captured is None:
                    closer.append(file)
                    continue
                name, status, known = file
                self._count(status)
                self._sink.add_packed(captured.content)
                row, old = captured.row, None if known is None else Stat._make(known).entry
                self._note(join_path(place.path, name), old, row.entry)
                rows.append((name, row))
            self._table.put(place.path, rows)
            self._look_at_files(place, closer)
            self._check_limits()

    def _look_at_file(
        self, place: Folder, name: bytes, path: Path, status: os.stat_result, known: Stat | None
    ) -> Stat | None:
        """Capture a file that is not as its row says; the row to write, if that is another one."""
        self._count(status)
        if is_dot_git(name):
            captured: Stat | Left | None = Left(status.st_size, SkipReason.RESERVED_NAME)
        else:
            captured = self._known_row(path, status) or capture(
                name, place.descriptor, status, self._sink, self._limits.max_file_size, self._clock
            )
        if isinstance(captured, Stat):
            self._note(path, None if known is None else known.entry, captured.entry)
            return captured
        if isinstance(captured, Left):
            self._skip(path, captured.size, captured.reason)
            if captured.look_again:
                self._found.unsettled.add(path)
            if captured.reason in (SkipReason.CHANGING, SkipReason.UNREADABLE):
                return None  # the content last captured stays: it is the best that is known of this file
        if known is not None:
            self._forget_files(place.path, {name: known})
        return None

    def _count(self, status: os.stat_result) -> None:
        self._found.files += 1
        if status.st_size <= self._limits.max_file_size:  # what is left out takes no room in the store
            self._found.size += status.st_size
        self._progress(self._found.files)

    def _known_row(self, path: Path, status: os.stat_result) -> Stat | None:
        """The row of a file that need not be read, because its content came out of the store and was put there."""
        placed = self._placed.get(path)
        row = None if placed is None else as_placed(placed, status)
        too_large = status.st_size > self._limits.max_file_size
        return row if row is not None and not too_large and self._sink.has_blob(row.oid) else None

    def _note(self, path: Path, old: Entry | None, new: Entry | None) -> None:
        """A step from one content to the next. Where hints overlap, a path may take several in one scan."""
        earlier = self._found.changes.pop(path, None)
        first = old if earlier is None else earlier.old
        if first != new:
            self._found.changes[path] = Change(first, new)

    def _skip_unreadable(self, path: Path, error: OSError) -> None:
        self._skip(path, 0, SkipReason.UNREADABLE)
        if passes_unseen(error):
            self._found.unsettled.add(path)

    def _skip(self, path: Path, size: int, reason: SkipReason) -> None:
        self._found.skipped.append(Skipped(path, size, reason))

    def _forget(self, path: Path) -> None:
        self._forget_file(path)
        self._forget_below(path)
        self._observer.leave(path, frozenset())

    def _forget_file(self, path: Path) -> None:
        known = self._table.get(path)
        if known is not None:
            folder, name = split_path(path)
            self._forget_files(folder, {name: known})

    def _forget_files(self, folder: Path, gone: dict[bytes, Stat]) -> None:
        if gone:
            self._table.remove(folder, gone)
            for name, known in gone.items():
                self._note(join_path(folder, name), known.entry, None)

    def _forget_below(self, path: Path) -> None:
        for folder in self._table.folders_below(path):
            self._forget_files(folder, self._table.folder(folder))

    def _forget_unvisited(self, path: Path) -> None:
        """Folders that are in the table but were not met on the way are gone, except behind closed doors."""
        visited = self._found.visited
        for folder in self._table.folders_below(path):
            if folder not in visited and not self._is_behind_closed_door(folder):
                self._forget_files(folder, self._table.folder(folder))

    def _is_behind_closed_door(self, folder: Path) -> bool:
        return any(shut in (b"", folder) or folder.startswith(shut + b"/") for shut in self._found.unreadable)

    def _check_limits(self) -> None:
        if self._enforce_limits:
            guard.check_size(self._found.files, self._found.size, self._limits, force=False)


def _by_folder(dirty: Iterable[Path]) -> list[tuple[Path, list[bytes]]]:
    """Dirty names grouped by folder, parents first, neighbours together. A changed ignore file dirties its folder."""
    paths = {split_path(path)[0] if split_path(path)[1] in IGNORE_FILES else path for path in dirty}
    groups: dict[Path, list[bytes]] = {}
    for path in paths:
        folder, name = split_path(path)
        groups.setdefault(folder, []).append(name)
    if b"" in paths:
        return [(b"", [b""])]
    return sorted(groups.items(), key=lambda group: group[0].split(b"/"))

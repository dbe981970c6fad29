"""One look at the disk: at everything, or at the paths that may have changed."""

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from errno import ELOOP, ENOTDIR

from backtraild.ignore import IGNORE_FILES, FolderRules
from backtraild.model import BlobSink, Limits, ObjectId, Path, Placed, is_dot_git, join_path, split_path
from backtraild.scan.capture import is_unchanged
from backtraild.scan.delegation import Delegation
from backtraild.scan.deputy import Deputy
from backtraild.scan.findings import Findings, ScanResult
from backtraild.scan.folders import (
    Folder,
    list_folder,
    open_folder,
    open_root,
    read_rules,
    unavailable,
)
from backtraild.scan.glance import Glance, glance
from backtraild.scan.observer import NoObserver, Observer
from backtraild.scan.taking import Taker
from backtraild.scan.trail import Trail
from backtraild.scan.way import Way
from backtraild.state import Ahead, Skips, Stat, StatTable, walking_order

# A folder on the way down, and those of its subfolders that are still to be entered.
_Frame = tuple[Folder, Iterator[bytes]]


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
        expect: Callable[[ObjectId], None] = lambda _: None,
    ) -> None:
        """`expect` hears of old content that is going to be compared with what is captured in its place."""
        self._root = root
        self._rules = rules
        self._table = table
        self._skips = skips
        self._max_file_size = limits.max_file_size
        self._observer = observer or NoObserver()
        self._found = Findings(table, limits, progress, enforce_limits=enforce_limits)
        self._delegation = Delegation(deputy)
        self._taker = Taker(
            table, sink, self._found, self._delegation, self._max_file_size, clock, placed or {}, expect
        )

    def everything(self) -> ScanResult:
        """Look at the whole workspace."""
        self._look_at_tree(open_root(self._root), b"", self._rules)
        self._skips.replace(b"", self._found.skipped)
        return self._found.result

    def paths(self, dirty: Iterable[Path]) -> ScanResult:
        """Look at these paths, and below those that are folders."""
        with Way(self._root, self._rules, self._observer.rules) as way:
            for folder, names in _by_folder(dirty):
                if folder not in self._found.visited:
                    self._look_into(way, folder, names)
        return self._found.result

    def _look_into(self, way: Way, folder: Path, names: list[bytes]) -> None:
        """Look at some names of one folder, if the way to it leads through folders that are captured."""
        if names == [b""]:  # the root itself
            self.everything()
            return
        place, entered = way.turn_to(folder)
        for at, name in enumerate(entered):
            deeper = way.go_down(place, name)
            if deeper is None:  # where the way ends, what is there now is looked at instead
                self._look_at(place, [name], at)
                return
            place = deeper
        self._look_at(place, names, len(entered))

    def _look_at(self, place: Folder, names: list[bytes], entered: int) -> None:
        """Look at some names in a folder, whatever they are now; what is known of them is asked and told at once.

        So many of the last folders on the way were not entered before in this look.
        """
        before = len(self._found.skipped)
        known = self._table.some(place.path, names)
        if not known:  # else all on the way are known as folders
            self._forget_files_on_the_way(place.path, entered)
        nested = len(known) < len(names) and self._table.has_below(place.path)
        rows: list[tuple[bytes, Stat]] = []
        for name in names:
            row = self._look_at_name(place, name, known.get(name), nested)
            if row is not None:
                rows.append((name, row))
        self._table.put(place.path, rows)
        paths = [join_path(place.path, name) for name in names]
        self._skips.replace_all(paths, self._found.skipped[before:])

    def _forget_files_on_the_way(self, path: Path, entered: int) -> None:
        """Files that made way for folders."""
        for _ in range(entered):
            self._found.forget_file(path)
            path = split_path(path)[0]

    def _look_at_name(self, place: Folder, name: bytes, known: Stat | None, nested: bool) -> Stat | None:
        path = join_path(place.path, name)
        try:
            status = os.stat(name, dir_fd=place.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            self._forget(path)
        except OSError as error:  # one file that can't be looked at must not end the look at the others
            self._found.skip_unreadable(path, error)
        else:
            is_folder = stat.S_ISDIR(status.st_mode)
            if place.rules.excludes(name, is_folder):
                self._forget(path)
            elif is_folder and not is_dot_git(name):
                self._look_at_subfolder(place, name, path)
            else:
                if nested:
                    self._found.forget_below(path)
                self._observer.leave(path, frozenset())
                if known is None or not is_unchanged(known, status, self._max_file_size):
                    return self._taker.take(place, name, path, status, known)
        return None

    def _look_at_subfolder(self, place: Folder, name: bytes, path: Path) -> None:
        self._found.forget_file(path)
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
            self._taker.take_answers(wait=True)
        self._observer.leave(path, self._found.visited)
        self._found.forget_unvisited(path)

    def _lose(self, folders: list[Folder]) -> None:
        """Folders that moved away before all in them was looked at: what is in them stays as it was captured."""
        for folder in folders:
            self._found.lose(folder.path)

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
        self._found.shut(path, error)

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
        seen = glance(entries, place.rules, known, self._max_file_size)
        self._found.count_unchanged(seen.unchanged, seen.unchanged_size)
        if seen.shut or seen.differing:
            self._look_closer(place, seen)
        if known:
            self._found.forget_files(path, {name: Stat._make(row) for name, row in known.items()})
        self._found.finish_folder(path)
        return place, iter(sorted(seen.subfolders, key=walking_order))

    def _look_closer(self, place: Folder, seen: Glance) -> None:
        """Take note of the files of a folder that are not as they were captured."""
        for name, error in seen.shut:
            self._found.skip_unreadable(join_path(place.path, name), error)
        self._taker.take_all(place, seen.differing)

    def _forget(self, path: Path) -> None:
        self._found.forget_file(path)
        self._found.forget_below(path)
        self._observer.leave(path, frozenset())


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

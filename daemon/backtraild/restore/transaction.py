"""Carrying out a plan: forward step by step, or back to exactly where it started.

Old files are moved, not removed, until nothing can fail any more; so every step can be undone with the very
file it took. What a step took is checked after it was taken: checking before would leave a moment in which
somebody else can put something else there.
"""

import errno
import heapq
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import takewhile

from backtraild.model import EXECUTABLE_MODE, Path, Placed
from backtraild.restore import rollback
from backtraild.restore.calls import NOT_A_FOLDER, OPEN_FILE, UNSUPPORTED
from backtraild.restore.content import Seen, is_untouched, look
from backtraild.restore.folders import Folder, NoFolder, parent_of, with_above, with_all_above
from backtraild.restore.journal import Step
from backtraild.restore.moves import Site
from backtraild.restore.plan import Conflict, Reason
from backtraild.restore.staging import SYNCED_ONE_BY_ONE, sync_file_system, with_executable

_STAYS = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.ENOENT})


class Transaction:
    """One run over the steps. Each method that changes something first says how that is undone."""

    def __init__(self, site: Site, removable: frozenset[Path] | None = None) -> None:
        self._site = site
        self._calls = site.calls
        self._folders = site.folders
        self._removable = removable  # None: every folder that the deletes empty
        self._undo: list[Callable[[], None]] = []
        self._leftovers: list[tuple[Step, bytes]] = []
        self._touched: set[Path] = set()
        self._left_alone: set[Path] = set()
        self.current: Path = b""
        self.written: list[Path] = []
        self.placed: dict[Path, Placed] = {}
        self._began = time.time_ns()
        self.deleted: list[Path] = []
        self.mode_changed: list[Path] = []
        self.conflicts: list[Conflict] = []
        self.vanished = 0

    def delete(self, step: Step) -> None:
        """Move a file out of the workspace, if it is still the one that the safety checkpoint holds."""
        self.current = step.path
        if self._take_old(step):
            self.deleted.append(step.path)

    def write(self, step: Step) -> None:
        """Put the staged content at its path."""
        self.current = step.path
        if self._left_alone and self._is_barred(step.folder):
            self._leftovers.append((step, self._site.staging.new_name(step)))
            self._leave(step, Reason.PARENT)
            return
        self._enter_or_create(step.folder)
        self._touched.add(step.folder)
        self._undo.append(partial(rollback.undo_write, self._site, step))
        if step.seen is None:
            self._create(step)
        else:
            self._replace(step)

    def change_mode(self, step: Step) -> None:
        """Set or clear the executable bits of a file that is otherwise right."""
        self.current = step.path
        if step.seen is None or step.new is None:
            return
        try:
            folder = self._folders.open(step.folder)
            descriptor = self._calls.open(step.name, OPEN_FILE, dir_fd=folder.fd)
        except FileNotFoundError:
            self._leave(step, Reason.CHANGED)
            return
        except OSError as error:
            if error.errno not in NOT_A_FOLDER or isinstance(error, NoFolder):
                raise
            self._leave(step, Reason.CHANGED)
            return
        try:
            self._change_mode_of(step, step.seen, descriptor)
        finally:
            self._calls.close(descriptor)

    def remove_emptied(self, emptied: Iterable[Path], needed: Iterable[Path]) -> None:
        """Remove folders that these deletes left empty, and then those that this leaves empty."""
        stays = with_all_above(needed)
        queue = [(-folder.count(b"/"), folder) for folder in set(emptied)]
        heapq.heapify(queue)
        while queue:
            _, folder = heapq.heappop(queue)
            if not folder or folder in stays:
                continue
            self.current = folder
            if (self._removable is None or folder in self._removable) and self._remove_folder(folder):
                above = parent_of(folder)
                heapq.heappush(queue, (-above.count(b"/"), above))

    def sync(self) -> None:
        """Everything done so far is durable when this returns."""
        if len(self._touched) > SYNCED_ONE_BY_ONE:
            for top in self._site.staging.areas:  # every step has one on its own file system
                sync_file_system(self._calls, self._folders.open(top).fd, self._sync_touched)
        else:
            self._sync_touched()

    def roll_back(self) -> None:
        """Undo everything, last step first. What cannot be undone raises; the journal then remains."""
        while self._undo:
            self._undo[-1]()
            self._undo.pop()
        # The journal goes next; without this a power cut could bring back a step that it would have undone.
        self.sync()

    def discard_old(self) -> None:
        """Delete the old files. From here on there is no way back; a crash is finished forward."""
        while self._leftovers:
            self._site.discard(*self._leftovers[-1])
            self._leftovers.pop()

    def _take_old(self, step: Step) -> bool:
        """Move the old file into staging. False if it is gone, or is not what it should be and stays."""
        name = self._site.staging.old_name(step)
        self._undo.append(partial(rollback.undo_delete, self._site, step))
        try:
            self._site.take(step, name)
        except FileNotFoundError:
            self.vanished += 1
            return False
        self._touched.add(step.folder)
        if self._site.holds(step, name, step.old, step.seen):
            self._leftovers.append((step, name))
            return True
        self._site.give_back(step, name)
        self._leave(step, Reason.CHANGED)
        return False

    def _create(self, step: Step) -> None:
        try:
            self._site.put(step, self._site.staging.new_name(step))
        except FileExistsError:
            self._leftovers.append((step, self._site.staging.new_name(step)))
            self._leave(step, Reason.APPEARED)
        else:
            self._wrote(step)

    def _wrote(self, step: Step) -> None:
        self.written.append(step.path)
        made = self._site.staging.made.get(step.number)
        if made is not None and step.new is not None:
            around = self._began, time.time_ns()
            self.placed[step.path] = Placed(step.new.oid, made.ino, made.size, made.mtime_ns, *around)

    def _replace(self, step: Step) -> None:
        name = self._site.staging.new_name(step)
        try:
            self._site.exchange(step, name)
        except FileNotFoundError:
            self._create(step)
            return
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise
            self._replace_in_two_steps(step)
            return
        self._leftovers.append((step, name))
        if self._site.holds(step, name, step.old, step.seen):
            self._wrote(step)
        else:
            self._site.swap_back(step, name)
            self._leave(step, Reason.CHANGED)

    def _replace_in_two_steps(self, step: Step) -> None:
        """Without an exchange: a crash between the two leaves nothing at the path, and both in staging."""
        vanished = self.vanished
        if self._take_old(step) or self.vanished > vanished:
            self.vanished = vanished
            self._create(step)
        else:
            self._leftovers.append((step, self._site.staging.new_name(step)))

    def _change_mode_of(self, step: Step, seen: Seen, descriptor: int) -> None:
        status = self._calls.fstat(descriptor)
        if not is_untouched(seen, status):
            found = look(self._calls, self._folders.open(step.folder).fd, step.name)
            if found is not None and found.entry == step.new:  # another name of the same file came first
                self.mode_changed.append(step.path)
                return
            if found is None or found.entry != step.old or found.seen.ino != status.st_ino:
                self._leave(step, Reason.CHANGED)
                return
        executable = step.new is not None and step.new.mode == EXECUTABLE_MODE
        before = status.st_mode & 0o7777
        self._undo.append(partial(rollback.undo_mode, self._site, step, status.st_ino, before))
        self._calls.fchmod(descriptor, with_executable(before, executable))
        self._touched.add(step.folder)
        self.mode_changed.append(step.path)
        if len(self.mode_changed) <= SYNCED_ONE_BY_ONE:
            self._calls.fsync(descriptor)

    def _enter_or_create(self, path: Path) -> Folder:
        try:
            return self._folders.open(path)
        except NoFolder as error:
            if error.errno != errno.ENOENT:
                raise
        missing = takewhile(lambda folder: not self._exists(folder), with_above(path))
        for folder in reversed(list(missing)):
            self._create_folder(folder)
        return self._folders.open(path)

    def _exists(self, path: Path) -> bool:
        try:
            self._folders.open(path)
        except NoFolder as error:
            if error.errno != errno.ENOENT:
                raise
            return False
        return True

    def _create_folder(self, path: Path) -> None:
        above = self._folders.open(parent_of(path))
        try:
            self._folders.create(path)
        except FileExistsError:
            return  # somebody was faster; entering it tells whether it is a folder
        self._undo.append(partial(rollback.undo_create_folder, self._site, path))
        self._folders.set_mode(path, above.mode & 0o2777)
        self._touched.add(parent_of(path))

    def _remove_folder(self, path: Path) -> bool:
        try:
            mode = self._folders.open(path).mode & 0o7777
            self._undo.append(partial(rollback.undo_remove_folder, self._site, path, mode))
            self._folders.remove(path)
        except OSError as error:
            if error.errno not in _STAYS | NOT_A_FOLDER:
                raise
            return False
        self._touched.add(parent_of(path))
        self._touched.discard(path)
        return True

    def _sync_touched(self) -> None:
        for folder in sorted(self._touched):
            self._calls.fsync(self._folders.nearest(folder).fd)

    def _leave(self, step: Step, reason: Reason) -> None:
        self._left_alone.add(step.path)
        self.conflicts.append(Conflict(step.path, reason))

    def _is_barred(self, folder: Path) -> bool:
        return any(ancestor in self._left_alone for ancestor in with_above(folder))

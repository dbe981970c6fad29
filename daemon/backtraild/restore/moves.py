"""Moving files between the workspace and staging so that nothing unknown is ever overwritten or lost."""

import errno
import secrets

from msgspec import Struct, field

from backtraild.model import Entry
from backtraild.restore.calls import RENAME_EXCHANGE, RENAME_NOREPLACE, UNSUPPORTED, Calls
from backtraild.restore.content import Seen, is_untouched, look, same_content
from backtraild.restore.folders import Folders, NoFolder
from backtraild.restore.journal import Step
from backtraild.restore.plan import Conflict, Reason
from backtraild.restore.staging import Staging

KEPT_MARK = b".backtrail-kept-"
_NO_HARD_LINKS = UNSUPPORTED | {errno.EPERM, errno.EMLINK}


def place(calls: Calls, source: int, name: bytes, target: int, new_name: bytes) -> None:
    """Move something to where nothing is. Raises FileExistsError, and then nothing has changed."""
    try:
        calls.renameat2(source, name, target, new_name, RENAME_NOREPLACE)
        return
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
    try:
        calls.link(name, new_name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        _place_unlinked(calls, source, name, target, new_name)
    else:
        # A crash here leaves the same file under both names: recovery knows its content and drops one.
        calls.unlink(name, dir_fd=source)


def _place_unlinked(calls: Calls, source: int, name: bytes, target: int, new_name: bytes) -> None:
    """The last resort, for folders and where neither the flag nor hard links exist (FAT on macOS)."""
    try:
        calls.stat(new_name, dir_fd=target, follow_symlinks=False)
    except FileNotFoundError:
        calls.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)
    else:
        raise FileExistsError(errno.EEXIST, "File exists")


class Site(Struct):
    """Where a restore works: the workspace's folders and the staging folders beside them."""

    calls: Calls
    folders: Folders
    staging: Staging
    kept: list[Conflict] = field(default_factory=list)

    def holds(self, step: Step, name: bytes, entry: Entry | None, seen: Seen | None) -> bool:
        """Is what lies in staging under this name what the safety checkpoint holds?"""
        descriptor = self.staging.fd(step)
        if seen is not None:
            status = self.calls.stat(name, dir_fd=descriptor, follow_symlinks=False)
            if is_untouched(seen, status):
                return True
        found = self.staged(step, name)
        return found is not None and found == entry

    def staged(self, step: Step, name: bytes) -> Entry | None:
        """What lies in staging under this name; None if it is nothing that a checkpoint can hold."""
        try:
            found = look(self.calls, self.staging.fd(step), name)
        except PermissionError:
            return None  # a file that we may not read was taken from somebody by a race
        return found and found.entry

    def is_ours(self, step: Step, descriptor: int, name: bytes) -> bool:
        """Is this the very file that was staged for the step, wherever it is now?"""
        made = self.staging.made.get(step.number)
        try:
            return made is not None and made.ino == self._stat_ino(descriptor, name)
        except FileNotFoundError:
            return False

    def is_staged(self, step: Step, name: bytes) -> bool:
        """Is there anything in staging under this name?"""
        try:
            self._stat_ino(self.staging.fd(step), name)
        except FileNotFoundError:
            return False
        return True

    def _stat_ino(self, descriptor: int, name: bytes) -> int:
        return self.calls.stat(name, dir_fd=descriptor, follow_symlinks=False).st_ino

    def exchange(self, step: Step, name: bytes) -> None:
        """Swap what is in staging with what is at the step's path, in one step."""
        folder = self.folders.open(step.folder)
        self.calls.renameat2(self.staging.fd(step), name, folder.fd, step.name, RENAME_EXCHANGE)

    def put(self, step: Step, name: bytes) -> None:
        """Move what is in staging to the step's path. Raises FileExistsError."""
        folder = self.folders.open(step.folder)
        place(self.calls, self.staging.fd(step), name, folder.fd, step.name)

    def take(self, step: Step, name: bytes) -> None:
        """Move what is at the step's path into staging, under a free name. Raises FileNotFoundError."""
        folder = self.folders.open(step.folder)
        self.calls.rename(step.name, name, src_dir_fd=folder.fd, dst_dir_fd=self.staging.fd(step))

    def give_back(self, step: Step, name: bytes) -> None:
        """Somebody's file was taken by a race: put it back, or beside its path if that is taken again."""
        try:
            self.put(step, name)
        except FileExistsError:
            self.keep_aside(step, name)

    def swap_back(self, step: Step, name: bytes) -> None:
        """Somebody's file came out of an exchange: exchange again, and look at what comes out now."""
        try:
            self.exchange(step, name)
        except FileNotFoundError:
            self.give_back(step, name)
            return
        if not self.is_ours(step, self.staging.fd(step), name):
            self.keep_aside(step, name)

    def keep_aside(self, step: Step, name: bytes) -> None:
        """Put something that must not be lost next to the step's path, under a name that says so."""
        aside = step.name[:200] + KEPT_MARK + secrets.token_hex(4).encode()
        try:
            target = self.folders.open(step.folder).fd
        except NoFolder:
            target = self.folders.open(self.folders.nearest(step.folder).top).fd
        place(self.calls, self.staging.fd(step), name, target, aside)
        self.kept.append(Conflict(step.path, Reason.KEPT_ASIDE))

    def discard(self, step: Step, name: bytes) -> None:
        """Delete from staging what a checkpoint holds. Anything else was written by somebody and is kept."""
        descriptor = self.staging.fd(step)
        try:
            status = self.calls.stat(name, dir_fd=descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return
        if step.seen is None or not is_untouched(step.seen, status):
            entry = self.staged(step, name)
            if not (same_content(entry, step.old) or same_content(entry, step.new)):
                self.keep_aside(step, name)
                return
        self.staging.trash.drop(name, descriptor)

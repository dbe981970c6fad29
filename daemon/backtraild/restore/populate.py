"""Writing a whole checkpoint into an empty folder: nothing is replaced, so nothing needs a journal.

What was written can be taken away again: the very files, as long as nobody else has changed them.
"""

import errno
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

from backtrail import pathtext
from backtrail.errors import RestoreFailed
from backtraild.model import EXECUTABLE_MODE, SYMLINK_MODE, Blobs, Change, Entry, Path
from backtraild.restore.calls import NEW_FILE, NOT_A_FOLDER, OS, Calls
from backtraild.restore.content import Found, Seen, look, same_content, seen_of
from backtraild.restore.folders import Folder, Folders, MissingFolder, NoFolder, parent_of, with_all_above
from backtraild.restore.hostile import refuse_hostile
from backtraild.restore.staging import sync_file_system, with_executable
from backtraild.restore.supply import Supply

_STAYS = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.ENOENT}) | NOT_A_FOLDER


class Population:
    """The files of a checkpoint in a folder that was empty."""

    def __init__(self, root: str, calls: Calls = OS) -> None:
        self._root = root
        self._calls = calls
        self._made: dict[Path, Seen] = {}
        self._folders: list[Path] = []

    def write(
        self, files: Mapping[Path, Entry], blobs: Blobs, progress: Callable[[int], None] = lambda _: None
    ) -> None:
        """Write all files, durably, or none. Raises StoreDamaged or HostileTree before anything is written.

        `progress` is called with how many files were checked or written: in the end twice as many as there are.
        """
        refuse_hostile({path: Change(None, entry) for path, entry in files.items()})
        wanted, supply = sorted(files.items()), Supply(blobs)
        supply.verify(_counted(wanted, progress, 0))
        with Folders(self._calls, self._root) as folders:
            if self._calls.listdir(folders.root.fd):
                raise RestoreFailed(f"The folder {self._root!r} is not empty. Nothing was written.")
            try:
                self._write(folders, _counted(wanted, progress, len(wanted)), supply)
            except BaseException:
                with suppress(OSError):  # why it failed matters more than what could not be tidied up
                    self._take_away(folders)
                raise

    def recognise(self, files: Mapping[Path, Entry], blobs: Blobs) -> None:
        """After a crash: whatever is there as it would have been written, or a beginning of it, counts as written."""
        with Folders(self._calls, self._root) as folders:
            for path, entry in files.items():
                with suppress(FileNotFoundError, NoFolder):
                    name, folder = path.rpartition(b"/")[2], folders.open(parent_of(path))
                    found = look(self._calls, folder.fd, name)
                    if found is not None and _is_copy(found, entry, blobs):
                        self._made[path] = found.seen._replace(doubtful=True)
        self._folders = sorted(with_all_above(map(parent_of, files)))

    def take_away(self) -> None:
        """Remove what was written, but nothing that anybody has changed or added since."""
        with Folders(self._calls, self._root) as folders:
            try:
                self._take_away(folders)
            except OSError as error:
                raise RestoreFailed(
                    f"Not all that was written into {self._root!r} could be removed: {error.strerror}."
                ) from error

    def _write(self, folders: Folders, wanted: Iterable[tuple[Path, Entry]], supply: Supply) -> None:
        path: Path = b""
        try:
            for path, entry in wanted:
                name = path.rpartition(b"/")[2]
                folder = self._folder(folders, parent_of(path))
                self._made[path] = self._make(folder, name, entry, supply.parts(entry.oid))
            sync_file_system(self._calls, folders.root.fd, self._calls.sync)
        except OSError as error:
            raise RestoreFailed(
                f"The files could not be written into {self._root!r}: {pathtext.to_text(path)}: {error.strerror}.",
                "Look at free space and permissions there, then try again.",
            ) from error

    def _folder(self, folders: Folders, path: Path) -> Folder:
        """A folder, made where there is none; whoever may enter the one above may enter it."""
        with suppress(MissingFolder):
            return folders.open(path)
        for folder in sorted(with_all_above([path]).difference(self._folders)):
            above = folders.open(parent_of(folder)).mode
            folders.create(folder)
            self._folders.append(folder)
            folders.set_mode(folder, above & 0o2777)
        return folders.open(path)

    def _make(self, folder: Folder, name: bytes, entry: Entry, parts: Iterator[bytes]) -> Seen:
        if entry.mode == SYMLINK_MODE:
            self._calls.symlink(b"".join(parts), name, dir_fd=folder.fd)
            return seen_of(self._calls.stat(name, dir_fd=folder.fd, follow_symlinks=False), 0)
        descriptor = self._calls.open(name, NEW_FILE, 0o600, dir_fd=folder.fd)
        try:
            self._fill(descriptor, parts)
            mode = with_executable(folder.mode & 0o666, entry.mode == EXECUTABLE_MODE)
            self._calls.fchmod(descriptor, mode)
            return seen_of(self._calls.fstat(descriptor), 0)
        except BaseException:
            self._calls.unlink(name, dir_fd=folder.fd)  # a part of a file is not what was written
            raise
        finally:
            self._calls.close(descriptor)

    def _fill(self, descriptor: int, parts: Iterator[bytes]) -> None:
        for part in parts:
            rest = memoryview(part)
            while rest:
                rest = rest[self._calls.write(descriptor, rest) :]

    def _take_away(self, folders: Folders) -> None:
        for path, seen in self._made.items():
            with suppress(FileNotFoundError, NoFolder):
                name, folder = path.rpartition(b"/")[2], folders.open(parent_of(path))
                if seen_of(self._calls.stat(name, dir_fd=folder.fd, follow_symlinks=False), 0) == seen:
                    self._calls.unlink(name, dir_fd=folder.fd)
        for path in reversed(self._folders):
            try:
                folders.remove(path)
            except OSError as error:
                if error.errno not in _STAYS:
                    raise


def _is_copy(found: Found, entry: Entry, blobs: Blobs) -> bool:
    """Is this the content, or a part of it that a crash cut off?"""
    if same_content(found.entry, entry):
        return True
    if found.entry is None or SYMLINK_MODE in (found.entry.mode, entry.mode):
        return False
    left = found.seen.size
    digest = hashlib.sha1(b"blob %d\0" % left, usedforsecurity=False)
    for part in blobs.chunks(entry.oid):
        digest.update(part[:left])
        left -= min(left, len(part))
    return left == 0 and digest.digest() == found.entry.oid


def _counted(
    wanted: Iterable[tuple[Path, Entry]], progress: Callable[[int], None], before: int
) -> Iterator[tuple[Path, Entry]]:
    for done, each in enumerate(wanted, before + 1):
        yield each
        progress(done)

"""Folders of a workspace, entered through their parents' descriptors and never through a symlink."""

import errno
import os
import stat
import sys
from collections.abc import Container
from errno import EACCES, ELOOP, ENOENT, ENXIO, EPERM

from msgspec import Struct

from backtrail.errors import WorkspaceUnavailable
from backtrail.pathtext import to_text
from backtraild.ignore import IGNORE_FILES, FolderRules, TooManyWildcards
from backtraild.model import Path, is_dot_git, join_path

MAX_IGNORE_FILE = 1024 * 1024

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# What git takes for no ignore file at all: it is gone, a symlink, or something that can't be read,
_NO_IGNORE_FILE = (ENOENT, ELOOP, ENXIO)
# and one that may not be read. A file server that is out of breath says so too, but not twice.
_REFUSED = (EACCES, EPERM)
_ENCODING, _ERRORS = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Folder(Struct, frozen=True):
    """An open folder and the rules in force inside it."""

    path: Path
    descriptor: int
    rules: FolderRules


def open_root(root: bytes) -> int:
    """The workspace's own folder."""
    try:
        return os.open(root, _FOLDER_FLAGS)
    except OSError as error:
        raise unavailable(root, error) from error


def enter_root(root: bytes, rules: FolderRules, known: FolderRules | None = None) -> Folder:
    """The workspace's own folder, with the rules in force inside it, which are read unless they are known."""
    descriptor = open_root(root)
    try:
        return Folder(b"", descriptor, known or read_rules(descriptor, rules, IGNORE_FILES))
    except OSError as error:
        os.close(descriptor)
        raise unavailable(root, error) from error


def unavailable(root: bytes, error: OSError) -> WorkspaceUnavailable:
    """What to say where the workspace's own folder can't be looked into."""
    return WorkspaceUnavailable(
        f"The workspace's folder {to_text(root)} can't be opened: {error.strerror}.",
        "Nothing is recorded as deleted; it is captured again when it is back.",
    )


def open_folder(name: bytes, parent: int | None) -> int:
    """A subfolder, or one by its path; an OSError if it is none, or a symlink."""
    return os.open(name, _FOLDER_FLAGS, dir_fd=parent)


def descend(
    place: Folder, name: bytes, read: Container[bytes], known: FolderRules | None = None
) -> Folder | None:
    """A captured subfolder, with known rules, or with those of its ignore files that are to be read now."""
    if is_dot_git(name) or place.rules.excludes(name, True):
        return None
    try:
        descriptor = open_folder(name, place.descriptor)
    except OSError:
        return None
    try:
        rules = known or read_rules(descriptor, place.rules.child(name), read)
    except OSError:
        os.close(descriptor)
        return None
    return Folder(join_path(place.path, name), descriptor, rules)


def list_folder(descriptor: int) -> dict[bytes, "os.DirEntry[str]"]:
    """What is in a folder."""
    with os.scandir(descriptor) as entries:  # as os.fsencode does it, without the price of a call
        return {entry.name.encode(_ENCODING, _ERRORS): entry for entry in entries}


def read_rules(descriptor: int, rules: FolderRules, present: Container[bytes]) -> FolderRules:
    """The rules inside a folder, with those of its own ignore files.

    An OSError where one is there and its disk, or this process, is out of order: to go on without its rules would
    capture what its owner wants to keep out.
    """
    contents = [_read_small(name, descriptor) if name in present else None for name in IGNORE_FILES]
    try:
        return rules.with_files(*contents) if any(contents) else rules
    except TooManyWildcards as error:
        raise OSError(errno.EFBIG, f"its ignore files have {error}") from error


def _read_small(name: bytes, folder: int) -> bytes | None:
    """An ignore file's content; like git, none where it is a symlink or may not be read."""
    try:
        descriptor = _open_unless_refused_twice(name, folder)
    except OSError as error:
        if error.errno in _NO_IGNORE_FILE or error.errno in _REFUSED:
            return None
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        content = os.read(descriptor, MAX_IGNORE_FILE)
        # Of a longer file only whole lines count: the beginning of one could exclude far more than all of it.
        return content if len(content) < MAX_IGNORE_FILE else content[: content.rfind(b"\n") + 1]
    finally:
        os.close(descriptor)


def _open_unless_refused_twice(name: bytes, folder: int) -> int:
    try:
        return os.open(name, _FILE_FLAGS, dir_fd=folder)
    except OSError as error:
        if error.errno not in _REFUSED:
            raise
    return os.open(name, _FILE_FLAGS, dir_fd=folder)

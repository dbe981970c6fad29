"""The comparison of some folders of a workspace with their rows.

A folder is watched first, then its files are looked at and it is listed: what changes after that is told by the kernel.
In every stretch, the folders around one are watched before it, whoever compares them: one that is moved meanwhile tells
so itself, and all that is in it is looked at again.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

from backtraild import layout
from backtraild.ignorefiles import IGNORE_FILES
from backtraild.layout import Look
from backtraild.scouts import kernel
from backtraild.scouts.listings import Listings, Stretch

# The names of a folder's files, and how each of them looked.
Rows = tuple[list[bytes], list[Look]]
_NO_ROWS: Rows = [], []

_QUERY = "SELECT folder, bundle FROM files WHERE folder >= ? AND folder < ? ORDER BY folder, first"
_HAS_ROWS = "SELECT EXISTS (SELECT 1 FROM files WHERE folder = ?)"
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_RULING = frozenset(IGNORE_FILES)

_look_of = attrgetter("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino")


class Found(NamedTuple):
    """What there is in a stretch, as paths in the workspace."""

    folders: list[bytes]  # that are there, each after those around it
    numbers: list[int]  # of their watches
    ruling: list[bytes]  # those that have ignore files with rows
    differing: list[bytes]  # files that are not as they were, and folders that are not there
    others: list[bytes]  # what is in the folders and has no row: other folders, for the most part
    listings: list[tuple[bytes, bytes]]  # of folders that had to be listed


def look(
    root: bytes, connection: sqlite3.Connection, stretch: Stretch, queue: int, listings: Listings
) -> Found:
    """Look at the folders of a stretch, and at those that only lead to them. Changes the working directory.

    Raises OSError where a folder can't be watched, sqlite3.Error and ValueError where the table can't be read.
    """
    found = Found([], [], [], [], [], listings.made)
    rows = _rows(connection, stretch)
    for key in _with_parents(rows):
        try:
            _go_to(root + key[:-1])  # behind a slash, a symlink would be followed
            number = kernel.watch(queue, b".")
            # One that has its rows in another stretch is compared there.
            if key in rows or not connection.execute(_HAS_ROWS, (key,)).fetchone()[0]:
                _compare(key, *rows.get(key, _NO_ROWS), found, listings)
        except (_NotThere, FileNotFoundError):
            found.differing.append(key[1:-1])
            continue
        found.folders.append(key[1:-1])
        found.numbers.append(number)
    return found


class _NotThere(Exception):
    """A folder is gone, closed to us, or no folder any more."""


def _rows(connection: sqlite3.Connection, stretch: Stretch) -> dict[bytes, Rows]:
    folders: dict[bytes, Rows] = {}
    for key, bundle in connection.execute(_QUERY, stretch):
        names, looks = layout.looks(key, bundle)
        if key in folders:  # one with many files
            folders[key][0].extend(names)
            folders[key][1].extend(looks)
        else:
            folders[key] = names, looks
    return folders


def _with_parents(keys: Iterable[bytes]) -> Iterator[bytes]:
    """Each of the folders, after those around it."""
    met: set[bytes] = set()
    for key in keys:
        yield from _parents(key, met)
        met.add(key)
        yield key


def _parents(key: bytes, met: set[bytes]) -> list[bytes]:
    """The folders around one that were not met yet, the outermost first."""
    found: list[bytes] = []
    while key != b"/":
        key = key[: key.rindex(b"/", 0, -1) + 1]
        if key in met:
            break
        met.add(key)
        found.append(key)
    return found[::-1]


def _go_to(folder: bytes) -> None:
    """From there, names need no path. Its last name may not be a symlink; the others have a turn of their own."""
    try:
        descriptor = os.open(folder, _FOLDER_FLAGS)
    except OSError as error:
        raise _NotThere from error
    try:
        os.fchdir(descriptor)
    finally:
        os.close(descriptor)


def _compare(key: bytes, names: list[bytes], known: list[Look], found: Found, listings: Listings) -> None:
    """Take note of what is not as it was in the present folder."""
    differing = _differing(names, known)
    try:
        others = listings.others(key, names)
    except OSError as error:  # closed in this moment
        raise _NotThere from error
    if not _RULING.isdisjoint(names):
        found.ruling.append(key[1:-1])
    found.differing.extend([key[1:] + name for name in differing])
    found.others.extend([key[1:] + name for name in others])


def _differing(names: list[bytes], known: list[Look]) -> list[bytes]:
    """Those of the files that do not look as they did. Nearly always none: no step of Python is spent on each."""
    try:
        if list(map(_look_of, map(os.lstat, names))) == known:
            return []
    except OSError:  # one is gone
        pass
    return [name for name, look in zip(names, known, strict=True) if _now(name) != look]


def _now(name: bytes) -> Look | None:
    try:
        look: Look = _look_of(os.lstat(name))
    except OSError:
        return None
    return look

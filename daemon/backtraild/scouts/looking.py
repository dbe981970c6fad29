"""The comparison of some folders of a workspace with their rows.

A folder is watched first, then its files are looked at and it is listed: what changes after that is told by the kernel.
In every stretch, the folders around one are watched before it, whoever compares them: one that is moved meanwhile tells
so itself, and all that is in it is looked at again.

Nearly always a folder is as it was at an earlier start, and a digest of all that is to be seen of it proves that. Only
where it does not, files are compared one by one.
"""

import os
import sqlite3
from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

from backtraild import layout
from backtraild.ignorefiles import IGNORE_FILES, IN_THEIR_NAMES
from backtraild.layout import Look
from backtraild.scouts import kernel
from backtraild.scouts.listings import Listings, Stretch
from backtraild.scouts.sights import Sights

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


class _Visit(NamedTuple):
    """A folder that is watched, and is to be compared here."""

    key: bytes
    number: int  # of its watch
    bundles: list[bytes]


def look(
    root: bytes,
    connection: sqlite3.Connection,
    stretch: Stretch,
    queue: int,
    listings: Listings,
    sights: Sights,
) -> Found:
    """Look at the folders of a stretch, and at those that only lead to them. Changes the working directory.

    Raises OSError where a folder can't be watched, sqlite3.Error and ValueError where the table can't be read.
    """
    found = Found([], [], [], [], [], listings.made)
    try:
        _enter(root)  # paths are short from there, and lead to no other folder that may be put into its place
    except OSError:  # as where its disk is not mounted
        found.differing.append(b"")
        return found
    visits = _visits(connection, stretch, queue, found)
    for visit, seen in zip(visits, sights.of(list(map(_paths, visits))), strict=True):
        key, _, bundles = visit
        others = None if seen is None else listings.proven_others(key, seen, bundles)
        if others is None:
            _compare(root, visit, queue, seen, found, listings)
        elif others:
            found.others.extend([key[1:] + name for name in others])
        for bundle in bundles:
            # To have a look at its bytes is quicker than to take it apart.
            if IN_THEIR_NAMES in bundle and not _RULING.isdisjoint(layout.names_in(bundle)):
                found.ruling.append(key[1:-1])
                break
    return found


def _visits(connection: sqlite3.Connection, stretch: Stretch, queue: int, found: Found) -> list[_Visit]:
    """Have all folders watched; those that are to be compared here."""
    rows: dict[bytes, list[bytes]] = {}
    for key, bundle in connection.execute(_QUERY, stretch):
        if key in rows:
            rows[key].append(bundle)
        else:
            rows[key] = [bundle]
    visits: list[_Visit] = []
    for key in _with_parents(rows):
        folder = key[1:-1]
        number = kernel.watch(queue, folder or b".")
        if number is None:
            found.differing.append(folder)
            continue
        found.folders.append(folder)
        found.numbers.append(number)
        bundles = rows.get(key)
        if bundles is None and _has_rows_elsewhere(connection, stretch, key):
            continue  # and is compared there
        visits.append(_Visit(key, number, bundles or []))
    return visits


def _paths(visit: _Visit) -> list[bytes]:
    """Of a folder and its files that have rows."""
    ahead = visit.key[1:]
    paths = [ahead[:-1] or b"."]
    for bundle in visit.bundles:
        paths += layout.names_in(bundle, ahead)
    return paths


def _has_rows_elsewhere(connection: sqlite3.Connection, stretch: Stretch, key: bytes) -> bool:
    first, end = stretch
    return not first <= key < end and bool(connection.execute(_HAS_ROWS, (key,)).fetchone()[0])


def _with_parents(keys: Iterable[bytes]) -> list[bytes]:
    """The root, and each of the folders after those around it."""
    met: dict[bytes, None] = {b"/": None}
    for key in keys:
        if key in met:
            continue
        missing = [key]
        while (around := missing[-1][: missing[-1].rindex(b"/", 0, -1) + 1]) not in met:
            missing.append(around)
        met.update(dict.fromkeys(reversed(missing)))
    return list(met)


def _compare(
    root: bytes, visit: _Visit, queue: int, seen: memoryview | None, found: Found, listings: Listings
) -> None:
    """Take note of what is not as it was in a folder that is not proven to be."""
    folder = visit.key[1:]
    names, known = _rows(visit)
    try:
        _enter(root + visit.key[:-1])
        if kernel.watch(queue, b".") != visit.number:
            found.differing.append(folder[:-1])  # another one was put into its place
        differing = _differing(names, known)
        others = listings.others(visit.key, names, None if differing else seen, visit.bundles)
    except OSError:  # gone or closed in this moment
        found.differing.append(folder[:-1])
        return
    found.differing.extend([folder + name for name in differing])
    found.others.extend([folder + name for name in others])


def _enter(folder: bytes) -> None:
    """Go to a folder, unless a symlink is in its place: from there, names need no path, however long that is."""
    descriptor = os.open(folder, _FOLDER_FLAGS)
    try:
        os.fchdir(descriptor)
    finally:
        os.close(descriptor)


def _rows(visit: _Visit) -> tuple[list[bytes], list[Look]]:
    """The names of a folder's files, and how each of them looked."""
    opened = [layout.looks(visit.key, bundle) for bundle in visit.bundles]
    return [name for names, _ in opened for name in names], [look for _, looks in opened for look in looks]


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

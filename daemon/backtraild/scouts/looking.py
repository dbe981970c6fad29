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
from backtraild.ignorefiles import IGNORE_FILES
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
    """A folder that was looked at as a whole."""

    key: bytes
    number: int  # of its watch
    bundles: list[bytes]
    names: list[bytes]  # that have rows
    taken: slice | None  # its sights; None where they could not be taken


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
    visits = _visits(root, connection, stretch, queue, sights, found)
    sights.gather()
    for visit in visits:
        key, _, bundles, names, taken = visit
        proof = taken and sights.proof(taken, bundles)
        others = proof and listings.proven_others(key, proof)
        if others is None:
            _compare(root, visit, queue, proof, found, listings)
        elif others:
            found.others.extend([key[1:] + name for name in others])
        if not _RULING.isdisjoint(names):
            found.ruling.append(key[1:-1])
    return found


class _NotThere(Exception):
    """A folder is gone, closed to us, or no folder any more."""


def _visits(
    root: bytes,
    connection: sqlite3.Connection,
    stretch: Stretch,
    queue: int,
    sights: Sights,
    found: Found,
) -> list[_Visit]:
    """Go to all folders, have them watched, and look at the files of those that are to be compared here."""
    sights.clear()
    rows: dict[bytes, list[bytes]] = {}
    for key, bundle in connection.execute(_QUERY, stretch):
        rows.setdefault(key, []).append(bundle)
    visits: list[_Visit] = []
    for key in _with_parents(rows):
        try:
            number = _enter(root, key, queue)
        except _NotThere:
            found.differing.append(key[1:-1])
            continue
        found.folders.append(key[1:-1])
        found.numbers.append(number)
        bundles = rows.get(key)
        if bundles is None and _has_rows_elsewhere(connection, stretch, key):
            continue  # and is compared there
        names = [name for bundle in bundles or () for name in layout.names_in(bundle)]
        visits.append(_Visit(key, number, bundles or [], names, sights.take([b".", *names])))
    return visits


def _has_rows_elsewhere(connection: sqlite3.Connection, stretch: Stretch, key: bytes) -> bool:
    first, end = stretch
    return not first <= key < end and bool(connection.execute(_HAS_ROWS, (key,)).fetchone()[0])


def _with_parents(keys: Iterable[bytes]) -> list[bytes]:
    """Each of the folders, after those around it."""
    met: dict[bytes, None] = {}
    for key in keys:
        parents: list[bytes] = []
        around = key
        while around != b"/" and (around := around[: around.rindex(b"/", 0, -1) + 1]) not in met:
            parents.append(around)
        met.update(dict.fromkeys(reversed(parents)))
        met[key] = None
    return list(met)


def _enter(root: bytes, key: bytes, queue: int) -> int:
    """Go to a folder and have it watched; the number of the watch."""
    try:
        # Behind a slash, a symlink would be followed. The other names of the path have turns of their own.
        descriptor = os.open(root + key[:-1], _FOLDER_FLAGS)
    except OSError as error:
        raise _NotThere from error
    try:
        os.fchdir(descriptor)  # from there, names need no path
    finally:
        os.close(descriptor)
    try:
        return kernel.watch(queue, b".")
    except FileNotFoundError as error:
        raise _NotThere from error


def _compare(
    root: bytes, visit: _Visit, queue: int, proof: bytes | None, found: Found, listings: Listings
) -> None:
    """Take note of what is not as it was in a folder that is not proven to be."""
    folder = visit.key[1:]
    names, known = _rows(visit)
    try:
        if _enter(root, visit.key, queue) != visit.number:
            found.differing.append(folder[:-1])  # another one was put into its place
        differing = _differing(names, known)
        others = listings.others(visit.key, names, None if differing else proof)
    except (_NotThere, OSError):  # gone or closed in this moment
        found.differing.append(folder[:-1])
        return
    found.differing.extend([folder + name for name in differing])
    found.others.extend([folder + name for name in others])


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

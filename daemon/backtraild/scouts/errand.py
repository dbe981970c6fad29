"""What there is to be looked at: the workspaces that are watched, and stretches of their folders."""

import json
import os
import sqlite3
import stat
from itertools import pairwise
from typing import NamedTuple

from backtrail.pathtext import from_text
from backtrail.regular import read_regular
from backtraild.layout import TABLE, VERSION
from backtraild.mounts import dates_folders, file_system_type, is_remote
from backtraild.scouts.listings import Stretch

# What fewer bundles tell of is looked at in less time than a process takes to be of use.
LEAST_BUNDLES = 1_000
BUNDLES_IN_A_STRETCH = 128  # few enough that all scouts come to an end together
# All that is to be done has to fit into a pipe at once.
MOST_STRETCHES, MOST_ERRANDS = 400, 16

LARGEST_LIST = 1024 * 1024  # bytes: with more workspaces than fit in there, none is worth it

_EXTENT = (
    "SELECT (SELECT count(*) FROM files), (SELECT min(folder) FROM files), (SELECT max(folder) FROM files)"
)
# Bundles have numbers in the order in which they were first met, so these are about as far from each other. To count
# them off in their present order would take five times as long.
_BORDERS = "SELECT DISTINCT folder FROM files WHERE id % ? = 0 AND folder > ? ORDER BY folder"

_BYTES_A_BUNDLE = 100  # and more: most workspaces are known to be small without opening their tables
_SUFFIXES = ("", "-wal", "-shm", "-journal")


class Errand(NamedTuple):
    """A workspace to be looked at."""

    workspace: str
    root: bytes
    table: str
    stretches: list[Stretch]
    dates_folders: bool  # its file system does


def errands(registry: str, stores: str) -> list[Errand]:
    """For every workspace that is worth it, the smallest first, as its start need not wait for the others'.

    Raises OSError, ValueError and LookupError where the list of workspaces is not what it should be.
    """
    entries = json.loads(read_regular(registry, LARGEST_LIST))["workspaces"]
    found = [_errand(entry, stores) for entry in entries if entry["config"]["watcher"] != "poll"]
    worth_it = sorted((errand for errand in found if errand), key=lambda errand: len(errand.stretches))
    return worth_it[-MOST_ERRANDS:]


def open_table(path: str) -> sqlite3.Connection:
    """A connection for reading; an OSError or a ValueError where there is no such table."""
    for suffix in _SUFFIXES:
        _check_regular(path + suffix, must_exist=not suffix)
    connection = sqlite3.connect(f"{_uri(path)}?mode=ro", uri=True, isolation_level=None)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        connection.close()
        raise ValueError(f"a table of version {version}")
    return connection


def _errand(entry: dict[str, str], stores: str) -> Errand | None:
    """None where a look needs no help, or gets none."""
    root = from_text(entry["root"])
    store = os.fsdecode(from_text(entry["store"])) if entry["store"] else stores
    table = os.path.join(store, entry["id"], TABLE)
    try:
        stretches = _stretches(table)
    except (OSError, ValueError, sqlite3.Error):
        return None
    kind = file_system_type(root) if stretches else ""
    if not stretches or is_remote(kind):
        return None
    return Errand(entry["id"], root, table, stretches, dates_folders(kind))


def _stretches(table: str) -> list[Stretch]:
    if os.lstat(table).st_size < LEAST_BUNDLES * _BYTES_A_BUNDLE:
        return []
    connection = open_table(table)
    try:
        count, first, last = connection.execute(_EXTENT).fetchone()
        if count < LEAST_BUNDLES:
            return []
        step = max(BUNDLES_IN_A_STRETCH, -(-count // MOST_STRETCHES))
        borders = [key for (key,) in connection.execute(_BORDERS, (step, first))]
    finally:
        connection.close()
    # Where many others are gone by now, more are left than it should be.
    return list(pairwise([first, *borders[:: 1 + len(borders) // MOST_STRETCHES], last + b"\0"]))


def _check_regular(path: str, *, must_exist: bool) -> None:
    """SQLite would wait for the writer of a FIFO for ever."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        if must_exist:
            raise
        return
    if not stat.S_ISREG(mode):
        raise ValueError(f"{path} is no file")


def _uri(path: str) -> str:
    """SQLite's way of writing a path: with what has a meaning in it escaped."""
    return "file:" + "".join(f"%{ord(sign):02x}" if sign in "%?#" else sign for sign in path)

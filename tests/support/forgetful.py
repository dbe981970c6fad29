"""The daemon with memories so small that they are full at once: whatever grows all the same is a leak.

Run as a module it is that daemon.
"""

import sqlite3

from backtraild import __main__ as daemon
from backtraild.store import comparisons, packs, reader, repository
from backtraild.workspace import history, steps

SMALL = 64 * 1024

_connected = sqlite3.connect


def forget_quickly() -> None:
    """Of each folder, remember next to nothing of what was read or compared."""
    reader.TREE_CACHE_BYTES = reader.RECENT_BYTES = repository.DECODED_BYTES = SMALL
    packs.BASES_BYTES = comparisons.KEPT_BYTES = history.DIFFS_BYTES = steps.KEPT_BYTES = SMALL
    sqlite3.connect = _connected_forgetfully


def _connected_forgetfully(*arguments: object, **options: object) -> sqlite3.Connection:
    """SQLite keeps 2 MB of each table, which takes minutes to fill with what is said in sessions."""
    connection = _connected(*arguments, **options)
    connection.execute(f"PRAGMA cache_size = -{SMALL // 1024}")
    return connection


if __name__ == "__main__":
    forget_quickly()
    daemon.main()

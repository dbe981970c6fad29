"""A look at which checkpoints a table lists, while another thread may be writing to it."""

import sqlite3
from pathlib import Path


def listed_checkpoints(database: str) -> frozenset[int]:
    """The numbers of the checkpoints that are listed; none where the table can't be read, which is no loss."""
    try:
        # Readers and the one writer of a WAL database do not wait for each other.
        connection = sqlite3.connect(f"{Path(database).as_uri()}?mode=ro", uri=True, timeout=0.1)
    except sqlite3.Error:
        return frozenset()
    try:
        return frozenset(int(number) for (number,) in connection.execute("SELECT number FROM checkpoints"))
    except sqlite3.Error:
        return frozenset()
    finally:
        connection.close()

"""What stands where SQLite keeps its files, and is none of them."""

import contextlib
import os
import stat

SUFFIXES = ("", "-wal", "-shm", "-journal")


def discard_strangers(database: str) -> None:
    """Take away FIFOs, links and the like: SQLite would wait for a writer for ever, or write where a link leads."""
    for suffix in SUFFIXES:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            mode = os.lstat(database + suffix).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                os.unlink(database + suffix)

"""The version of a store's format: read before anything else, and brought up to date step by step.

1. Checkpoints with their records, pins, the table beside them.
2. Sessions and transcripts have refs of their own, and a record may carry the id of the request it was made for.
   What is in git stays as it is; the table is made again from it.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping

from backtrail.errors import StoreFailed, StoreTooNew
from backtrail.regular import read_regular
from backtraild import durable

CURRENT = 2


def version_of(folder: str) -> int:
    """The version of the store in a folder; that of a new one where there is none."""
    try:
        with _failing(folder):
            return max(1, int(read_regular(_file(folder), 4096)[:16]))
    except FileNotFoundError:
        return 1 if os.path.isdir(os.path.join(folder, "repo.git")) else CURRENT
    except (ValueError, IsADirectoryError):
        return 1  # damaged: every step can be taken again, and loses nothing


def upgrade(folder: str) -> tuple[int, int]:
    """Bring a store up to date, and tell from which version to which. A crash in between is gone on from."""
    found = version = version_of(folder)
    if version > CURRENT:
        raise StoreTooNew(
            f"The store in {folder} has version {version}; this Backtrail knows {CURRENT} and earlier ones.",
            "Use the Backtrail that made it, or a later one. Nothing was changed.",
        )
    with _failing(folder):
        while version < CURRENT:
            _STEPS[version](folder)
            version += 1
            _remember(folder, version)
        if not os.path.exists(_file(folder)):
            _remember(folder, version)
    return found, version


def _to_2(folder: str) -> None:
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        with contextlib.suppress(FileNotFoundError):
            durable.remove_file(os.path.join(folder, name))


_STEPS: Mapping[int, Callable[[str], None]] = {1: _to_2}


def _remember(folder: str, version: int) -> None:
    durable.replace_file(_file(folder), b"%d\n" % version)


@contextlib.contextmanager
def _failing(folder: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreFailed(
            f"Which version the store in {folder} has can't be read or written: {error.strerror or error}.",
            "Look at free space and permissions, then try again.",
        ) from error


def _file(folder: str) -> str:
    return os.path.join(folder, "format")

"""Unit files on disk: a manager that reads one at any moment finds the old one or the new one."""

import contextlib
import os
import tempfile
from pathlib import Path

from backtrail.units.answers import ServiceFailed


def put(file: Path, content: bytes) -> None:
    """Write a unit file, in one step and to stay."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".backtrail-", dir=file.parent)
        try:
            with open(descriptor, "wb") as target:
                target.write(content)
                target.flush()
                os.fsync(target.fileno())
            os.replace(temporary, file)
        except OSError:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise ServiceFailed(f"The unit file {file} can't be written: {error.strerror}.") from error


def remove(file: Path) -> None:
    """Remove a unit file, if it is there."""
    try:
        with contextlib.suppress(FileNotFoundError):
            file.unlink()
    except OSError as error:
        raise ServiceFailed(f"The unit file {file} can't be removed: {error.strerror}.") from error

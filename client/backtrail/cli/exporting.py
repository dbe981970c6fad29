"""A file that a command writes for its user: there as a whole, or not at all, and for nobody else to read."""

import os
from collections.abc import Iterable
from contextlib import suppress

from backtrail.cli.invocation import OutputFailed
from backtrail.cli.typed import text


def write_file(path: str, lines: Iterable[bytes]) -> tuple[int, int]:
    """Write lines into a file; how many lines and bytes there were."""
    target = os.path.realpath(os.path.expanduser(path))
    try:
        if os.path.exists(target) and not os.path.isfile(target):  # a pipe or a device is not for replacing
            return _written(os.open(target, os.O_WRONLY | os.O_CLOEXEC), lines)
        return _replaced(target, lines)
    except OSError as error:
        raise OutputFailed(
            f"{text(path)} could not be written: {error.strerror}.",
            "Name a file in a folder that you may write to.",
        ) from error


def _replaced(target: str, lines: Iterable[bytes]) -> tuple[int, int]:
    temporary = f"{target}.{os.getpid()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        counted = _written(descriptor, lines)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    return counted


def _written(descriptor: int, lines: Iterable[bytes]) -> tuple[int, int]:
    count = size = 0
    with open(descriptor, "wb") as file:
        for line in lines:
            size += file.write(line)
            count += 1
    return count, size

"""What the daemon says about its own work: lines of JSON in a file that is rotated, plain lines on stderr.

Names and numbers go into it, never what is in a file.
"""

import logging
import logging.handlers
import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from backtrail.paths import STARTED_BY_CLIENT

SIZE = 5 * 1024 * 1024
FILES = 3


class JsonLines(logging.Formatter):
    """One object a line. A file name with a line break in it can't pretend to be a line of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """One record as JSON."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "thread": record.threadName,
            "logger": record.name,
            "message": _text(record.getMessage()),
        }
        if record.exc_info:
            line["traceback"] = _text(self.formatException(record.exc_info))
        return msgspec.json.encode(line).decode()


class PlainLines(logging.Formatter):
    """For a person who reads along."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(threadName)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's own name)
        """One record on one line."""
        return _text(super().formatMessage(record)).replace("\n", "\\n")


def set_up(file: Path, *, verbose: bool) -> None:
    """Log into a file from now on, and to stderr if anybody may read along there."""
    to_file = logging.handlers.RotatingFileHandler(
        file, maxBytes=SIZE, backupCount=FILES - 1, encoding="utf-8"
    )
    to_file.setFormatter(JsonLines())
    to_stderr = logging.StreamHandler()
    to_stderr.setFormatter(PlainLines())
    level = logging.DEBUG if verbose else logging.INFO
    handlers: list[logging.Handler] = [to_file]
    if not os.environ.get(STARTED_BY_CLIENT):
        handlers.append(to_stderr)
    logging.basicConfig(level=level, handlers=handlers, force=True)


def _text(message: str) -> str:
    """File names that are not UTF-8 must not keep a line from being written."""
    return message.encode("utf-8", "backslashreplace").decode()

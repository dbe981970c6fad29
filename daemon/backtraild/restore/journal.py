"""What a restore is about to do, on disk before the first change, so that a crash can be finished or undone.

The first line announces the name of a staging folder, long before it is needed: whatever lies there is ours. A restore
appends a line that says where and for whom, one that lists every step, and one each time a generation of staged files
is complete and durable. Before that line the workspace holds only old content; after it, every staged file holds
something that somebody may want.

So one sync, that of the line about staged files, makes all of it durable. What a power cut takes of it before is not
missed: the folder that was announced holds copies at most, and is removed.
"""

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from msgspec import Struct

from backtrail import pathtext
from backtrail.errors import StoreFailed
from backtrail.regular import open_regular
from backtraild.model import STAGING_PREFIX, Entry, Path
from backtraild.restore.calls import OS, Calls
from backtraild.restore.content import Seen

_VERSION = 1
_NEXT = "next"


class Step(NamedTuple):
    """One change to one path. `area` is the index of the staging folder on the path's own file system."""

    number: int
    path: Path
    folder: Path
    name: bytes
    old: Entry | None
    new: Entry | None
    area: int
    seen: Seen | None = None


class Record(Struct, frozen=True):
    """The content of a journal."""

    root: bytes
    dev: int
    ino: int
    staging: bytes
    areas: tuple[Path, ...]
    folders: tuple[Path, ...]
    unchanged: int
    context: Mapping[str, Any]
    steps: tuple[Step, ...]
    staged: frozenset[int] = frozenset()


class Journal:
    """One journal file."""

    def __init__(self, path: str, calls: Calls = OS) -> None:
        self.path = path
        self.calls = calls

    def announce(self) -> bytes:
        """Put a new name for a staging folder in the place of what is there, durably; the name."""
        name = STAGING_PREFIX + secrets.token_hex(16).encode()
        line = json.dumps({"version": _VERSION, _NEXT: pathtext.to_text(name)})
        self.calls.save_journal(self.path, line.encode() + b"\n")
        return name

    def announced(self) -> bytes | None:
        """The name that the next restore's staging folder has; None if there is none."""
        announced, rest = _split(self._content())
        return None if rest else announced

    def begin(self, record: Record, *, durably: bool) -> None:
        """Write the record behind the name that was announced; if not durably, it is once something is staged."""
        self.calls.append_journal(self.path, _to_bytes(record), durably)

    def mark_staged(self, generation: int) -> None:
        """From here on this generation's staged files are exchanged with the workspace's."""
        # The leading newline ends a line that a crash left half written.
        self.calls.append_journal(self.path, b'\n{"staged":%d}\n' % generation, True)

    def read(self) -> Record | None:
        """The record, or None if there is none or it was never completely written."""
        try:
            return _from_bytes(_split(self._content())[1])
        except (ValueError, KeyError, TypeError, IndexError):
            return None

    def abandoned(self) -> bytes | None:
        """The staging folder of a restore that never came to move anything, as its record is not whole."""
        announced, rest = _split(self._content())
        return None if any(map(_staged, rest.split(b"\n"))) else announced

    def _content(self) -> bytes:
        try:
            with _failing(), open(open_regular(self.path, follow=False), "rb") as file:
                return file.read()
        except (FileNotFoundError, ValueError):
            return b""

    def renew(self) -> None:
        """The restore is over: announce the next one, which need not be where it is not possible, as on a full disk."""
        try:
            self.announce()
        except OSError:
            self.remove()

    def remove(self) -> None:
        """The restore is over. One more try on an error: a journal that stays would repeat the restore."""
        try:
            self.calls.remove_journal(self.path)
        except FileNotFoundError:
            return
        except OSError:
            try:
                self.calls.remove_journal(self.path)
            except FileNotFoundError:
                return

    def drop_half(self) -> None:
        """Remove what a crash left of an announcement."""
        with suppress(FileNotFoundError), _failing():
            os.unlink(f"{self.path}.tmp")

    def set_aside(self) -> None:
        """Have a damaged journal stand in nobody's way."""
        with suppress(FileNotFoundError), _failing():
            # It was whole when something was moved. It names nothing that may be deleted, but a person may still
            # read in it which staging folder belongs to it.
            os.replace(self.path, f"{self.path}.damaged")


@contextmanager
def _failing() -> Iterator[None]:
    """A journal that can't be looked at now may be one: nothing is done before that is known."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreFailed(
            f"Whether a restore was interrupted can't be told: {error.strerror or error}.",
            "Look at free space and permissions beside the store, then try again.",
        ) from error


def pending(journal: str) -> Mapping[str, Any] | None:
    """The caller's context of an unfinished restore; None if there is no such restore."""
    record = Journal(journal).read()
    return None if record is None else record.context


def forget(journal: str) -> None:
    """Leave nothing behind; the caller knows that there is no restore to finish."""
    with _failing():
        Journal(journal).remove()


def _split(content: bytes) -> tuple[bytes | None, bytes]:
    """The name that was announced, if one was, and what follows it."""
    line, _, rest = content.partition(b"\n")
    try:
        return pathtext.from_text(json.loads(line)[_NEXT]), rest
    except (ValueError, KeyError, TypeError):
        return None, content


def _to_bytes(record: Record) -> bytes:
    head = {
        "version": _VERSION,
        "root": pathtext.to_text(record.root),
        "dev": record.dev,
        "ino": record.ino,
        "staging": pathtext.to_text(record.staging),
        "areas": [pathtext.to_text(path) for path in record.areas],
        "folders": [pathtext.to_text(path) for path in record.folders],
        "unchanged": record.unchanged,
        "context": dict(record.context),
        "steps": len(record.steps),
    }
    steps = [
        (step.number, pathtext.to_text(step.path), _entry_text(step.old), _entry_text(step.new), step.area)
        for step in record.steps
    ]
    return json.dumps(head).encode() + b"\n" + json.dumps(steps).encode() + b"\n"


def _from_bytes(content: bytes) -> Record:
    first, second, *marks = content.split(b"\n")
    head = json.loads(first)
    rows = json.loads(second)
    if head["version"] != _VERSION or head["steps"] != len(rows):
        raise ValueError(head["version"])
    return Record(
        root=pathtext.from_text(head["root"]),
        dev=head["dev"],
        ino=head["ino"],
        staging=pathtext.from_text(head["staging"]),
        areas=tuple(pathtext.from_text(text) for text in head["areas"]),
        folders=tuple(pathtext.from_text(text) for text in head["folders"]),
        unchanged=head["unchanged"],
        context=head["context"],
        steps=tuple(_step(row) for row in rows),
        staged=frozenset(generation for mark in marks for generation in _staged(mark)),
    )


def _step(row: list[Any]) -> Step:
    number, text, old, new, area = row
    path = pathtext.from_text(text)
    folder, _, name = path.rpartition(b"/")
    return Step(number, path, folder, name, _entry(old), _entry(new), area)


def _staged(mark: bytes) -> list[int]:
    try:
        return [int(json.loads(mark)["staged"])]
    except (ValueError, KeyError, TypeError):
        return []  # half written: the generation was not complete


def _entry_text(entry: Entry | None) -> str | None:
    return None if entry is None else f"{entry.mode:o} {entry.oid.hex()}"


def _entry(text: str | None) -> Entry | None:
    if text is None:
        return None
    mode, oid = text.split(" ")
    return Entry(int(mode, 8), bytes.fromhex(oid))

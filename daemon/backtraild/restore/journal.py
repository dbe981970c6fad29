"""What a restore is about to do, on disk before the first change, so that a crash can be finished or undone.

The first line says where and in which staging folder, the second lists every step, and a line is appended
each time a generation of staged files is complete and durable. Before that line the workspace holds only old
content; after it, every staged file holds something that somebody may want.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from msgspec import Struct

from backtrail import pathtext
from backtrail.errors import StoreFailed
from backtrail.regular import open_regular
from backtraild.model import Entry, Path
from backtraild.restore.calls import OS, Calls
from backtraild.restore.content import Seen

_VERSION = 1


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
        self._calls = calls

    def begin(self, record: Record) -> None:
        """Make the record durable."""
        self._calls.save_journal(self.path, _to_bytes(record))

    def mark_staged(self, generation: int) -> None:
        """From here on this generation's staged files are exchanged with the workspace's."""
        # The leading newline ends a line that a crash left half written.
        self._calls.append_journal(self.path, b'\n{"staged":%d}\n' % generation)

    def read(self) -> Record | None:
        """The record, or None if there is none or it was never completely written."""
        try:
            with _failing(), open(open_regular(self.path, follow=False), "rb") as file:
                return _from_bytes(file.read())
        except (FileNotFoundError, ValueError, KeyError, TypeError, IndexError):
            return None

    def remove(self) -> None:
        """The restore is over. One more try on an error: a journal that stays would repeat the restore."""
        try:
            self._calls.remove_journal(self.path)
        except FileNotFoundError:
            return
        except OSError:
            try:
                self._calls.remove_journal(self.path)
            except FileNotFoundError:
                return

    def clear_away(self) -> None:
        """Set an unreadable journal aside and remove what a crash left of writing it."""
        with suppress(FileNotFoundError), _failing():
            os.unlink(f"{self.path}.tmp")
        with suppress(FileNotFoundError), _failing():
            # Writing is all or nothing, so this is damage. It names nothing that may be deleted, but a person
            # may still read in it which staging folder belongs to it.
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
    """The restore is over, and recorded."""
    with _failing():
        Journal(journal).remove()


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

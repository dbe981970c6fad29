"""Looks at a folder without a store: a Scanner with a clock and a sink that a test can hold."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from backtraild.ignore import FolderRules
from backtraild.model import ContentMoved, Limits, Placed
from backtraild.scan import Scanner, ScanResult
from backtraild.state import Database, Skips, StatTable


class Sink(dict[bytes, bytes]):
    """Content by id, in memory."""

    def has_blob(self, oid: bytes) -> bool:
        return oid in self

    def add_blob(self, content: bytes) -> bytes:
        oid = hashlib.sha1(b"blob %d\0" % len(content) + content).digest()
        self[oid] = content
        return oid

    def add_blob_stream(self, size: int, read: Callable[[], Iterator[bytes]]) -> bytes:
        content = b"".join(read())
        if len(content) != size:
            raise ContentMoved
        return self.add_blob(content)


class Looker:
    """Looks at a folder again and again with one table, at times that the test decides."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.root.mkdir()
        self._database = Database(str(folder / "state.db"))
        self.table = StatTable(self._database)
        self.skips = Skips(self._database)
        self.sink = Sink()

    def __enter__(self) -> "Looker":
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def look(
        self,
        at: int,
        dirty: Iterable[bytes] | None = None,
        limits: Limits | None = None,
        placed: Mapping[bytes, Placed] | None = None,
    ) -> ScanResult:
        """What is new at a time given in nanoseconds."""
        scanner = Scanner(
            os.fsencode(self.root),
            FolderRules.for_root(),
            self.table,
            self.skips,
            self.sink,
            limits or Limits(),
            clock=lambda: at,
            placed=placed,
        )
        with self._database.transaction():
            return scanner.everything() if dirty is None else scanner.paths(dirty)

    def content(self, path: bytes) -> bytes:
        """What is captured of a file."""
        row = self.table.get(path)
        assert row is not None, path
        return self.sink[row.oid]


class Os:
    """The `os` module as a single module of the daemon sees it, with some functions exchanged."""

    def __init__(self, **exchanged: Any) -> None:
        self.__dict__.update(exchanged)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

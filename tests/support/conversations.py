"""Conversations to test with: a store of them, messages from a seed, and what reading one did."""

import json
import os
import random
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from backtraild.model import ObjectId
from backtraild.state import Database
from backtraild.store import Store
from backtraild.transcripts import Recorded, Redactor, Transcripts

_WORDS = ["file", "test", "error", "value", "branch", "commit", "stream", "path", "line", "return", "import"]
_PLANTED = re.compile(rb"planted-[0-9]+")


class Censor:
    """A redactor with one simple rule, where a test is not about which secrets there are."""

    def line(self, raw: bytes) -> tuple[bytes, Counter[str]]:
        line, count = _PLANTED.subn(b"[REDACTED:planted]", raw)
        return line, Counter({"planted": count} if count else {})


@dataclass
class Room:
    """Conversations in a store of their own."""

    folder: Path
    store: Store
    database: Database
    transcripts: Transcripts

    @property
    def git_dir(self) -> Path:
        return self.folder / "repo.git"

    def lines(self, recorded: Recorded, key: str = "talk") -> list[bytes]:
        """What was recorded, checked by its hash."""
        return list(
            self.transcripts.read(key, recorded.generation, 0, recorded.message_count, recorded.content_hash)
        )

    def packs(self) -> list[Path]:
        return sorted((self.git_dir / "objects/pack").glob("*.pack"))

    def reopened(self, redactor: Redactor | None = None) -> "Room":
        """The same store, as the next daemon finds it."""
        self.database.close()
        return open_room(self.folder, redactor)


def open_room(folder: Path, redactor: Redactor | None = None) -> Room:
    """Begin or go on with a store of conversations."""
    os.makedirs(folder, exist_ok=True)
    store = Store.create(str(folder / "repo.git"))
    database = Database(str(folder / "state.db"))
    return Room(folder, store, database, Transcripts(store, redactor or Censor(), database))


def messages(seed: int, count: int, size: int = 200) -> list[bytes]:
    """Lines of about this length, all different."""
    print(f"seed {seed}")  # shown when the test fails
    source = random.Random(seed)
    return [
        json.dumps({"n": number, "text": " ".join(source.choices(_WORDS, k=max(1, size // 7)))}).encode()
        for number in range(count)
    ]


def numbered(count: int) -> list[bytes]:
    """Very many lines of about 330 bytes, quickly made and all different."""
    return [b'{"n": %d, "text": "%s"}' % (number, b"word " * 60) for number in range(count)]


def jsonl(lines: list[bytes]) -> bytes:
    """Lines as they stand in a transcript."""
    return b"".join(line + b"\n" for line in lines)


class CountingOs:
    """`os`, but the bytes that are read from files are counted."""

    def __init__(self) -> None:
        self.bytes = 0

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def pread(self, descriptor: int, length: int, offset: int) -> bytes:
        content = os.pread(descriptor, length, offset)
        self.bytes += len(content)
        return content


class ReadsCounted:
    """Notes which objects are read while it is entered."""

    def __init__(self, store: Store) -> None:
        self._objects = store.objects
        self.read: list[ObjectId] = []

    def __enter__(self) -> "ReadsCounted":
        whole = self._objects.read

        def read(oid: ObjectId, *arguments: object) -> bytes:
            self.read.append(oid)
            return whole(oid, *arguments)  # type: ignore[arg-type]

        self._objects.read = read  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        del self._objects.read

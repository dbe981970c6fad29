"""A store written by somebody who means harm: any tree, any record, any ref, straight into the repository."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from backtraild.model import EXECUTABLE_MODE, FILE_MODE, SYMLINK_MODE, TREE_MODE
from backtraild.store.objects import ObjectType, object_id
from backtraild.store.pack import PackWriter
from support.packs import nothing_known

Row = tuple[int | bytes, bytes, bytes]  # a mode (as a number, or as it shall stand there), a name, an id

__all__ = ["EXECUTABLE_MODE", "FILE_MODE", "SYMLINK_MODE", "TREE_MODE", "Forger", "Row"]

_WHO = "Backtrail <backtrail@localhost> 1790000000 +0000"
_RECORD = {"format": 1, "kind": "manual", "time": "2026-11-16T08:00:00Z"}


class Forger:
    """Writes into one bare repository whatever it is told to, a pack each time."""

    def __init__(self, git_dir: Path) -> None:
        self.git_dir = git_dir

    def blob(self, content: bytes = b"forged\n") -> bytes:
        """A file's content."""
        return self._write([(ObjectType.BLOB, content)])[0]

    def tree(self, *rows: Row) -> bytes:
        """A folder with these entries, in this order, whatever git thinks of them."""
        return self._write([(ObjectType.TREE, encoded(rows))])[0]

    def checkpoint(self, number: int, tree: bytes, **record: Any) -> str:
        """A checkpoint of a tree; `record` goes over what an honest one would say."""
        line = json.dumps({**_RECORD, "number": number, **record})
        return self.commit(number, tree.hex(), line)

    def commit(self, number: int, tree: str, line: str) -> str:
        """A checkpoint whose last line is any text."""
        content = f"tree {tree}\nauthor {_WHO}\ncommitter {_WHO}\n\nforged\n\nBacktrail: {line}\n"
        commit = self._write([(ObjectType.COMMIT, content.encode())])[0].hex()
        self.ref(f"refs/checkpoints/{number}", commit)
        return commit

    def named(self, name: str, tree: bytes) -> None:
        """A ref such as `refs/sessions/<key>` that leads to a tree."""
        content = f"tree {tree.hex()}\nauthor {_WHO}\ncommitter {_WHO}\n\nforged\n"
        self.ref(name, self._write([(ObjectType.COMMIT, content.encode())])[0].hex())

    def folders(self, rows: Mapping[str, bytes]) -> bytes:
        """A tree of files by their paths, at any depth."""
        files = {name: content for name, content in rows.items() if "/" not in name}
        deeper: dict[str, dict[str, bytes]] = {}
        for path, content in rows.items():
            name, _, rest = path.partition("/")
            if rest:
                deeper.setdefault(name, {})[rest] = content
        made: list[Row] = [(FILE_MODE, name.encode(), self.blob(content)) for name, content in files.items()]
        made += [(TREE_MODE, name.encode(), self.folders(inner)) for name, inner in deeper.items()]
        return self.tree(*made)

    def ref(self, name: str, commit: str) -> None:
        """A ref that holds this."""
        path = self.git_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(commit + "\n")

    def doubled(self, levels: int, *, leaf: bool = True) -> bytes:
        """A tree of few objects and many files, or only folders: each holds the next one twice."""
        contents = [encoded([(FILE_MODE, b"file", self.blob())] if leaf else [])]
        for _ in range(levels):
            tree = object_id(ObjectType.TREE, contents[-1])
            contents.append(encoded((TREE_MODE, name, tree) for name in (b"a", b"b")))
        return self._write([(ObjectType.TREE, content) for content in contents])[-1]

    def nested(self, levels: int, name: bytes = b"d") -> bytes:
        """Folder in folder, a file in each of them."""
        file: Row = (FILE_MODE, b"file", self.blob())
        contents = [encoded([file])]
        for _ in range(levels):
            tree = object_id(ObjectType.TREE, contents[-1])
            contents.append(encoded([(TREE_MODE, name, tree), file]))
        return self._write([(ObjectType.TREE, content) for content in contents])[-1]

    def _write(self, objects: list[tuple[ObjectType, bytes]]) -> list[bytes]:
        pack = PackWriter(os.path.join(self.git_dir, "objects", "pack"), nothing_known)
        try:
            ids = [pack.add(kind, content) for kind, content in objects]
            pack.finish()
        finally:
            pack.abandon()
        return ids


def encoded(rows: Iterable[Row]) -> bytes:
    """A tree object's content, unchecked."""
    return b"".join(
        (b"%o" % mode if isinstance(mode, int) else mode) + b" " + name + b"\0" + oid
        for mode, name, oid in rows
    )

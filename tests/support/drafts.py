"""Checkpoints in a line: a store, files in it, a draft with what does not matter filled in."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from backtrail.errors import StoreFailed
from backtraild.model import FILE_MODE, Change, Changes, Checkpoint, Entry, Kind
from backtraild.store import Draft, PackWriter, Store

MOMENT = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)


def draft(message: str = "a message", **fields: Any) -> Draft:
    """A manual checkpoint's draft."""
    return Draft(**{"kind": Kind.MANUAL, "message": message, "timestamp": MOMENT, **fields})


def _captured(files: Mapping[bytes, bytes | None], pack: PackWriter) -> Changes:
    """What a scan does: it hands content to the pack and gives the pack's failures a name."""
    try:
        return {
            path: Change(None, None if content is None else Entry(FILE_MODE, pack.add_blob(content)))
            for path, content in files.items()
        }
    except OSError as error:
        raise StoreFailed(
            f"Content could not be written: {error.strerror}.", "Look at free space."
        ) from error


def save(
    store: Store, files: Mapping[bytes, bytes | None], message: str = "a message", base: str | None = None
) -> Checkpoint:
    """A checkpoint with these contents over those of a tree; None deletes."""
    pack = store.new_pack()
    try:
        changes = _captured(files, pack)
        tree = store.write_tree(pack, base, changes)
        return store.commit(pack, tree, draft(message))
    finally:
        pack.abandon()

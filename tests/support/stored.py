"""A store as it lies on the disk: what it takes, and one with checkpoints of times gone by."""

import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from backtraild.model import Kind
from backtraild.store import Store, record
from backtraild.store.objects import EMPTY_TREE, ObjectType
from support.drafts import draft


def add_history(git_dir: Path, moments: Iterable[tuple[datetime, Kind]]) -> None:
    """Checkpoints of times gone by, all in one pack and with packed refs, as maintenance leaves them."""
    git_dir.parent.mkdir(parents=True, exist_ok=True)
    store = Store.create(str(git_dir))
    pack = store.new_pack()
    pack.add(ObjectType.TREE, b"")
    lines = []
    for number, (moment, kind) in enumerate(moments, 1):
        content = record.encode(number, EMPTY_TREE, draft(timestamp=moment, kind=kind))
        lines.append(f"{pack.add(ObjectType.COMMIT, content).hex()} refs/checkpoints/{number}\n")
    pack.finish()
    (git_dir / "packed-refs").write_text("# pack-refs with: sorted \n" + "".join(sorted(lines)))


def disk_bytes(folder: Path) -> int:
    """The sizes of all files in a folder, whoever may be adding, moving and removing some meanwhile."""
    sizes: dict[int, int] = {}  # by inode: one that is moved during the walk is met twice
    for top, _, names in os.walk(folder):
        for name in names:
            try:
                found = os.lstat(os.path.join(top, name))
            except FileNotFoundError:
                continue
            sizes[found.st_ino] = found.st_size
    return sum(sizes.values())

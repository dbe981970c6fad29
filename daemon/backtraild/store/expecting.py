"""What a save is about to read out of packs, asked for before it is needed.

A store is read where somebody works, which is all over it, and after an hour the system has forgotten those places. So
the disk looks for the folder's tree while the file is compared with its row, and for the old content while the new one
is read: each would take as long as the disk does, one after the other.
"""

from collections.abc import Collection

from backtraild.model import Path
from backtraild.store.objects import find_folder
from backtraild.store.reader import Objects

# Of more than this, most would have to wait for each other all the same.
MOST_PATHS = 8


def expect_folders(objects: Objects, tree: str, paths: Collection[Path]) -> None:
    """The folders of these paths are about to be changed in a tree."""
    if len(paths) > MOST_PATHS:
        return
    for path in paths:
        oid: bytes | None = bytes.fromhex(tree)
        for name in path.split(b"/")[:-1]:
            content = None if oid is None else objects.kept_tree(oid)
            if content is None:
                break
            oid = find_folder(content, name)
        if oid is not None and objects.kept_tree(oid) is None:
            objects.expect(oid)

"""Trees under names of their own, apart from checkpoints: a ref, a commit without parents, a tree.

What changes often and is read as a whole lives here, such as conversations. Replacing a tree replaces the commit;
the old one is not kept.
"""

import os
import time

from backtrail.errors import StoreDamaged, StoreFailed
from backtraild.model import Entry, ObjectId
from backtraild.store.objects import ObjectType, encode_tree
from backtraild.store.pack import PackWriter
from backtraild.store.packing import Packing
from backtraild.store.reader import Objects
from backtraild.store.record import AUTHOR
from backtraild.store.refs import Refs


class NamedTrees:
    """The trees of one repository that hang on refs such as `refs/transcripts/<key>`. Used by one thread."""

    def __init__(self, git_dir: str, objects: Objects, refs: Refs, packing: Packing) -> None:
        self._git_dir = git_dir
        self._objects = objects
        self._refs = refs
        self._packing = packing

    def names(self, folder: str) -> list[str]:
        """The last parts of all names directly below a folder of refs."""
        return self._refs.names(folder)

    def tree(self, name: str) -> ObjectId | None:
        """The tree that a name stands for; None if there is no such name."""
        commit_id = self._refs.read(name)
        if commit_id is None:
            if os.path.lexists(os.path.join(self._git_dir, name)):
                raise StoreDamaged(f"The reference {name} is damaged.", "Run `backtrail verify`.")
            return None
        content = self._objects.read(bytes.fromhex(commit_id), ObjectType.COMMIT)
        try:
            tree = bytes.fromhex(content[:45].decode().removeprefix("tree "))
        except ValueError as error:
            raise StoreDamaged(f"Commit {commit_id} in the store names no tree.") from error
        self._packing.use(tree)  # parts of it may go into the next one without being asked for
        return tree

    def new_pack(self, afresh: bool = False) -> PackWriter:
        """Where the objects of the next tree go. Those that the store holds are left out, unless written afresh."""
        return self._packing.begin(afresh=afresh)

    def add_tree(self, pack: PackWriter, entries: dict[bytes, Entry]) -> ObjectId:
        """Put one folder into a pack, and remember it: the next change is likely to be in it too."""
        content = encode_tree(entries)
        oid = pack.add(ObjectType.TREE, content)
        self._objects.keep_tree(oid, content)
        return oid

    def publish(self, name: str, pack: PackWriter, tree: ObjectId, message: str) -> None:
        """Let a name stand for a tree from now on; durable when this returns. A crash leaves the old one."""
        commit_id = pack.add(ObjectType.COMMIT, _commit(tree, message)).hex()
        self._packing.finish(pack)
        self._refs.write(name, commit_id)
        if self._refs.read(name) != commit_id:
            raise StoreFailed(f"The reference {name} was written but could not be read back.")

    def remove(self, name: str) -> None:
        """Let go of a name and of what it stands for; harmless if there is none."""
        self._refs.delete(name)


def _commit(tree: ObjectId, message: str) -> bytes:
    stamp = f"{AUTHOR} {max(0, int(time.time()))} +0000"
    return f"tree {tree.hex()}\nauthor {stamp}\ncommitter {stamp}\n\n{message}\n".encode()

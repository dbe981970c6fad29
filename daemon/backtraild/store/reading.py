"""Reading a repository in one thread while the one that it belongs to goes on writing."""

import os

from backtraild.store.failing import failing
from backtraild.store.named import NamedTrees
from backtraild.store.packing import Packing
from backtraild.store.reader import Objects
from backtraild.store.refs import Refs


class StoreReader:
    """The objects and the names of a repository, with nothing that writes or tidies up. Used by one thread."""

    def __init__(self, git_dir: str) -> None:
        with failing("opened"):
            self.objects = Objects(git_dir)
        packing = Packing(git_dir, os.path.join(git_dir, "objects", "pack"), self.objects)
        self.named = NamedTrees(git_dir, self.objects, Refs(git_dir), packing)

"""What a killed process left half-written in a store."""

import os

from backtraild import blanks
from backtraild.store import swapping

# Packs that upkeep was writing, and those of git and of earlier versions.
_UNFINISHED_PACK = "tmp_pack_"


def remove(git_dir: str) -> None:
    """Remove it; pledges are taken up before. The caller holds the daemon's lock, so nobody writes there."""
    for folder, _, names in os.walk(git_dir):
        for name in names:
            if name.startswith(_UNFINISHED_PACK) or name.endswith((".tmp", ".lock")):
                os.unlink(os.path.join(folder, name))
    for path in blanks.leftovers(git_dir):
        os.unlink(path)
    swapping.remove_leftovers(os.path.join(git_dir, "objects", "pack"))

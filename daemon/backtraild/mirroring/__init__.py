"""The checkpoints and conversations of a store, copied to a git repository elsewhere; the store is only read.

remote  which places something may be sent to, and how they are told without their passwords
git     running the git binary with its user's own credentials, but without hooks and questions
mirror  which refs go there, and what came of each
"""

from backtrail.errors import MirrorFailed
from backtraild.mirroring.mirror import Mirroring, mirror

__all__ = ["MirrorFailed", "Mirroring", "mirror"]

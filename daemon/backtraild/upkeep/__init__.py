"""The upkeep of a store on disk: few packs instead of many, each of them small, and space given back.

What reads or copies much runs in a process of its own, at the lowest priority; it writes temporary files and nothing
else. The thread that owns the store takes part at the beginning and at the end, briefly: `Store.begin_upkeep` and
`Store.end_upkeep`. So saves go on meanwhile, and a process that is killed costs its own time.
"""

from backtraild.store import Swept, Tidied, UpkeepFailed, Weighed
from backtraild.upkeep.plan import AT_ONCE
from backtraild.upkeep.running import Upkeep

__all__ = ["AT_ONCE", "Swept", "Tidied", "Upkeep", "UpkeepFailed", "Weighed"]

"""What coding agents tell their hooks, understood: (agent, payload) becomes one of a few things that happen.

Nothing here touches a disk or a daemon. Every field of a payload is optional, and what is not known is ignored.
"""

from backtrail.hooks.agents import AGENTS, ALIASES, understood
from backtrail.hooks.model import Told, What

__all__ = ["AGENTS", "ALIASES", "Told", "What", "understood"]

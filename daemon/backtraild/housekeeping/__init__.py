"""Keeping a store within its bounds and in order: when to let go, when to tidy. Decides here; others carry it out.

What somebody pinned, the newest checkpoint and what a restore needs are never let go. A full disk that others fill
costs no history: then only bytes that nothing needs are given back, and what age alone would take is let go.
"""

from backtraild.housekeeping.gate import Gate
from backtraild.housekeeping.housekeeper import Housekeeper

__all__ = ["Gate", "Housekeeper"]

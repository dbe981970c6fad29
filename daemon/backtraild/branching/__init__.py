"""A checkpoint as a branch of the user's own git repository; nothing else in that repository changes.

git         running the git binary, with nobody's hooks
repository  the repository that a folder belongs to, and which names are free in it
uncaptured  what HEAD has and no checkpoint could have
composing   the tree of the commit, from the checkpoint and from HEAD
branch      the commit made in a place of its own, carried over, and named last
"""

from backtrail.errors import BranchFailed, BranchRefused
from backtraild.branching.branch import BranchResult, branch

__all__ = ["BranchFailed", "BranchRefused", "BranchResult", "branch"]

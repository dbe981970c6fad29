"""The shadow repository: the only package that imports pygit2.

`Store` is its face: plain git underneath, one pack and one ref per checkpoint, nothing acknowledged
before it is durable.
"""

from backtraild.store import trees
from backtraild.store.describe import describe, measure, pairs, summary
from backtraild.store.objects import EMPTY_TREE
from backtraild.store.pack import PackWriter
from backtraild.store.patch import ContentSource, restrict, unified
from backtraild.store.pending import PendingContent
from backtraild.store.record import LISTED_CHANGES, Draft, check_message, check_request
from backtraild.store.repository import Store
from backtraild.store.verification import Problem, Verification
from backtraild.store.verification import verify as verify_repository

__all__ = [
    "EMPTY_TREE",
    "LISTED_CHANGES",
    "ContentSource",
    "Draft",
    "PackWriter",
    "PendingContent",
    "Problem",
    "Store",
    "Verification",
    "check_message",
    "check_request",
    "describe",
    "measure",
    "pairs",
    "restrict",
    "summary",
    "trees",
    "unified",
    "verify_repository",
]

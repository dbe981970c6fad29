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
from backtraild.store.record import LISTED_CHANGES, Draft, check_message
from backtraild.store.repository import Store

__all__ = [
    "EMPTY_TREE",
    "LISTED_CHANGES",
    "ContentSource",
    "Draft",
    "PackWriter",
    "PendingContent",
    "Store",
    "check_message",
    "describe",
    "measure",
    "pairs",
    "restrict",
    "summary",
    "trees",
    "unified",
]

"""The shadow repository: the only package that imports pygit2.

`Store` is its face: plain git underneath, one pack and one ref per checkpoint, nothing acknowledged
before it is durable.
"""

from backtraild.store import trees
from backtraild.store.comparisons import Comparisons
from backtraild.store.deflating import pack_blob
from backtraild.store.describe import describe, measure, pairs, summary
from backtraild.store.expecting import expect_folders
from backtraild.store.failing import failing
from backtraild.store.kept import Kept
from backtraild.store.mending import QUARANTINE, Mended
from backtraild.store.named import NamedTrees
from backtraild.store.objects import EMPTY_TREE, ObjectType, decode_tree, object_id
from backtraild.store.pack import PackWriter
from backtraild.store.patch import MAX_COMPARED_BYTES, ContentSource, Pair, edits, patch_text, restrict
from backtraild.store.pending import PendingContent
from backtraild.store.reader import Objects
from backtraild.store.reading import StoreReader
from backtraild.store.recent import RecentContent
from backtraild.store.record import LISTED_CHANGES, Draft, check_message, check_request
from backtraild.store.repository import Store
from backtraild.store.swapping import discard_upkeep
from backtraild.store.text import count_lines, is_binary
from backtraild.store.tidying import UPKEEP_PREFIX, Swept, Tidied, UpkeepFailed, Weighed
from backtraild.store.troubles import DiskFailed
from backtraild.store.verification import Problem, Verification
from backtraild.store.verification import verify as verify_repository

__all__ = [
    "EMPTY_TREE",
    "LISTED_CHANGES",
    "MAX_COMPARED_BYTES",
    "QUARANTINE",
    "UPKEEP_PREFIX",
    "Comparisons",
    "ContentSource",
    "DiskFailed",
    "Draft",
    "Kept",
    "Mended",
    "NamedTrees",
    "ObjectType",
    "Objects",
    "PackWriter",
    "Pair",
    "PendingContent",
    "Problem",
    "RecentContent",
    "Store",
    "StoreReader",
    "Swept",
    "Tidied",
    "UpkeepFailed",
    "Verification",
    "Weighed",
    "check_message",
    "check_request",
    "count_lines",
    "decode_tree",
    "describe",
    "discard_upkeep",
    "edits",
    "expect_folders",
    "failing",
    "is_binary",
    "measure",
    "object_id",
    "pack_blob",
    "pairs",
    "patch_text",
    "restrict",
    "summary",
    "trees",
    "verify_repository",
]

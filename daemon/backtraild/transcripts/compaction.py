"""Which conversation is to be compacted next: one that has changed since it was looked at last."""

import logging

from backtrail.errors import BacktrailError
from backtraild.model import ObjectId
from backtraild.transcripts.transcripts import Transcripts

_log = logging.getLogger(__name__)


class Compaction:
    """Goes through the conversations of one store, one at a time. Used by the thread that writes them."""

    def __init__(self, transcripts: Transcripts) -> None:
        self._transcripts = transcripts
        # Forgotten with the process: looking again at one that is in order costs a few small reads.
        self._seen: dict[str, ObjectId] = {}

    def one(self) -> bool:
        """Compact the next conversation that needs it; False if there is none, until another is recorded."""
        trees = self._transcripts.trees()
        for key, tree in trees.items():
            if self._seen.get(key) == tree:
                continue
            self._seen[key] = tree
            if self._is_compacted(key):
                self._seen[key] = self._transcripts.trees()[key]
                return True
        self._seen = {key: self._seen[key] for key in trees}
        return False

    def _is_compacted(self, key: str) -> bool:
        try:
            return bool(self._transcripts.compact(key))
        except BacktrailError as error:  # a damaged one stays as it is, and must not keep the others waiting
            _log.warning("conversation %s could not be compacted: %s", key, error.message)
            return False

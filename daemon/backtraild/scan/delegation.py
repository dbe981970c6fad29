"""The part of a look that is left to a deputy: what it was given, and what has come of that.

Nobody waits for the deputy before the end: while it has enough to do, files are read by the look itself. So both are
busy all the time, however slow or gone the deputy may be.
"""

import os
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import NamedTuple, Self

from msgspec.structs import replace

from backtraild.model import is_dot_git
from backtraild.scan.capture import WHOLE_UP_TO
from backtraild.scan.deputy import Answer, Deputy
from backtraild.scan.folders import Folder
from backtraild.state import Row

MOST_FILES = 64  # in a batch: enough that asking costs little, few enough that both end at the same time
MOST_BYTES = WHOLE_UP_TO  # what is larger is not read in one go

# A file's name, how it looks, and its row if there is one.
Differing = tuple[bytes, os.stat_result, Row | None]


class Batch(NamedTuple):
    """Files of one folder, whose descriptor is the batch's own; None where nobody has read them."""

    folder: Folder
    files: Sequence[Differing]
    answer: Answer | None


class Delegation:
    """The batches that were given away and not answered yet; used in a `with`, which lets go of them."""

    def __init__(self, deputy: Deputy | None) -> None:
        self._deputy = deputy
        self._pending: deque[Batch] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._pending:
            os.close(self._pending.popleft().folder.descriptor)

    def keep(self, place: Folder, files: Sequence[Differing], max_size: int) -> list[Differing]:
        """Give away what the deputy takes; what is left to be read here."""
        if self._deputy is None:
            return list(files)
        kept: list[Differing] = []
        batch: list[Differing] = []
        size, largest = 0, min(MOST_BYTES, max_size)
        for file in files:
            name, status, _ = file
            if not stat.S_ISREG(status.st_mode) or status.st_size > largest or is_dot_git(name):
                kept.append(file)
                continue
            if len(batch) == MOST_FILES or size + status.st_size > MOST_BYTES:
                kept += self._left_of(place, batch)
                batch, size = [], 0
            batch.append(file)
            size += status.st_size
        return kept + self._left_of(place, batch)

    def answered(self, *, wait: bool) -> Iterator[Batch]:
        """The batches that are done by now; if there is time to `wait`, all of them, whoever has to read them.

        The descriptor of each is closed once the next one is asked for.
        """
        while self._deputy is not None and self._pending:
            answer = self._deputy.answer(wait=wait)
            if answer is None and not wait:
                return
            batch = self._pending.popleft()
            try:
                yield batch._replace(answer=answer)
            finally:
                os.close(batch.folder.descriptor)

    def _left_of(self, place: Folder, batch: list[Differing]) -> list[Differing]:
        """Nothing, if the deputy takes the batch; else all of it."""
        if self._deputy is None or not batch or not self._deputy.has_time(len(batch)):
            return batch
        # Open here, too, for as long as somebody may have to look closer.
        try:
            own = os.dup(place.descriptor)
        except OSError:
            return batch
        if not self._deputy.order(own, [name for name, _, _ in batch]):
            os.close(own)
            return batch
        self._pending.append(Batch(replace(place, descriptor=own), batch, None))
        return []

"""Files that are not as their rows say: captured, by the look itself or by its deputy, or left out with a reason."""

import os
from collections.abc import Callable, Iterable, Mapping

from backtraild.model import BlobSink, ObjectId, Path, Placed, SkipReason, is_dot_git, join_path
from backtraild.scan.capture import Left, as_placed, capture
from backtraild.scan.delegation import Batch, Delegation, Differing
from backtraild.scan.findings import Findings
from backtraild.scan.folders import Folder
from backtraild.state import Stat, StatTable


class Taker:
    """Gives new content to a sink and the rows of its files to the table."""

    def __init__(
        self,
        table: StatTable,
        sink: BlobSink,
        found: Findings,
        delegation: Delegation,
        max_file_size: int,
        clock: Callable[[], int],
        placed: Mapping[Path, Placed],
        expect: Callable[[ObjectId], None],
    ) -> None:
        self._table = table
        self._sink = sink
        self._found = found
        self._delegation = delegation
        self._max_file_size = max_file_size
        self._clock = clock
        self._placed = placed
        self._expect = expect

    def take_all(self, place: Folder, files: Iterable[Differing]) -> None:
        """Capture these files of a folder; some of them perhaps not before `take_answers`."""
        here = files
        if not self._placed:  # what was put there need not be read
            here = self._delegation.keep(place, list(files), self._max_file_size)
        self._take_here(place, here)
        self.take_answers(wait=False)

    def take_answers(self, *, wait: bool) -> None:
        """Take note of files that the deputy has read, and look at those that it has not."""
        for batch in self._delegation.answered(wait=wait):
            self._take_here(batch.folder, self._taken_over(batch))
            self._found.check_limits()

    def take(
        self, place: Folder, name: bytes, path: Path, status: os.stat_result, known: Stat | None
    ) -> Stat | None:
        """Capture one file; the row to write, if that is another one."""
        self._found.count(status)
        if known is not None:
            self._expect(known.oid)
        if is_dot_git(name):
            captured: Stat | Left | None = Left(status.st_size, SkipReason.RESERVED_NAME)
        else:
            captured = self._known_row(path, status) or capture(
                name, place.descriptor, status, self._sink, self._max_file_size, self._clock
            )
        if isinstance(captured, Stat):
            self._found.note(path, None if known is None else known.entry, captured.entry)
            return captured
        if isinstance(captured, Left):
            self._found.skip(path, captured.size, captured.reason)
            if captured.look_again:
                self._found.unsettled.add(path)
            if captured.reason in (SkipReason.CHANGING, SkipReason.UNREADABLE):
                return None  # the content last captured stays: it is the best that is known of this file
        if known is not None:
            self._found.forget_files(place.path, {name: known})
        return None

    def _take_here(self, place: Folder, files: Iterable[Differing]) -> None:
        rows: list[tuple[bytes, Stat]] = []
        for name, status, known in files:
            path = join_path(place.path, name)
            row = self.take(place, name, path, status, None if known is None else Stat._make(known))
            if row is not None:
                rows.append((name, row))
        if rows:
            self._table.put(place.path, rows)

    def _taken_over(self, batch: Batch) -> list[Differing]:
        """Take what the deputy has made of a batch; what it has left."""
        place, files, answer = batch
        rows: list[tuple[bytes, Stat]] = []
        left: list[Differing] = []
        for file, captured in zip(files, answer or [None] * len(files), strict=True):
            if captured is None:
                left.append(file)
                continue
            name, status, known = file
            self._found.count(status)
            self._sink.add_packed(captured.content)
            row, old = captured.row, None if known is None else Stat._make(known).entry
            self._found.note(join_path(place.path, name), old, row.entry)
            rows.append((name, row))
        if rows:
            self._table.put(place.path, rows)
        return left

    def _known_row(self, path: Path, status: os.stat_result) -> Stat | None:
        """The row of a file that need not be read, because its content came out of the store and was put there."""
        placed = self._placed.get(path)
        row = None if placed is None else as_placed(placed, status)
        too_large = status.st_size > self._max_file_size
        return row if row is not None and not too_large and self._sink.has_blob(row.oid) else None

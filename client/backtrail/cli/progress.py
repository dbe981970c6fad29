"""A bar on a terminal while the daemon works on something long; nothing at all elsewhere."""

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple, TextIO

from backtrail.cli.characters import cut, visible, width
from backtrail.cli.render.cells import blocks
from backtrail.cli.terminal import Screen, columns_of
from backtrail.values import CheckpointEvent

_SECONDS_BETWEEN = 0.1
_LONGEST_BAR = 30
_SHORTEST_BAR = 6
_MARKS, _PLAIN_MARKS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"
_ERASED = "\r\x1b[K"


class Progress(NamedTuple):
    """How far a piece of work is, as an event tells it."""

    done: int
    total: int | None
    unit: str
    phase: str

    @classmethod
    def of(cls, event: CheckpointEvent) -> "Progress":
        """Whatever a daemon of another version sends must not end the command that waits for the work."""
        done, total = event.data.get("done"), event.data.get("total")
        return cls(
            done if isinstance(done, int) else 0,
            total if isinstance(total, int) and total > 0 else None,
            visible(str(event.data.get("unit", ""))),
            visible(str(event.data.get("phase", ""))),
        )


class ProgressBar:
    """One line that is drawn over and over, and gone at the end. Give it to a call as `on_progress`."""

    def __init__(self, stream: TextIO, label: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._label = label
        self._clock = clock
        self._draws = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._unicode = Screen.of(stream).unicode
        self._drawn: float | None = None
        self._moves = 0

    def __call__(self, event: CheckpointEvent) -> None:
        """Draw how far it is, unless that was done a moment ago."""
        now = self._clock()
        if not self._draws or (self._drawn is not None and now - self._drawn < _SECONDS_BETWEEN):
            return
        self._drawn = now
        self._moves += 1
        # The last column stays free: some terminals begin a new line as soon as it is filled.
        line = self._line(Progress.of(event), columns_of(self._stream) - 1)
        self._stream.write(_ERASED + line)
        self._stream.flush()

    def close(self) -> None:
        """Leave the line as if nothing had been there."""
        if self._drawn is not None:
            self._stream.write(_ERASED)
            self._stream.flush()
            self._drawn = None

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _line(self, progress: Progress, room: int) -> str:
        label = ": ".join(filter(None, (self._label, progress.phase)))
        if progress.total is None:
            marks = _MARKS if self._unicode else _PLAIN_MARKS
            return self._cut(
                f"{marks[self._moves % len(marks)]} {label}  {progress.done:,} {progress.unit}", room
            )
        share = min(progress.done / progress.total, 1.0)
        told = f"{share:>4.0%}  {progress.done:,} of {progress.total:,} {progress.unit}".rstrip()
        columns = min(_LONGEST_BAR, room - width(label) - width(told) - 4)
        if columns < _SHORTEST_BAR:
            return self._cut(f"{label}  {told.lstrip()}", room)
        bar = blocks(share, columns, self._unicode)
        return f"{label}  {bar}{' ' * (columns - len(bar))}  {told}"

    def _cut(self, line: str, room: int) -> str:
        return cut(line, max(room, 1), "…" if self._unicode else "~")

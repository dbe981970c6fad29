"""What comes in on stdin, read to its end but never for longer than there is time, nor into more memory than it may."""

import os
import select

from backtrail.wire.deadline import Deadline

_PIECE = 1 << 16


def read(descriptor: int, limit: int, deadline: Deadline) -> bytes | None:
    """All that came until the end, or until the deadline; None if it is more than the limit.

    What is beyond the limit is read, too, and forgotten: whoever writes must not find the pipe closed.
    """
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    pieces, size = [], 0
    while waiting.poll(deadline.milliseconds()) and (piece := os.read(descriptor, _PIECE)):
        size += len(piece)
        if size <= limit:
            pieces.append(piece)
        if deadline.passed():
            break
    return b"".join(pieces) if size <= limit else None

"""A process without a free descriptor, for the time of a block: what is open stays open, nothing else opens."""

import contextlib
import gc
import os
import resource
from collections.abc import Iterator


@contextlib.contextmanager
def none_left() -> Iterator[None]:
    """Every call that would open something fails with EMFILE."""
    gc.collect()  # what an earlier test left open must not be closed in the middle of the block
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

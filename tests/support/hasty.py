"""Housekeeping that does at once what else waits for its time."""

import contextlib
from collections.abc import Iterator
from unittest import mock

from backtraild import worker
from backtraild.housekeeping import housekeeper

AT_ONCE = {
    "BEGIN_SECONDS": 0.01,
    "CALM_SECONDS": 0.01,
    "CALM_FACTOR": 0.0,
    "GAVE_WAY_SECONDS": 0.01,
    "AGAIN_SECONDS": 0.1,
}
RETRY = 0.1


@contextlib.contextmanager
def hasty() -> Iterator[None]:
    """In this block, nothing waits; only the times are changed."""
    with mock.patch.multiple(housekeeper, **AT_ONCE), mock.patch.object(worker, "RETRY_SECONDS", RETRY):
        yield

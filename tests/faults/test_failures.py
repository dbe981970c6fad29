"""System calls that fail, some of all that `make torture` tries."""

import errno
from pathlib import Path

import pytest

from support import trials
from support.scenes import SCENES
from support.tracing import Fail
from torture.campaign import Unable

# One of each kind of trouble, each in another scene and at another place of it.
TRIED = [
    ("save", errno.ENOSPC, True, "write", 0.3),
    ("save", errno.EIO, False, "sync", 0.5),
    ("save", errno.EMFILE, False, "look", 0.2),
    ("restore", errno.EIO, True, "rename", 0.6),
    ("restore", errno.EROFS, True, "make", 0.0),
    ("start", errno.EMFILE, False, "open", 0.1),
]


@pytest.mark.parametrize(("name", "error", "lasting", "kind", "place"), TRIED)
def test_what_fails_is_told_and_the_next_save_holds_everything(
    tmp_path: Path, name: str, error: int, lasting: bool, kind: str, place: float
):
    """Never a false acknowledgement, never a half-done thing, never an error without a name."""
    plan = _picked(name, error, lasting, kind, place)
    print(name, plan)
    assert trials.failed(name, tmp_path, plan)["failures"] == 1


def _picked(name: str, error: int, lasting: bool, kind: str, place: float) -> Fail:
    assert name in SCENES
    try:
        calls = trials.recorded(name, reads=True).calls
    except Unable as reason:
        pytest.skip(str(reason))
    kinds = {call.number: call.kind for call in calls}
    plans = [plan for plan in trials.failures(name) if (plan.error, plan.lasting) == (error, lasting)]
    plans = [plan for plan in plans if kinds[plan.number] == kind]
    return plans[int(len(plans) * place)]

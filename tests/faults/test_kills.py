"""Kill -9, as often as a test run has time for; `make torture` goes on with the same rounds."""

from pathlib import Path

import pytest

from support import trials
from support.scenes import SCENES
from torture.campaign import Unable
from torture.campaigns import kills
from torture.short import rounds

# Of each scene one moment, spread over the whole: begun, half-way, nearly over.
MOMENTS = {name: (number * 7 + 3) % 20 / 20 for number, name in enumerate(SCENES)}


def test_random_work_that_is_killed_fifty_times_loses_nothing(tmp_path: Path):
    """An editor that saves, an agent that goes back, a machine that crashes: again and again in one folder."""
    counts = rounds(kills, "kill-work", range(2), tmp_path)
    assert counts["kills"] == 50
    assert counts["answers"] > 10


@pytest.mark.parametrize(("act", "call"), [("save", 12), ("restore", 60)])  # about half-way
def test_what_a_client_asked_for_is_done_once_though_the_daemon_is_killed_over_it(
    tmp_path: Path, act: str, call: int
):
    """It asks again under the same id, and the next daemon answers: nothing is lost and nothing is done twice."""
    assert rounds(kills, f"kill-served-{act}", [call], tmp_path)["kills"] == 1


@pytest.mark.parametrize("name", ["rewind", "start", "fork", "delete"])
def test_a_kill_in_the_middle_is_made_up_for_at_the_next_start(tmp_path: Path, name: str):
    """Whatever was under way is finished or undone, without anybody having to do anything."""
    try:
        plans = trials.kills(name)
    except Unable as reason:
        pytest.skip(str(reason))
    plan = plans[int(len(plans) * MOMENTS[name])]
    print(name, plan)
    assert trials.killed(name, tmp_path, plan)["kills"] == 1

"""The long run itself: it must go on where it ended, and nothing that went wrong may look as if it went well."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.watching import eventually
from torture import report
from torture.campaign import Campaign, Counts, Finished, Round, Unable
from torture.ledger import Entry, Ledger
from torture.running import Bounds, Course, Run, following, numbers

_EVERYTHING = Bounds()


def campaign(attempt: Callable[[Round], Counts], rounds: int = 3, seconds: float = 60.0) -> Campaign:
    return Campaign("tiny", "R0", "Everything holds.", rounds, attempt, seconds)


def run(tmp_path: Path, *campaigns: Campaign, bounds: Bounds = _EVERYTHING) -> Ledger:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    Run(campaigns, ledger, bounds, "v1").go(lambda: None)
    return ledger


def test_every_round_is_made_once_and_its_figures_come_together(tmp_path: Path) -> None:
    """The table promises sums and, for `most …`, the worst round."""
    tiny = campaign(lambda turn: {"kills": 2, "most seconds": turn.number})
    standing = run(tmp_path, tiny).standing(tiny)
    assert (standing.done, standing.wanted, standing.failures) == (3, 3, ())
    assert standing.counts == {"kills": 6, "most seconds": 2}


def test_a_second_run_goes_on_with_what_is_missing(tmp_path: Path) -> None:
    """A thousand rounds take hours: an interruption must not cost them."""

    def note(turn: Round) -> Counts:
        with (tmp_path / "made").open("a") as file:
            file.write(f"{turn.number}\n")
        return {}

    run(tmp_path, campaign(note), bounds=Bounds(jobs=1, rounds=0))  # for the table alone
    assert not (tmp_path / "made").exists()
    run(tmp_path, campaign(note), bounds=Bounds(jobs=1, rounds=2))
    run(tmp_path, campaign(note, rounds=4), bounds=Bounds(jobs=1))
    assert (tmp_path / "made").read_text().split() == ["0", "1", "2", "3"]


def test_a_line_that_was_cut_off_costs_that_round_alone(tmp_path: Path) -> None:
    """The run may be killed while it writes the ledger."""
    tiny = campaign(lambda _: {"made": 1})
    run(tmp_path, tiny)
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert Ledger(path).standing(tiny).done == 2
    assert run(tmp_path, tiny).standing(tiny).done == 3
    assert Ledger(path).standing(tiny).counts == {"made": 3}


def test_a_failure_is_kept_with_its_text_and_tried_again_by_the_next_run(tmp_path: Path) -> None:
    """Whoever mends it wants to see the reason, and then the same round pass."""

    def breaking(turn: Round) -> Counts:
        print("what was done before")
        assert turn.number != 1, "checkpoint 7 is lost"
        return {"made": 1}

    standing = run(tmp_path, campaign(breaking)).standing(campaign(breaking))
    text = report.document([standing], "a machine")
    assert [entry.number for entry in standing.failures] == [1]
    assert "checkpoint 7 is lost" in text
    assert "what was done before" in text
    assert "make torture ONLY=tiny ROUND=1" in text
    mended = campaign(lambda _: {"made": 1})
    standing = run(tmp_path, mended).standing(mended)
    assert (standing.passed, standing.failures, standing.counts) == (3, (), {"made": 3})


def test_a_round_that_hangs_is_ended_and_told_with_the_line_it_hung_at(tmp_path: Path) -> None:
    """One hang must not take the night, and must not pass for a success."""

    def hanging(turn: Round) -> Counts:
        signal.signal(signal.SIGALRM, lambda *_: None)
        while True:
            signal.pause()

    [failure] = run(tmp_path, campaign(hanging, 1, 0.2)).standing(campaign(hanging, 1)).failures
    assert "longer than 0.2 s" in failure.text
    assert "in hanging" in failure.text


def test_a_round_whose_process_dies_has_failed(tmp_path: Path) -> None:
    """A crash of the interpreter says nothing by itself."""

    def dying(turn: Round) -> Counts:
        os.kill(os.getpid(), signal.SIGSEGV)
        return {}

    [failure] = run(tmp_path, campaign(dying, 1)).standing(campaign(dying, 1)).failures
    assert "SIGSEGV" in failure.text


def test_the_end_of_a_matrix_ends_the_campaign(tmp_path: Path) -> None:
    """Not every campaign knows how many rounds there are."""

    def matrix(turn: Round) -> Counts:
        if turn.number >= 4:
            raise Finished
        return {"cells": 1}

    standing = run(tmp_path, campaign(matrix, 1000)).standing(campaign(matrix, 1000))
    assert (standing.done, standing.wanted, standing.counts) == (4, 4, {"cells": 4})
    assert not numbers(campaign(matrix, 1000), Ledger(tmp_path / "ledger.jsonl"), Bounds())


def test_what_this_machine_cannot_do_is_said_and_is_no_success(tmp_path: Path) -> None:
    """Without root half of the promises are not tried at all: the table must say so."""

    def unable(turn: Round) -> Counts:
        raise Unable("it needs root")

    standing = run(tmp_path, campaign(unable, 1000)).standing(campaign(unable, 1000))
    assert standing.done == 0
    assert "not possible here: it needs root" in report.verdict(standing)
    assert len(standing.unable) <= 2


def test_rounds_leave_no_process_no_folder_and_no_setting_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon that outlives its round disturbs all rounds after it."""
    monkeypatch.setenv("BACKTRAIL_HOME", "somebody's")
    monkeypatch.setattr("torture.isolation.GRACE", 0.1)

    def leaving(turn: Round) -> Counts:
        assert "BACKTRAIL_HOME" not in os.environ
        assert Path(os.environ["HOME"]) == turn.folder.parent
        (turn.folder / "closed").mkdir(mode=0o000)
        started = subprocess.Popen(["sleep", "600"], start_new_session=True)
        (tmp_path / "left").write_text(f"{started.pid} {turn.folder}")
        return {}

    [failure] = run(tmp_path, campaign(leaving, 1)).standing(campaign(leaving, 1)).failures
    pid, folder = (tmp_path / "left").read_text().split()
    assert "left a process behind: sleep 600" in failure.text
    assert not Path(f"/proc/{pid}").exists()
    assert not Path(folder).parent.exists()


def test_the_campaign_that_had_the_least_time_is_next(tmp_path: Path) -> None:
    """An hour is to hold some of each, also when one's rounds take ten times as long."""
    slow, quick = campaign(lambda _: {}), campaign(lambda _: {})
    courses = [Course(slow, numbers(slow, Ledger(tmp_path / "none"), Bounds()), spent=10.0)]
    courses.append(Course(quick, numbers(quick, Ledger(tmp_path / "none"), Bounds()), spent=9.0))
    assert following(courses, [], 0.0) is courses[1]
    courses[1].waiting.clear()
    assert following(courses, [], 0.0) is courses[0]


def test_after_the_time_is_over_no_round_begins(tmp_path: Path) -> None:
    """`MINUTES=60` is a promise to whoever waits."""
    tiny = campaign(lambda _: {})
    assert run(tmp_path, tiny, bounds=Bounds(seconds=0.0)).standing(tiny).done == 0


def test_beginning_anew_forgets_the_chosen_campaigns_alone(tmp_path: Path) -> None:
    """`ONLY=kill-save FRESH=1` must not throw away the hours of the others."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    for name in ("one", "two"):
        ledger.append(Entry(campaign=name, number=0, outcome="passed", seconds=1.0))
    ledger.forget(["one"])
    again = Ledger(tmp_path / "ledger.jsonl")
    assert again.find("one", 0) is None
    assert again.find("two", 0) is not None


@pytest.mark.skipif(not Path("/proc").exists(), reason="It looks into /proc.")
def test_ctrl_c_ends_the_rounds_under_way_lets_them_clear_up_and_keeps_the_others(tmp_path: Path) -> None:
    """People interrupt long runs, and a round may have mounted or locked something."""
    script = tmp_path / "interrupted.py"
    script.write_text(_INTERRUPTED.format(folder=str(tmp_path)))
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    process = subprocess.Popen([sys.executable, script], env=environment, stderr=subprocess.PIPE)
    eventually((tmp_path / "begun").exists)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) != 0
    assert process.stderr is not None
    assert b"KeyboardInterrupt" in process.stderr.read()
    process.stderr.close()
    assert (tmp_path / "cleared").exists()
    ledger = Ledger(tmp_path / "ledger.jsonl")
    assert [ledger.find("tiny", number) is not None for number in (0, 1)] == [True, False]


_INTERRUPTED = """
import pathlib, time
from torture.campaign import Campaign
from torture.ledger import Ledger
from torture.running import Bounds, Run

folder = pathlib.Path({folder!r})

def attempt(turn):
    if turn.number == 1:
        try:
            (folder / "begun").touch()
            time.sleep(600)
        finally:
            (folder / "cleared").touch()
    return {{}}

tiny = Campaign("tiny", "R0", "", 5, attempt)
Run([tiny], Ledger(folder / "ledger.jsonl"), Bounds(jobs=1)).go(lambda: None)
"""

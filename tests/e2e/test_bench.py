"""`make bench` on a small tree: real daemons, the real client, the real git."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.__main__ import chosen, publish, run
from bench.course import Course
from bench.effort import Effort
from bench.figure import Figure
from bench.figures import FIGURES
from bench.peers import Absent, Kind, Opener, Peer, PeerFailed
from bench.results import read
from bench.running import TIME_IS_UP, measured

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the machine is described from /proc")

EFFORT = Effort(saves=2, others_every=1, restores=1, many_files=20, many_restores=1, first_rounds=1)


class Fickle(Peer):
    """A peer that fails at its second snapshot."""

    snapshot_is = "fickle snapshot"

    def snapshot(self) -> None:
        if self.store.exists():
            raise PeerFailed("the disk is on fire")
        self.store.mkdir()

    def restore(self) -> None: ...


def missing(folder: Path) -> Opener:
    raise Absent("not installed; `apt-get install absent` installs it")


OTHERS = (Kind("fickle", lambda _: Opener("fickle 1", Fickle)), Kind("absent", missing))


@pytest.fixture
def course(tmp_path: Path) -> Iterator[Course]:
    """A run on 200 files."""
    course = Course(tmp_path / "bench", 200, [], OTHERS, EFFORT)
    yield course
    course.close()
    assert not (tmp_path / "bench").exists()


def test_figures_are_measured_through_the_client_told_at_once_and_kept(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Whoever changes the code wants to know what it costs, ours and the peer's from one run."""
    found = run(course, ["P1", "P3", "P5"], seconds=60)
    git = [figure for figure in found.figures if figure.bar is not None]
    assert [figure.name for figure in git] == ["P1", "P1", "P3", "P5", "P5"]
    assert all(figure.ours and figure.peer and figure.ratio for figure in git)
    assert [len(figure.ours.values) for figure in git if figure.ours] == [2, 2, 1, 1, 1]
    assert "fickle, with 200 files: the disk is on fire" in [f"{k}: {v}" for k, v in course.lost().items()]
    assert found.absent["absent"] == "not installed; `apt-get install absent` installs it"
    assert not course.main.ours.client.workspaces()[0].paused
    publish(found, tmp_path / "out")
    assert read(tmp_path / "out") == found
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "RESULTS.md",
        "results.json",
        "growth.svg",
    }
    said = capsys.readouterr()
    assert said.out.count("| P1 | save of one changed file") == 2
    assert "P5: " in said.err
    assert "load" in said.err


def test_a_figure_that_fails_is_a_row_and_the_others_go_on(course: Course):
    """Half an hour of measuring is not thrown away for one figure."""

    def failing(_: Course) -> Iterator[Figure]:
        yield Figure(name="A", what="the first half")
        raise OSError("out of disks")

    def working(_: Course) -> Iterator[Figure]:
        yield Figure(name="B", what="fine")

    said: list[str] = []
    rows = list(measured(course, {"A": failing, "B": working}, ["A", "B"], 60, said.append))
    assert [(row.name, row.what, row.failure) for row in rows] == [
        ("A", "the first half", ""),
        ("A", "", "failed: OSError: out of disks"),
        ("B", "fine", ""),
    ]
    assert rows[1].reached is False
    assert {row.files for row in rows} == {200}
    (late,) = measured(course, {"B": working}, ["B"], -1, said.append)
    assert late.failure == TIME_IS_UP


def test_figures_are_chosen_by_name(capsys: pytest.CaptureFixture[str]):
    """Nobody waits forty minutes to see one figure again."""
    assert chosen("p5 P1") == ["P1", "P5"]
    assert chosen("") == list(FIGURES)
    with pytest.raises(SystemExit, match="no figure is called p99"):
        chosen("P99")

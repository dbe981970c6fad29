"""`make bench` on a small tree: real daemons, the real client, the real git."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import headline
from bench.__main__ import chosen, publish, run
from bench.course import Course
from bench.effort import Effort
from bench.figure import Figure, faster
from bench.figures import FIGURES
from bench.peers import Absent, Kind, Opener, Peer, PeerFailed
from bench.results import Results, read
from bench.running import TIME_IS_UP, measured
from bench.sample import single

from support.sources import ROOT

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


def test_the_readme_shows_the_figures_that_were_measured_last():
    """A table that somebody typed is soon one that nobody measured."""
    found = read(ROOT / "bench")
    assert found is not None
    assert headline.table(found) in (ROOT / "README.md").read_text()


def test_a_table_takes_the_place_of_the_last_one(tmp_path: Path):
    """And of nothing else that the README says."""
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{headline.BEGIN}\nold\n{headline.END}\nafter\n")
    bar = faster(2)
    slow, quick = (
        Figure(name="P1", what="save", ours=single(ours), peer=single(1), bar=bar) for ours in (1, 0.25)
    )
    no_bar = Figure(name="P1", what="unwanted")
    found = Results(day="", machine="", versions={}, absent={}, figures=(slow, quick, no_bar), growth=())
    headline.put_into(readme, found)
    headline.put_into(readme, found)
    text = readme.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "unwanted" not in text
    assert [line.split("|")[-2].strip() for line in text.splitlines() if "P1" in line] == [
        "≥ 2 ×: **missed**",
        "≥ 2 ×: reached",
    ]

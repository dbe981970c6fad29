"""Progress of long work: often enough to be believed, never so often that it costs something."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild import meter, requests
from backtraild.meter import Meter
from backtraild.model import Progress
from support.serving import Site, desk


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Heard:
    """A meter with such a clock, and what it told."""

    def __init__(self) -> None:
        self.told: list[Progress] = []
        self.clock = Clock()
        self.meter = Meter("work-1", "/work", self.told.append, self.clock)


def test_quick_work_tells_nothing():
    """A save of one file is over before anybody could read how far it is."""
    heard = Heard()
    for _ in range(100):
        advance = heard.meter.begin("looking")
        heard.clock.now += 0.09
        advance(1)
    assert heard.told == []


def test_long_work_tells_ten_times_a_second_however_often_it_advances():
    """A scan passes ten thousand files a second; a terminal shows ten lines of them."""
    heard = Heard()
    advance = heard.meter.begin("looking", 50_000)
    for done in range(1, 50_001):
        heard.clock.now += 0.0001
        advance(done)
    assert 45 <= len(heard.told) <= 50
    assert heard.told[0] == Progress("work-1", "/work", None, "looking", heard.told[0].done, 50_000)
    assert [told.done for told in heard.told] == sorted(told.done for told in heard.told)


def test_more_than_expected_is_no_more_than_everything():
    """A folder has grown since the last look: a bar beyond its end would look broken."""
    heard = Heard()
    advance = heard.meter.begin("looking", 10)
    heard.clock.now += 1
    advance(12)
    assert (heard.told[0].done, heard.told[0].total) == (12, 12)


def test_work_belongs_to_a_request_only_while_it_is_done_for_it():
    """The daemon's own looks must not move the bar of whoever asked before."""
    heard = Heard()
    with heard.meter.on_behalf_of("7"):
        advance = heard.meter.begin("looking")
        heard.clock.now += 1
        advance(1)
    heard.clock.now += 1
    advance(2)
    assert [told.job for told in heard.told] == ["7", None]


def test_a_listener_that_fails_does_not_end_the_work(caplog: pytest.LogCaptureFixture):
    """A socket that is full must not cost a checkpoint."""

    def fail(_: Progress) -> None:
        raise BlockingIOError("full")

    clock = Clock()
    advance = Meter("work-1", "/work", fail, clock).begin("looking")
    clock.now += 1
    advance(1)
    assert "progress of work-1 could not be told" in caplog.text


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A workspace of thirty files in three folders, which tells of every step."""
    monkeypatch.setattr(meter, "INTERVAL_SECONDS", 0.0)
    for number in range(30):
        file = tmp_path / "work" / f"d{number % 3}" / f"{number}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}")
    with desk(tmp_path, auto_checkpoint=False) as at:
        yield at.watch(job="first")


def told(site: Site, phase: str) -> list[Progress]:
    found = [progress for progress in site.desk.progress if progress.phase == phase]
    assert {(progress.workspace, progress.root) for progress in found} <= {(site.id, str(site.root))}
    return found


def test_a_baseline_tells_how_many_files_it_has_seen(site: Site):
    """Nobody knows yet how many there are, and whoever asked for it waits."""
    found = told(site, "looking")
    assert {(progress.job, progress.total) for progress in found} == {("first", None)}
    assert [progress.done for progress in found] == sorted(progress.done for progress in found)
    assert found[-1].done == 30


def test_a_look_at_everything_tells_how_many_files_there_are(site: Site):
    """The last look counted them."""
    site.desk.progress.clear()
    site.write("d0/0", "changed")
    site.desk.service.submit(site.id, requests.save(full=True), job="second").result(10)
    assert {(progress.job, progress.total) for progress in told(site, "looking")} == {("second", 30)}
    assert told(site, "looking")[-1].done == 30


def test_a_restore_tells_how_far_it_is_until_its_end(site: Site):
    """The part of the wait that changes files is the one people watch."""
    for number in range(0, 30, 2):
        site.write(f"d{number % 3}/{number}", "changed")
    site.write("new")
    site.desk.progress.clear()
    site.desk.service.submit(site.id, requests.restore("1"), job="third").result(10)
    found = told(site, "writing")
    assert {(progress.job, progress.total) for progress in found} == {("third", found[-1].done)}
    assert [progress.done for progress in found] == list(range(1, len(found) + 1))
    assert len(found) == 15 * 3 + 1


def test_requests_of_others_and_the_daemons_own_work_carry_no_job(site: Site):
    """Only who asked gets the bar."""
    site.desk.progress.clear()
    site.desk.service.save(site.id, allow_empty=True, full=True)
    assert {progress.job for progress in told(site, "looking")} == {None}


def test_a_save_of_one_file_tells_nothing(tmp_path: Path):
    """What is over in a few milliseconds needs no bar."""
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = at.watch()
        site.write("a")
        at.service.save(site.id)
        at.service.restore(site.id, "1")
        assert at.progress == []

"""The thread of one workspace: what it does by the clock, and that everybody gets an answer."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from backtrail.errors import NothingToDo, WorkspaceUnavailable
from backtraild import courtesy, timers, worker
from backtraild.keeper import Keeper
from backtraild.model import Intent
from backtraild.worker import Worker
from backtraild.workspace.history import History
from support.serving import Site, desk
from support.watching import eventually


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with desk(tmp_path) as at:
        yield at.watch()


def test_what_no_event_tells_is_found_by_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A write through a hard link elsewhere is in a checkpoint at the latest after the next audit."""
    monkeypatch.setattr(timers, "AUDIT_SECONDS", 0.3)
    with desk(tmp_path) as at:
        site = at.watch()
        os.link(site.write("linked", "before"), tmp_path / "outside")
        at.service.save(site.id)
        site.wait_until_settled()
        (tmp_path / "outside").write_bytes(b"after!")
        made = site.wait_for("linked", b"after!")
        assert made.metadata == {"looked_at_everything": "it was time for a look at everything"}


def test_requests_of_many_threads_are_answered_one_by_one(site: Site):
    """The store has one writer; each of them gets a checkpoint of its own, or hears that there is none."""
    numbers: list[int] = []

    def work(name: int) -> None:
        for turn in range(10):
            site.write(f"{name}", f"{turn}")
            try:
                numbers.append(site.desk.service.save(site.id, Intent(message=f"{name} {turn}")).number)
            except NothingToDo:  # another one's save had it
                continue

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(numbers) == len(set(numbers))
    assert site.captured() == {b"%d" % number: ("file", b"9") for number in range(6)}


def test_an_idle_worker_makes_the_diff_of_its_last_checkpoint_ahead(site: Site):
    """Whoever hears of a checkpoint asks what is new in it, and finds the answer there."""
    first = site.desk.service.save(site.id, allow_empty=True)
    site.write("file")
    keeper = site.desk.service.ask(site.id, lambda keeper: keeper)
    made = site.desk.service.save(site.id, allow_empty=True)
    question = site.desk.service.get(site.id, str(made.parent)).id, made.id, (), True
    assert made.number > first.number
    eventually(lambda: question in keeper.workspace.history._diffs)


def test_nothing_is_made_ahead_while_somebody_waits(site: Site, monkeypatch: pytest.MonkeyPatch):
    """A question that may never come does not stand before one that has come."""
    done: list[str] = []
    plain = Worker._tend

    def tend(worker: Worker) -> float | None:
        """What a worker does of its own accord, and just now somebody asks for something: three times in a row."""
        if len(done) < 3:
            worker.ask(lambda _: done.append("answered"))
        return plain(worker)

    site.wait_until_settled()
    monkeypatch.setattr(Worker, "_tend", tend)
    monkeypatch.setattr(History, "foresee", lambda _: done.append("ahead"))
    site.desk.service.save(site.id, allow_empty=True)
    eventually(lambda: "ahead" in done)
    assert done[:4] == ["answered"] * 3 + ["ahead"]


def test_what_fails_ahead_of_any_question_fails_nothing_else(site: Site, monkeypatch: pytest.MonkeyPatch):
    """A folder must not be called degraded because of an answer that nobody asked for."""
    failed = threading.Event()

    def fail(_: History) -> None:
        failed.set()
        raise ZeroDivisionError

    monkeypatch.setattr(History, "foresee", fail)
    site.write("file")
    site.desk.service.save(site.id, allow_empty=True)
    assert failed.wait(10)
    assert site.desk.service.save(site.id, allow_empty=True)
    assert site.desk.service.status(site.id).reasons == ()


def test_an_answer_does_not_wait_until_others_are_told(site: Site, monkeypatch: pytest.MonkeyPatch):
    """Whoever saves waits for the checkpoint alone; its event is told a moment later, or to whoever asks for it."""
    monkeypatch.setattr(courtesy, "SECONDS", 0.3)
    log, before = site.desk.service.log, site.desk.heard
    site.write("a")
    made = site.desk.service.save(site.id)
    assert site.desk.heard == before
    assert log.since(before)[-1].checkpoint == made.number
    assert site.desk.events("checkpoint_created")[-1].checkpoint == made.number


def test_an_error_of_a_request_goes_to_whoever_asked_and_the_worker_works_on(site: Site):
    """One bad question must not cost the protection of the folder."""

    def bad(_: object) -> None:
        raise ZeroDivisionError("a question")

    with pytest.raises(ZeroDivisionError):
        site.desk.service.ask(site.id, bad)
    assert site.state == "watching"
    site.write("a", "1")
    site.wait_for("a", b"1")


def test_a_request_that_was_given_up_is_not_carried_out(site: Site):
    """A client that went away does not want its save any more."""
    worker = site.desk.service.worker(site.id)
    gate, done = threading.Event(), []
    held = worker.ask(lambda _: gate.wait(10))
    given_up = worker.ask(lambda _: done.append("done"))
    assert given_up.cancel()
    gate.set()
    assert held.result(10)
    site.newest()
    with pytest.raises(CancelledError):
        given_up.result(0)
    assert done == []


def test_an_answer_goes_before_the_workers_own_work_but_not_for_ever(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    """Who waits for an answer need not wait for the tidying up after it; who asks all day must not prevent that."""
    done: list[str] = []
    tend = worker.Worker._tend
    monkeypatch.setattr(courtesy, "SECONDS", 1.0)
    monkeypatch.setattr(courtesy, "MOST_SECONDS", 0.2)
    monkeypatch.setattr(worker.Worker, "_tend", lambda self: done.append("tended") or tend(self))

    def ask() -> None:
        site.desk.service.ask(site.id, lambda _: done.append("answered"))

    site.wait_until_settled()
    eventually(lambda: ask() or done[-2:] == ["answered", "answered"])
    eventually(lambda: ask() or done.count("tended") >= 2)


def test_what_the_answer_did_not_wait_for_is_synced_after_it(site: Site):
    """The index of a checkpoint's pack: made again after a power cut, but not for hours of checkpoints.

    So are the files swept that a restore has replaced.
    """
    site.write("file", "content")
    site.desk.service.save(site.id)
    site.write("file", "another")
    site.desk.service.save(site.id)
    site.desk.service.restore(site.id, "@~1")
    packing = site.desk.service.ask(site.id, lambda keeper: keeper.workspace.store._packing)
    eventually(lambda: packing._unsynced == [])
    eventually(lambda: os.listdir(site.git_dir / "gone") == [])


def test_who_asks_during_an_attempt_that_fails_is_not_answered_with_its_failure(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    """The disk is back by then: the attempt began before anybody asked, and the next one would do."""
    begun, asked = threading.Event(), threading.Event()
    reopened = worker.Worker._reopened

    def fail_at_first(self: worker.Worker) -> Keeper:
        if begun.is_set():
            return reopened(self)
        self._close()
        begun.set()
        asked.wait(10)
        raise WorkspaceUnavailable("The disk is out of order.")

    monkeypatch.setattr(worker, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(worker.Worker, "_reopened", fail_at_first)
    away = site.root.rename(site.root.with_name("away"))
    with pytest.raises(WorkspaceUnavailable):
        site.desk.service.save(site.id)
    away.rename(site.root)
    assert begun.wait(10)
    answer = site.desk.service.submit(site.id, lambda keeper: keeper.workspace.checkpoints)
    asked.set()
    assert answer.result(10) > 0

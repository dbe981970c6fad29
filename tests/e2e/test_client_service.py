"""`CheckpointService`: the fewest methods, and handlers that are called."""

import logging
import threading

import pytest

from backtrail import CheckpointConfig, CheckpointService, UnknownCheckpoint
from support.clients import home_in
from support.watching import eventually


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One daemon for all tests of this module."""
    with home_in(tmp_path_factory.mktemp("service")) as found:
        yield found


@pytest.fixture
def home(shared, monkeypatch):
    """The service finds its daemon through the environment."""
    monkeypatch.setenv("BACKTRAIL_HOME", str(shared.path))
    return shared


@pytest.fixture
def folder(home, tmp_path):
    """A folder with one file."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("one\n")
    return tmp_path / "work"


_CALM = CheckpointConfig(auto_checkpoint=False, max_checkpoints=50, exclude_patterns=["*.log"])


def test_a_checkpoint_is_saved_compared_restored_and_deleted(folder):
    """All methods, as they are named in the documentation."""
    with CheckpointService(str(folder), config=_CALM) as service:
        first = service.save("first", metadata={"step": 1})
        (folder / "a.txt").write_text("two\n")
        (folder / "noise.log").write_text("noise")
        second = service.save("second")
        assert (first.message, first.metadata["step"]) == ("first", 1)
        assert [str(change) for change in second.files_changed] == ["a.txt"]
        assert service.diff(first.id, second.id).modified_files == ["a.txt"]
        assert service.diff(second.id).modified_files == []
        assert service.get(second.id) == second
        service.restore(first.id)
        assert (folder / "a.txt").read_text() == "one\n"
        assert {"first", "second"} <= {each.message for each in service.list()}
        assert service.delete(second.id).id == second.id
        with pytest.raises(UnknownCheckpoint):
            service.get(second.id)


def test_the_storage_folder_is_where_the_caller_wants_it(folder, tmp_path):
    """On another disk, for instance."""
    with CheckpointService(folder, tmp_path / "storage", _CALM) as service:
        service.save("there")
    assert len(list((tmp_path / "storage").glob("*/repo.git"))) == 1


def test_a_method_before_initialize_does_what_initialize_does(folder):
    """Forgetting it is no reason to fail."""
    service = CheckpointService(folder, config=_CALM)
    try:
        assert service.list()[-1].kind == "baseline"
    finally:
        service.close()


def test_handlers_are_called_for_their_events_in_one_thread(folder):
    """In order, and not in the thread that saves."""
    with CheckpointService(folder, config=_CALM) as service:
        created, everything, threads = [], [], set()
        service.on("checkpoint_created", lambda event: created.append(event.checkpoint))
        service.on(
            "*", lambda event: (everything.append(event.type), threads.add(threading.current_thread()))
        )
        saved = [service.save(str(number)).number for number in range(3)]
        service.delete(saved[0])
        eventually(lambda: len(everything) == 4)
        assert created == saved
        assert everything == ["checkpoint_created"] * 3 + ["checkpoint_deleted"]
        assert len(threads) == 1
        assert threading.current_thread() not in threads


def test_a_handler_that_fails_is_logged_and_called_again(folder, caplog):
    """One bad handler must not silence the others."""
    with CheckpointService(folder, config=_CALM) as service:
        heard = []

        def fail(event):
            heard.append(event.seq)
            raise ValueError("a mistake of the handler")

        service.on("checkpoint_created", fail)
        with caplog.at_level(logging.ERROR):
            service.save()
            service.save()
            eventually(lambda: len(heard) == 2)
    assert "a mistake of the handler" in caplog.text


def test_closing_ends_the_thread_also_from_within_a_handler(folder):
    """Programs that end must not hang, and handlers may decide to end."""
    service = CheckpointService(folder, config=_CALM)
    closed = threading.Event()
    service.on("*", lambda _: (service.close(), closed.set()))
    service.save()
    assert closed.wait(20)
    eventually(lambda: "backtrail events" not in [thread.name for thread in threading.enumerate()])


def test_handlers_hear_what_happens_after_the_daemon_was_killed(folder, home):
    """A service lives for days; a daemon may not."""
    with CheckpointService(folder, config=_CALM) as service:
        created = []
        service.on("checkpoint_created", lambda event: created.append(event.checkpoint))
        first = service.save().number
        home.kill()
        second = service.save().number
        eventually(lambda: created == [first, second])

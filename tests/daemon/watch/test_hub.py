"""Choosing how to watch, and the two other ways: polling, and watchdog's own observer."""

import errno
import os
import sys
import threading
from pathlib import Path

import pytest

from backtraild.watch import Dirt, Hub, hub, polling
from backtraild.watch.inotify import InotifyHub
from backtraild.watch.polling import PollingWatcher
from backtraild.watch.stock import StockWatcher
from support.live import live
from support.watching import eventually

linux = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


@pytest.fixture
def made(tmp_path: Path):
    """A hub."""
    found = Hub(str(tmp_path / "cookies"))
    yield found
    found.close()


def kind(made: Hub, root: Path, wanted: str = "auto") -> str:
    """How a folder would be watched."""
    watcher = made.watcher(os.fsencode(root), Dirt(), wanted)
    watcher.close()
    return watcher.kind


@linux
def test_a_local_folder_is_watched_with_inotify_and_on_request_polled(made: Hub, tmp_path: Path):
    """Some know better than any detection that their file system tells nothing."""
    assert kind(made, tmp_path) == "inotify"
    assert kind(made, tmp_path, "poll") == "poll"


def test_a_remote_folder_is_polled(made: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A colleague's change on the server raises no event here."""
    monkeypatch.setattr(hub, "file_system_type", {os.fsencode(tmp_path): "nfs4"}.__getitem__)
    assert kind(made, tmp_path) == "poll"


@linux
def test_a_system_whose_events_do_not_come_back_is_polled_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Some sandboxes accept watches and report nothing: only an event of our own shows that."""
    monkeypatch.setattr(hub, "COOKIE_SECONDS", 0.05)
    monkeypatch.setattr(InotifyHub, "handle_event", lambda *_: None)
    monkeypatch.setattr(polling, "INTERVAL", 0.1)
    with live(tmp_path) as at:
        assert at.state == "degraded"
        assert "inotify does not report changes on this system" in at.reasons
        (at.root / "file").write_text("found by looking")
        at.wait_for_disk()


@linux
def test_a_start_leaves_no_thread_behind_when_inotify_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The reader would read for nobody."""
    monkeypatch.setattr(hub, "COOKIE_SECONDS", 0.05)
    monkeypatch.setattr(InotifyHub, "handle_event", lambda *_: None)
    before = threading.active_count()
    Hub(str(tmp_path / "cookies")).close()
    assert threading.active_count() == before


def test_polling_finds_changes_and_a_save_does_not_wait_for_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What was written before a save is in it, however the folder is watched."""
    monkeypatch.setattr(polling, "INTERVAL", 0.2)
    with live(tmp_path, watcher="poll") as at:
        (at.root / "deep/er").mkdir(parents=True)
        (at.root / "deep/er/file").write_text("found by looking")
        at.wait_for_disk()
        for number in range(10):
            (at.root / "file").write_text(f"{number}")
            assert at.save().tree == at.disk()
        eventually(lambda: at.state == "watching")  # it may just be looking


def test_a_polled_folder_that_rests_gets_no_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Looking is not changing."""
    monkeypatch.setattr(polling, "INTERVAL", 0.02)
    looks = []
    mark = Dirt.mark_everything
    monkeypatch.setattr(
        Dirt, "mark_everything", lambda self, reason: (looks.append(reason), mark(self, reason))
    )
    with live(tmp_path, watcher="poll") as at:
        (at.root / "file").write_text("1")
        at.wait_for_disk()
        number, looked = at.newest().number, len(looks)
        eventually(lambda: len(looks) > looked + 10)
        assert at.newest().number == number


def test_polling_ends_at_once_when_it_is_closed():
    """Stopping the daemon must not wait for an interval."""
    watcher = PollingWatcher(Dirt(), interval=3600)
    watcher.close()
    assert not watcher._thread.is_alive()


def test_a_polled_folder_that_can_not_be_read_counts_as_unwatched_until_it_can_or_is_gone():
    """Also there, `status` says what is not captured."""
    watcher = PollingWatcher(Dirt(), interval=3600)
    for folder in (b"a", b"a/b", b"ab", b"c"):
        watcher.shut_out(folder, "Permission denied")
    watcher.enter(b"c", 0)
    watcher.leave(b"a", {b"a/b"})
    assert watcher.unwatched == {b"a/b": "Permission denied", b"ab": "Permission denied"}
    watcher.leave(b"", set())
    assert watcher.unwatched == {}
    watcher.close()


@pytest.fixture
def stock(monkeypatch: pytest.MonkeyPatch):
    """As on a system without inotify."""
    monkeypatch.setattr(Hub, "_start_inotify", lambda *_: None)


def test_watchdog_s_own_observer_leads_to_checkpoints(tmp_path: Path, stock: None):
    """That is how macOS and Windows are watched."""
    with live(tmp_path) as at:
        assert at.service.ask(at.id, lambda keeper: keeper.watcher.kind) == "watchdog"
        (at.root / "deep").mkdir()
        (at.root / "deep/file").write_text("1")
        at.wait_for_disk()
        os.rename(at.root / "deep", at.root / "moved")
        at.wait_for_disk()
        (at.root / "moved/file").unlink()
        at.wait_for_disk()


def test_a_save_does_not_rely_on_watchdog_s_own_observer(
    tmp_path: Path, stock: None, monkeypatch: pytest.MonkeyPatch
):
    """It loses events under load, so a save looks at everything."""
    monkeypatch.setattr("backtraild.watch.stock._Marker.on_any_event", lambda *_: None)
    with live(tmp_path) as at:
        (at.root / "file").write_text("no event tells of this")
        assert at.save().tree == at.disk()


def test_watchdog_s_own_observer_reports_paths_of_the_workspace_also_behind_a_symlink(tmp_path: Path):
    """On macOS /tmp is one."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    dirt = Dirt()
    watcher = StockWatcher(os.fsencode(tmp_path / "link"), dirt)
    try:
        (tmp_path / "real/sub").mkdir()
        eventually(dirt.peek)
        assert dirt.take().paths == {b"sub"}
    finally:
        watcher.close()


@linux
@pytest.mark.parametrize("call", ["open", "unlink", "listdir"])
def test_a_disk_on_which_no_cookie_can_be_made_is_no_reason_to_distrust_inotify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
):
    """A full disk at the start would otherwise mean polling until the daemon ends."""
    cookies = tmp_path / "cookies"
    cookies.mkdir()
    (cookies / "left").touch()
    real = getattr(os, call)

    def fail(path: object, *arguments: object, **options: object) -> object:
        if os.fspath(path).startswith((str(cookies), os.fsencode(cookies))[isinstance(path, bytes)]):  # type: ignore[call-overload]
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        made = Hub(str(cookies))
    try:
        assert kind(made, tmp_path) == "inotify"
    finally:
        made.close()

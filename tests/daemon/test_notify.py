"""What the daemon tells the service manager."""

import contextlib
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild import notify
from support.listening import Ear, listening


@pytest.fixture
def ear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ear]:
    with listening(tmp_path, monkeypatch) as found:
        yield found


def test_the_manager_is_told_that_requests_are_answered_and_by_whom(ear: Ear):
    """`systemctl start` returns at this moment, and shows this line from then on."""
    notify.ready("watching 3 folders")
    assert ear.hear() == b"READY=1\nSTATUS=watching 3 folders"


def test_each_report_is_a_message_of_its_own(ear: Ear):
    """The manager acts on each as it comes."""
    notify.alive()
    notify.status("scanning")
    notify.stopping()
    assert [ear.hear() for _ in range(3)] == [b"WATCHDOG=1", b"STATUS=scanning", b"STOPPING=1"]


def test_a_folder_with_a_line_break_in_its_name_can_not_report_anything(ear: Ear):
    """`STOPPING=1` on a line of its own in a status would be an order to the manager."""
    notify.status("watching a\nSTOPPING=1")
    assert ear.hear() == b"STATUS=watching a STOPPING=1"


def test_a_name_that_is_not_utf_8_is_still_reported(ear: Ear):
    """Names of files are bytes; the manager takes text only."""
    notify.status(f"watching {os.fsdecode(b'caf' + bytes([0xE9]))}")
    assert ear.hear() == rb"STATUS=watching caf\udce9"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has sockets without a file")
def test_a_socket_without_a_file_is_reached(monkeypatch: pytest.MonkeyPatch):
    """Some managers, and containers, listen on an abstract name, which is written with an @."""
    name = f"backtrail-test-{os.getpid()}"
    ear = Ear(f"\0{name}")
    monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
    notify.stopping()
    assert ear.hear() == b"STOPPING=1"
    ear.close()


@pytest.mark.parametrize("address", ["", "vsock:2:1234", "notify"], ids=["none", "foreign", "relative"])
def test_without_a_socket_to_write_to_nothing_is_done(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A daemon that a command started has no manager, and must not write to whatever has that name."""
    monkeypatch.chdir(tmp_path)
    ear = Ear("notify")
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    notify.ready("watching")
    assert ear.hear(0) == b""
    ear.close()


@pytest.mark.parametrize("address", ["/nowhere/notify", "/" + "x" * 200, "@nobody-listens-here"])
def test_a_manager_that_is_gone_does_not_disturb_the_daemon(address: str, monkeypatch: pytest.MonkeyPatch):
    """It goes on watching; nobody could do anything about it."""
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    notify.ready("watching")


def test_a_manager_that_does_not_read_holds_the_daemon_up_for_a_moment_only(
    ear: Ear, monkeypatch: pytest.MonkeyPatch
):
    """The kernel's queue is full: a report is dropped rather than the daemon stopped."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as flood:
        flood.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                flood.sendto(b"x", os.environ["NOTIFY_SOCKET"])
    monkeypatch.setattr(notify, "SECONDS", 0.05)
    started = time.monotonic()
    notify.alive()
    assert time.monotonic() - started < 5

"""Files that are written to while they are read: nothing that never was on disk may be stored."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backtraild.model import SkipReason
from backtraild.scan import capture
from backtraild.scan.capture import ATTEMPTS, PIECE, WHOLE_UP_TO
from support.disk import snapshot
from support.look import Os
from support.project import Project

SMALL = b"before " * 10
LARGE = b"before " * 300_000


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        yield project


@pytest.fixture(params=[SMALL, LARGE], ids=["small", "large"])
def content(request: pytest.FixtureRequest) -> bytes:
    """A file that is read at once, and one that is read in pieces."""
    return request.param


def meddle(monkeypatch: pytest.MonkeyPatch, disturb: Callable[[int], None]) -> None:
    """Let `disturb` loose after each time that a file's first bytes were read; it is told which time."""
    times = 0

    def disturbed(kernel_call):
        def call(descriptor, length, offset=0):
            nonlocal times
            found = kernel_call(descriptor, length, *([offset] if kernel_call is os.pread else []))
            if offset == 0:
                times += 1
                disturb(times)
            return found

        return call

    monkeypatch.setattr(capture, "os", Os(read=disturbed(os.read), pread=disturbed(os.pread)))


def test_the_large_file_of_these_tests_is_read_in_pieces():
    """Otherwise half of them would test the same thing twice."""
    assert len(SMALL) <= WHOLE_UP_TO < len(LARGE)


def test_a_file_that_changes_once_while_it_is_read_is_read_again(
    project: Project, content: bytes, monkeypatch: pytest.MonkeyPatch
):
    """A save that meets an editor's save must hold the one or the other text, not the half of both."""
    path = project.write("file", content)
    changed = content.swapcase()

    def rewrite(time: int) -> None:
        if time == 1:
            path.write_bytes(changed)

    meddle(monkeypatch, rewrite)
    checkpoint = project.workspace.start()

    assert project.captured() == {b"file": ("file", changed)}
    assert checkpoint.skipped == ()
    assert not project.workspace.unsettled()


def test_a_file_that_never_rests_keeps_its_last_captured_content_and_is_reported(
    project: Project, content: bytes, monkeypatch: pytest.MonkeyPatch
):
    """A half-written file in a checkpoint is worse than yesterday's, if the user is told which it is."""
    path = project.write("busy", content)
    project.write("calm", b"one")
    project.workspace.start()
    path.write_bytes(content + b"first")
    project.write("calm", b"two")
    with monkeypatch.context() as patch:

        def append(time: int) -> None:
            with path.open("ab") as file:
                file.write(b"%d" % time)

        meddle(patch, append)
        checkpoint = project.save(dirty=[b"busy", b"calm"])

    assert project.captured() == {b"busy": ("file", content), b"calm": ("file", b"two")}
    assert project.workspace.unsettled() == {b"busy"}
    assert [(left.path, left.reason) for left in checkpoint.skipped] == [(b"busy", SkipReason.CHANGING)]

    settled = project.save(dirty=project.workspace.unsettled())
    project.check(settled)
    assert settled.skipped == ()
    assert not project.workspace.unsettled()


def test_a_torn_reading_is_refused_even_if_the_store_knows_its_content(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    """Content that is known is read only once: then nothing but the times tells that it was torn."""
    first, second = os.urandom(PIECE), os.urandom(PIECE)
    project.write("known", first + second + b"!")
    project.workspace.start()
    # The beginning as it was, the end as it will be: together they are what `known` holds.
    path = project.write("torn", first + bytes(PIECE + 1))

    def rewrite(time: int) -> None:
        if time == 1:
            path.write_bytes(bytes(PIECE) + second + b"!")

    meddle(monkeypatch, rewrite)
    project.save(dirty=[b"torn"])

    assert project.captured()[b"torn"] == ("file", bytes(PIECE) + second + b"!")


def test_a_new_file_that_never_rests_is_in_no_checkpoint_but_in_the_report(
    project: Project, content: bytes, monkeypatch: pytest.MonkeyPatch
):
    """There is no older content to fall back on; silence would be a missed change."""
    path = project.write("busy", content)

    def shorten(time: int) -> None:
        os.truncate(path, len(content) - time)

    meddle(monkeypatch, shorten)
    checkpoint = project.workspace.start()

    assert project.captured() == {}
    assert [left.reason for left in checkpoint.skipped] == [SkipReason.CHANGING]
    assert project.workspace.unsettled() == {b"busy"}


def test_what_did_not_rest_stays_noted_until_it_is_looked_at_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    """A restore saves twice, and other files are saved in between: the busy file must not be forgotten."""
    path = project.write("logs/busy", b"0")
    project.write("calm", b"one")
    project.workspace.start()
    path.write_bytes(b"start")
    project.write("calm", b"two")

    def append(time: int) -> None:
        with path.open("ab") as file:
            file.write(b"%d" % time)

    with monkeypatch.context() as patch:
        meddle(patch, append)
        project.save(dirty=[b"logs", b"calm"])
    assert project.workspace.unsettled() == {b"logs/busy"}
    project.write("calm", b"three")
    project.save(dirty=[b"calm"])

    assert project.workspace.unsettled() == {b"logs/busy"}
    project.save(dirty=[b"logs"])
    assert project.workspace.unsettled() == frozenset()


def test_a_file_is_not_tried_for_ever(project: Project, monkeypatch: pytest.MonkeyPatch):
    """A log that is written all day must not hold up the save of everything else."""
    path = project.write("busy", SMALL)
    tries = 0

    def append(time: int) -> None:
        nonlocal tries
        tries = time
        with path.open("ab") as file:
            file.write(b".")

    meddle(monkeypatch, append)
    project.workspace.start()

    assert tries == ATTEMPTS


def test_a_file_that_disappears_while_it_is_read_is_gone(project: Project, monkeypatch: pytest.MonkeyPatch):
    """Temporary files come and go; a save does not fail over them."""
    path = project.write("temporary", b"one")
    project.write("kept")
    project.workspace.start()
    path.write_bytes(b"another")

    def remove_and_open(name, *arguments, **options):
        if name == b"temporary":
            path.unlink()
        return os.open(name, *arguments, **options)

    monkeypatch.setattr(capture, "os", Os(open=remove_and_open))
    checkpoint = project.save()

    assert project.captured() == snapshot(project.root) == {b"kept": ("file", b"content\n")}
    assert checkpoint.skipped == ()


def test_whatever_is_stored_of_a_file_that_is_appended_to_is_its_true_beginning(project: Project):
    """A log as it was at some moment is a log; with a hole or a repetition in it, it is not."""
    path = project.write("log", b"")
    whole = b"".join(b"%07d\n" % number for number in range(400_000))
    done = threading.Event()

    def append() -> None:
        with path.open("ab", buffering=0) as file:
            for start in range(0, len(whole), 4096):
                if done.is_set():
                    return
                file.write(whole[start : start + 4096])

    project.workspace.start()
    writer = threading.Thread(target=append)
    writer.start()
    try:
        numbers = [project.save(allow_empty=True).number for _ in range(25)]
    finally:
        done.set()
        writer.join()

    for number in numbers:
        stored = project.captured(str(number))[b"log"][1]
        assert whole.startswith(stored), f"checkpoint {number}"
    project.check(project.save(allow_empty=True))

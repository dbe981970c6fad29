"""A long look has a deputy, and comes to the same whatever becomes of it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from errno import EAGAIN
from pathlib import Path

import pytest

from backtrail.errors import StoreFull
from backtraild.deputy import running
from backtraild.deputy.running import Assistance
from backtraild.model import Packed
from backtraild.scan.delegation import MOST_FILES
from backtraild.store import PackWriter
from support.project import Project
from support.watching import eventually

FOLDERS = 6


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        for number in range(FOLDERS):
            project.write(f"folder{number}/a", b"one\n%d\n" % number)
            project.write(f"folder{number}/b", b"")
        yield project


@pytest.fixture(autouse=True)
def long_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look is long, on every machine."""
    monkeypatch.setattr(running, "LONG_FROM", 0)
    monkeypatch.setattr(running, "MOST_PENDING", 1000)
    monkeypatch.setattr(running, "_processors", lambda: 2)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[Packed]:
    """What was read by the deputy and went into a pack."""
    packed: list[Packed] = []
    add = PackWriter.add_packed
    monkeypatch.setattr(PackWriter, "add_packed", lambda pack, each: (packed.append(each), add(pack, each)))
    return packed


def children() -> list[int]:
    tasks = Path("/proc/self/task").iterdir()
    return [int(word) for task in tasks for word in (task / "children").read_text().split()]


def test_a_strange_tree_is_captured_as_it_is(project: Project, taken: list[Packed]):
    """Whatever is not plain is left to the look itself, in the same folder and between the others."""
    for number in range(2 * MOST_FILES):
        project.write(f"many/{number}", b"%d\n" % number)
    project.write(b"many/\xff\n", b"strange name\n")
    project.write("many/large", os.urandom(1024 * 1024 + 1))
    project.write("many/tool", b"#!/bin/sh\n").chmod(0o755)
    project.write("many/git~1", b"gitdir: elsewhere\n")
    os.symlink("/etc/passwd", project.root / "many/link")
    os.mkfifo(project.root / "many/pipe")

    checkpoint = project.workspace.start()

    (project.root / "many/pipe").unlink()
    (project.root / "many/git~1").unlink()
    project.check(checkpoint)
    assert {skipped.path for skipped in checkpoint.skipped} == {b"many/pipe", b"many/git~1"}
    assert len(taken) == 2 * FOLDERS + 2 * MOST_FILES + 2, "all but the large file and the link"
    assert checkpoint.insertions >= 2 * FOLDERS + 2 * MOST_FILES + 3
    assert project.workspace.files == len(taken) + 2


def test_files_that_changed_are_told_with_what_they_were(project: Project, taken: list[Packed]):
    """A look at everything after the first one knows most of what it meets."""
    project.workspace.start()
    before = len(taken)
    project.write("folder1/a", b"one\nchanged\nlonger\n")
    (project.root / "folder2/a").unlink()

    checkpoint = project.save()

    project.check(checkpoint)
    assert {change.path for change in checkpoint.files_changed} == {b"folder1/a", b"folder2/a"}
    assert len(taken) > before


def test_the_deputy_is_gone_when_the_look_is_over(project: Project, monkeypatch: pytest.MonkeyPatch):
    """Also when the look failed: nobody else would end it."""

    def full(*_: object) -> None:
        raise StoreFull("no room", "")

    with monkeypatch.context() as patch:
        patch.setattr(PackWriter, "add_packed", full)
        with pytest.raises(StoreFull):
            project.workspace.start()
    assert children() == []
    descriptors = os.listdir("/proc/self/fd")
    project.check(project.workspace.start())
    assert children() == []
    assert len(os.listdir("/proc/self/fd")) <= len(descriptors) + 2, "the finished pack and its index"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_what_a_deputy_does_not_answer_is_read_by_the_look(
    project: Project, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
):
    """Killed for want of memory, or held up: the checkpoint has everything all the same."""
    order = Assistance.order
    orders: list[bool] = []

    def lost(assistance: Assistance, folder: int, names: list[bytes]) -> bool:
        orders.append(order(assistance, folder, names))
        if len(orders) == 2:
            os.kill(children()[0], number)
        return orders[-1]

    monkeypatch.setattr(Assistance, "order", lost)
    monkeypatch.setattr(running, "PATIENCE_SECONDS", 0.3)

    project.check(project.workspace.start())
    assert orders[:2] == [True, True]
    assert children() == []


def test_a_machine_that_starts_no_process_has_checkpoints_all_the_same(
    project: Project, monkeypatch: pytest.MonkeyPatch, taken: list[Packed]
):
    """A limit of processes is no reason to keep nothing, and is not met again for every folder."""
    refusals: list[object] = []

    def refused(*_: object, **__: object) -> None:
        refusals.append(1)
        raise BlockingIOError(EAGAIN, os.strerror(EAGAIN))

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", refused)
        checkpoint = project.workspace.start()
    project.check(checkpoint)
    assert not taken
    assert len(refusals) == 1


def test_few_files_and_one_processor_call_nobody_in(project: Project, monkeypatch: pytest.MonkeyPatch):
    """A process takes longer to start than a few thousand files to read, and alone it would only take turns."""
    started: list[object] = []
    monkeypatch.setattr(running, "_Process", lambda: started.append(1))
    monkeypatch.setattr(running, "LONG_FROM", 2 * FOLDERS + 1)
    project.workspace.start()
    monkeypatch.setattr(running, "LONG_FROM", 0)
    monkeypatch.setattr(running, "_processors", lambda: 1)
    project.write("folder1/a", b"changed\n")
    project.check(project.save())
    assert not started


_KILLED = """
import os, signal, sys
from pathlib import Path
from backtraild.deputy import running
running.LONG_FROM = 0
deputy = running.Assistance()
deputy.has_time(1)
assert deputy.order(os.open("/", os.O_RDONLY), [b"nothing"])
assert deputy.answer(wait=True) == [None]
print(Path("/proc/self/task/%d/children" % os.getpid()).read_text(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(running._processors() == 1, reason="there is no deputy on such a machine")
def test_a_killed_daemon_leaves_no_deputy_behind():
    """Its socket closes with the daemon, however that ended."""
    killed = subprocess.run([sys.executable, "-c", _KILLED], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    (child,) = killed.stdout.split()
    eventually(lambda: not Path(f"/proc/{child}/stat").exists())

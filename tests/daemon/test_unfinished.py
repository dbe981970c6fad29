"""A fork in the middle of which the daemon is killed: the next start leaves nothing of it and touches nothing else."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backtrail.errors import StoreFailed
from backtraild import durable
from backtraild.registry import workspace_id
from backtraild.restore import Population
from backtraild.sessions import Sessions
from support.disk import snapshot
from support.serving import Desk, desk

KILLED = 9


def die(*_: object, **__: object) -> None:
    """As a kill does: nothing is undone, nothing is closed."""
    os._exit(KILLED)


def in_the_middle_of_a_file(patch: pytest.MonkeyPatch) -> None:
    def half(self: Population, descriptor: int, parts: Any) -> None:
        content = b"".join(parts)
        os.write(descriptor, content[: len(content) // 2] if content.startswith(b"3") else content)
        if content.startswith(b"3"):
            die()

    patch.setattr(Population, "_fill", half)


def before_its_session_is_begun(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Sessions, "start", die)


def killed_fork(folder: Path, kill: Callable[[pytest.MonkeyPatch], None]) -> str:
    """A watched folder, and what a killed daemon has left of a fork of it; the workspace's id."""
    with desk(folder, auto_checkpoint=False) as at:
        site = at.watch()
        for number in range(6):
            site.write(f"dir{number % 2}/{number}", f"{number}\n" * 50)
        at.service.save(site.id)
    child = os.fork()
    if child == 0:
        try:
            with pytest.MonkeyPatch.context() as patch:
                kill(patch)
                again = Desk(folder, auto_checkpoint=False)
                again.service.wait_until_caught_up()
                again.service.fork(site.id, str(folder / "forks/new"), checkpoint="@", new_session="next")
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED
    assert snapshot(folder / "forks/new")
    return site.id


@pytest.mark.parametrize("kill", [in_the_middle_of_a_file, before_its_session_is_begun])
def test_the_next_start_leaves_nothing_of_it(tmp_path: Path, kill: Callable[[pytest.MonkeyPatch], None]):
    """Nobody was told of the new folder, and the same fork can be made again."""
    source = killed_fork(tmp_path, kill)
    with desk(tmp_path, auto_checkpoint=False) as at:
        new = workspace_id(str(tmp_path / "forks/new"))
        assert not (tmp_path / "forks").exists()
        assert [entry.id for entry in at.service.workspaces()] == [source]
        assert not at.places.store(new).exists()
        (error,) = at.events("error")
        assert "What was written has been removed." in error.data["reason"]
        assert at.service.wait_until_caught_up(30)
        assert at.service.fork(source, str(tmp_path / "forks/new"), checkpoint="@").files == 6
        at.restart()
        assert len(at.service.workspaces()) == 2


def test_what_somebody_did_in_the_folder_meanwhile_stays(tmp_path: Path):
    """The folder is there to be seen before the daemon is started again."""
    killed_fork(tmp_path, before_its_session_is_begun)
    (tmp_path / "forks/new/dir0/2").write_text("edited")
    (tmp_path / "forks/new/mine").write_text("mine")
    with desk(tmp_path, auto_checkpoint=False):
        left = {b"dir0/2": ("file", b"edited"), b"mine": ("file", b"mine")}
        assert snapshot(tmp_path / "forks/new") == left


def refusing(times: float) -> Callable[[str], None]:
    """Removes files durably, but fails so often with notes of forks."""
    remove, left = durable.remove_file, times

    def refuse(path: str) -> None:
        nonlocal left
        if "/forks/" in path and left > 0:
            left -= 1
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        remove(path)

    return refuse


def test_a_fork_that_the_next_start_would_undo_is_not_told_as_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its note can't be removed from a disk that takes no writes any more: an answer would be a lie until then."""
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = at.watch()
        site.write("a", "1")
        at.service.save(site.id)
        with monkeypatch.context() as patch:
            patch.setattr(durable, "remove_file", refusing(float("inf")))
            with pytest.raises(StoreFailed, match=r"The fork could not be completed: .*\."):
                at.service.fork(site.id, str(tmp_path / "forks/new"), checkpoint="@")
        assert not (tmp_path / "forks").exists()
        at.restart()
        assert [entry.id for entry in at.service.workspaces()] == [site.id]


def test_a_disk_that_fails_once_costs_no_fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What was told as made is there after the next start."""
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = at.watch()
        site.write("a", "1")
        at.service.save(site.id)
        with monkeypatch.context() as patch:
            patch.setattr(durable, "remove_file", refusing(1))
            made = at.service.fork(site.id, str(tmp_path / "forks/new"), checkpoint="@")
        at.restart()
        assert {entry.id for entry in at.service.workspaces()} == {site.id, made.workspace}
        assert (tmp_path / "forks/new/a").read_text() == "1"

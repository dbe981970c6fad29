"""Files and folders that this user may not read or change: each is named, none is lost, nothing is half done."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backtrail.errors import NothingToDo, RestoreFailed, StoreFailed
from backtraild.model import SkipReason
from backtraild.scan import capture
from support.commands import shell_in
from support.look import Os
from support.project import Project, full_stat
from support.unprivileged import as_nobody

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="files of somebody else need root to be made")


def refused(action: Callable[[], object], root: Path) -> str:
    """What a restore says that is refused; not even a time stamp in the workspace may differ afterwards."""
    before = full_stat(root)
    with pytest.raises(RestoreFailed) as error:
        action()
    assert full_stat(root) == before
    assert error.value.hint
    return error.value.message


@contextlib.contextmanager
def attribute(flag: str, *paths: Path) -> Iterator[None]:
    """These files are immutable (`i`) or only grow (`a`) for a while; skips where that can't be had."""
    if os.geteuid() != 0 or shutil.which("chattr") is None:
        pytest.skip("attributes of files need root and chattr")
    done = subprocess.run(["chattr", f"+{flag}", *paths], capture_output=True, text=True, check=False)
    try:
        if done.returncode:
            pytest.skip(f"this file system has no attributes: {done.stderr}")
        yield
    finally:
        subprocess.run(["chattr", f"-{flag}", *paths], capture_output=True, check=False)


def test_what_may_not_be_read_keeps_its_content_is_named_and_comes_back() -> None:
    """A file that was closed for an hour must neither vanish from the checkpoints nor stop them."""

    def scenario(folder: Path) -> None:
        with Project(folder) as project:
            project.write("file", b"one")
            project.write("folder/a", b"one")
            project.write("listed/b", b"one")
            first = project.workspace.start()
            project.write("file", b"two")
            project.write("open", b"new")
            modes = {"file": 0o000, "folder": 0o300, "listed": 0o400}
            for name, mode in modes.items():
                (project.root / name).chmod(mode)
            second = project.save()
            named = {left.path: left.reason for left in second.skipped}
            assert named == dict.fromkeys((b"file", b"folder", b"listed/b"), SkipReason.UNREADABLE)
            assert project.captured() == {**project.captured(str(first.number)), b"open": ("file", b"new")}
            for name in modes:
                (project.root / name).chmod(0o700)
            third = project.save()
            assert third.skipped == ()
            assert project.captured()[b"file"] == ("executable", b"two")

    as_nobody(scenario)


@needs_root
def test_a_file_of_somebody_else_that_may_not_be_read_is_named_and_stays() -> None:
    """`sudo` leaves such files everywhere; one of them must not end the undo of all others."""

    def prepare(folder: Path) -> None:
        (folder / "theirs").write_bytes(b"secret")
        (folder / "theirs").chmod(0o600)

    def scenario(folder: Path) -> None:
        with Project(folder) as project:
            project.write("mine", b"one")
            os.rename(folder / "theirs", project.root / "theirs")
            first = project.workspace.start()
            assert [left.path for left in first.skipped] == [b"theirs"]
            project.write("mine", b"two")
            assert project.workspace.restore("1").written == (b"mine",)
            assert (project.root / "theirs").stat().st_uid == 0

    as_nobody(scenario, prepare)


def test_a_file_that_is_closed_between_the_look_and_the_read_is_named() -> None:
    """The look said that it can be read; only the read tells the truth."""

    def scenario(folder: Path) -> None:
        with Project(folder) as project:
            path = project.write("file", b"one")
            project.workspace.start()
            project.write("file", b"two and more")

            def close_and_open(name, *arguments, **options):
                path.chmod(0)
                return os.open(name, *arguments, **options)

            capture.os = Os(open=close_and_open)  # type: ignore[attr-defined]
            with pytest.raises(NothingToDo):
                project.save()
            assert [left.path for left in project.workspace.skipped()] == [b"file"]
            assert project.captured()[b"file"] == ("file", b"one")

    as_nobody(scenario)


def test_a_read_only_workspace_is_saved_and_its_restore_is_refused_with_every_folder_named() -> None:
    """Found out in the middle, it would have to be undone; found out one by one, it would take as many attempts."""

    def scenario(folder: Path) -> None:
        with Project(folder) as project:
            project.write("top", b"one")
            project.write("deep/er/file", b"one")
            project.write("open/file", b"one")
            project.workspace.start()
            for name in ("top", "deep/er/file", "open/file"):
                project.write(name, b"two")
            closed = [project.root / "deep/er", project.root]
            for path in closed:
                path.chmod(0o555)
            project.check(project.save())
            for action in (project.workspace.preview, project.workspace.restore):
                said = refused(lambda action=action: action("1"), project.root)
                assert "the workspace can't be written, the folder deep/er can't be written" in said
                assert "open" not in said
            for path in closed:
                path.chmod(0o755)
            assert len(project.workspace.restore("1").written) == 3

    as_nobody(scenario)


def test_a_restore_of_other_paths_is_not_refused_for_a_folder_that_it_does_not_touch() -> None:
    """The hint says so, so it has to work."""

    def scenario(folder: Path) -> None:
        with Project(folder) as project:
            project.write("closed/file", b"one")
            project.write("open/file", b"one")
            project.workspace.start()
            project.write("closed/file", b"two")
            project.write("open/file", b"two")
            (project.root / "closed").chmod(0o555)
            assert "closed" in refused(lambda: project.workspace.restore("1"), project.root)
            assert project.workspace.restore("1", [b"open"]).written == (b"open/file",)

    as_nobody(scenario)


@needs_root
def test_files_of_others_that_may_not_be_taken_away_or_made_executable_are_named() -> None:
    """In a folder like /tmp, being allowed to write in it is not enough."""

    def prepare(folder: Path) -> None:
        (folder / "shared").mkdir()
        for path, mode in (("shared/theirs", 0o644), ("tool", 0o755)):
            (folder / path).write_bytes(b"two")
            (folder / path).chmod(mode)
        (folder / "shared").chmod(0o1777)

    def scenario(folder: Path) -> None:
        with Project(folder) as project:
            project.write("shared/theirs", b"one")
            project.write("tool", b"two")
            project.workspace.start()
            shutil.rmtree(project.root / "shared")
            os.rename(folder / "shared", project.root / "shared")
            os.replace(folder / "tool", project.root / "tool")
            project.save()
            said = refused(lambda: project.workspace.restore("1"), project.root)
            assert "shared/theirs belongs to somebody else" in said
            assert "tool belongs to somebody else" in said

    as_nobody(scenario, prepare)


def test_a_store_that_may_not_be_written_is_named_and_the_workspace_stays_as_it_is() -> None:
    """Without a safety checkpoint nothing may be restored, and nothing may be called saved."""

    def scenario(folder: Path) -> None:
        with Project(folder) as project:
            project.write("file", b"one")
            project.workspace.start()
            project.write("file", b"two")
            pack = project.git_dir / "objects" / "pack"
            pack.chmod(0o555)
            before = full_stat(project.root)
            for action in (project.save, lambda: project.workspace.restore("1")):
                with pytest.raises(StoreFailed, match="Permission denied"):
                    action()
            assert full_stat(project.root) == before
            pack.chmod(0o755)
            project.check(project.save())

    as_nobody(scenario)


def test_immutable_files_and_folders_are_named_before_anything_is_written(tmp_path: Path) -> None:
    """`chattr +i` is what people use to be sure; a restore must say which ones, and leave the rest in peace."""
    names = ("a", "folder/b", "closed/c", "free")
    with Project(tmp_path) as project:
        for name in names:
            project.write(name, b"one")
        project.workspace.start()
        for name in names:
            project.write(name, b"two")
        project.save()
        with attribute("i", project.root / "a", project.root / "folder/b", project.root / "closed"):
            said = refused(lambda: project.workspace.restore("1"), project.root)
        for part in ("the folder closed can't be written", "a is immutable", "folder/b is immutable"):
            assert part in said
        assert len(project.workspace.restore("1").written) == 4


def test_a_file_that_may_only_grow_stops_a_restore_without_a_trace(tmp_path: Path) -> None:
    """Nothing tells it beforehand; so every step that was made until then is undone."""
    with Project(tmp_path) as project:
        for name in ("a", "log", "z"):
            project.write(name, b"one")
        project.workspace.start()
        for name in ("a", "log", "z"):
            project.write(name, b"two")
        project.save()
        with attribute("a", project.root / "log"):
            with pytest.raises(
                RestoreFailed, match=r"stopped at log: Operation not permitted\. Nothing was changed"
            ):
                project.workspace.restore("1")
            contents = {path.name: path.read_bytes() for path in project.root.iterdir()}
        assert contents == dict.fromkeys(("a", "log", "z"), b"two")


def test_the_command_says_what_bars_a_restore_and_fails(tmp_path: Path) -> None:
    """Whoever reads the terminal needs the path and the next step, and a script the exit code."""
    with shell_in(tmp_path) as shell, contextlib.ExitStack() as closing:
        shell.write("sub/file", "one")
        shell("watch")
        shell.write("sub/file", "two")
        shell.save()
        if os.geteuid() == 0:
            closing.enter_context(attribute("i", shell.root / "sub"))
        else:
            (shell.root / "sub").chmod(0o555)
            closing.callback((shell.root / "sub").chmod, 0o755)
        ran = shell("restore", "1", "--yes", status=1)
        assert "the folder sub can't be written" in ran.err
        assert "Nothing was changed." in ran.err
        assert "chmod u+w" in ran.err

"""What a system gives only so much of: descriptors, depth, length of names and paths, room in a file."""

import contextlib
import gc
import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import StoreFailed
from backtraild import openfiles
from backtraild.ignore import FolderRules
from backtraild.model import Limits
from backtraild.scan import trail as trails
from backtraild.scan.folders import Folder, open_folder, open_root
from backtraild.scan.trail import Trail
from support.commands import Shell, shell_in
from support.project import Project, files_of
from support.strange import entered, entered_at
from torture.campaigns import trees
from torture.short import rounds


def nested(root: Path, name: bytes, levels: int, content: bytes) -> None:
    """A file at the bottom of so many folders."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(entered(os.fsencode(root), b""))
        for _ in range(levels):
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
            folder = stack.enter_context(entered_at(folder, name))
        with open(os.open(b"file", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=folder), "wb") as file:
            file.write(content)


@contextlib.contextmanager
def descriptors(spare: int) -> Iterator[None]:
    """No more than so many files may be opened beside those that are open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + spare, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="it counts descriptors in /proc")
def test_folders_nested_deeper_than_files_may_be_open_are_captured(tmp_path: Path) -> None:
    """Some programs nest folders without end, and a usual process may open 1,024 files."""
    with Project(tmp_path) as project:
        nested(project.root, b"d", 300, b"one")
        nested(project.root, b"n" * 255, 20, b"one")  # longer than a path may be
        with descriptors(trails.OPEN_AT_ONCE + 60):
            first = project.workspace.start()
            assert first.skipped == ()
            nested(project.root, b"n" * 255, 20, b"two")
            second = project.save(dirty=[b"/".join([b"n" * 255] * 20 + [b"file"])])
        deepest = b"d/" * 300 + b"file"
        assert files_of(project.git_dir, first.tree)[deepest] == ("file", b"one")
        assert [change.path.count(b"/") for change in second.files_changed] == [20]
        assert project.workspace.restore("1").conflicts == ()


def go_down(trail: Trail, path: Path, name: bytes) -> None:
    below = Folder(
        trail.folder.path + b"/" + name, open_folder(name, trail.folder.descriptor), FolderRules.for_root()
    )
    trail.go_down(below, iter([b"x"]))


@pytest.mark.parametrize("moved", [False, True])
def test_the_way_back_up_leads_to_the_same_folders_or_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: bool
) -> None:
    """A folder that is moved during the look must not lead it to another place, outside the workspace even."""
    monkeypatch.setattr(trails, "OPEN_AT_ONCE", 2)
    (tmp_path / "root/a/b/c").mkdir(parents=True)
    gc.collect()  # what earlier tests left open must not close in the middle of this one
    before = len(os.listdir("/proc/self/fd"))
    with Trail() as trail:
        trail.go_down(
            Folder(b"", open_root(os.fsencode(tmp_path / "root")), FolderRules.for_root()), iter([b"x"])
        )
        for name in (b"a", b"b", b"c"):
            go_down(trail, tmp_path, name)
        if moved:
            os.rename(tmp_path / "root/a/b", tmp_path / "b")
        lost = [folder.path for _ in range(3) if trail for folder in trail.go_up()]
        assert lost == ([b"", b"/a"] if moved else [])
        assert bool(trail) is not moved
        if not moved:
            assert os.path.samestat(os.fstat(trail.folder.descriptor), os.stat(tmp_path / "root"))
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_folder_lost_on_the_way_keeps_what_was_captured_and_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was not looked at must not be taken for deleted."""
    monkeypatch.setattr(trails, "OPEN_AT_ONCE", 1)
    with Project(tmp_path) as project:
        for path in ("a/b/file", "a/z/file", "y/file"):
            project.write(path)
        project.workspace.start()
        project.write("new")
        really = trails._parent
        lose = [True]

        def parent(below: int, identity: tuple[int, int]) -> int:
            if lose:
                lose.clear()
                raise FileNotFoundError
            return really(below, identity)

        monkeypatch.setattr(trails, "_parent", parent)
        first = project.save()
        assert [change.path for change in first.files_changed] == [b"new"]
        assert b"" in project.workspace.unsettled()


def test_files_that_are_left_out_do_not_make_a_folder_too_large(tmp_path: Path) -> None:
    """A disk image of 30 GB that is never captured is no reason to refuse the ten small files beside it."""
    with Project(tmp_path, Limits(max_file_size=100, max_bytes=1_000)) as project:
        os.truncate(project.write("image"), 10 * 2**30)
        project.write("exactly", bytes(100))
        first = project.workspace.start()
        assert [(left.path, left.size) for left in first.skipped] == [(b"image", 10 * 2**30)]
        assert set(project.captured()) == {b"exactly"}


def test_a_large_file_that_the_store_has_no_room_for_is_an_error_with_its_cause(tmp_path: Path) -> None:
    """A full disk looks the same: whoever reads of a bug instead looks for the wrong thing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Project(tmp_path) as project:
        project.workspace.start()
        project.write("large", os.urandom(12_000_000))
        resource.setrlimit(resource.RLIMIT_FSIZE, (512 * 1024, hard))
        try:
            with pytest.raises(StoreFailed, match="File too large"):
                project.save()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        project.check(project.save())


def test_strange_trees_are_captured_and_restored(tmp_path: Path) -> None:
    """Names, types, dates and depths come in all combinations; the long run makes thousands of these rounds."""
    counts = rounds(trees, "strange-trees", (4, 14), tmp_path)
    assert counts["restores"] > 2


def test_a_daemon_that_may_open_too_few_files_says_how_many_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it ends in the middle of something, with a message from a library that nobody knows."""
    monkeypatch.setattr(openfiles, "MANY_FILES", 24)
    with pytest.raises(openfiles.TooFewFiles, match="may have 24 files open at once, and needs 48") as error:
        openfiles.allow_many()
    assert "ulimit -n" in error.value.hint


def test_a_daemon_allows_itself_as_many_files_as_the_system_lets_it() -> None:
    """The soft limit is 1,024 nearly everywhere, and a hundred watched folders need more."""
    with descriptors(100):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        openfiles.allow_many()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (min(hard, openfiles.MANY_FILES), hard)


def test_names_that_would_drive_a_terminal_are_shown_harmlessly_by_every_command(tmp_path: Path) -> None:
    """A file's name may hold what clears the screen, or forges a line of the list."""
    names = [
        b"\x1b]0;title\x07",
        b"two\nlines",
        b"\xff\xfe",
        b"trailing ",
        b"-rf",
        "\u202egnp".encode(),
        b"n" * 255,
    ]
    with shell_in(tmp_path) as shell:
        for name in names:
            (shell.root / os.fsdecode(name)).write_text("one\n")
        shell("watch")
        for name in names:
            (shell.root / os.fsdecode(name)).unlink()
        os.mkfifo(shell.root / "pipe\x1b[2J")
        shell.save()
        _show(shell)
        restored = json.loads(shell("restore", "1", "--yes", "--json").out)
        assert len(restored["written"]) == len(names)
        assert sorted(os.fsencode(entry) for entry in os.listdir(shell.root)) == sorted(
            [*names, b"pipe\x1b[2J"]
        )


def _show(shell: Shell) -> None:
    for words in (["show", "1"], ["diff", "1"], ["status"], ["restore", "1", "--dry-run"]):
        said = shell(*words)
        for text in (said.text, said.err):
            assert not {"\x1b", "\x07", "\u202e"} & set(text), (words, text)
            assert "lines" not in text.splitlines(), (words, text)

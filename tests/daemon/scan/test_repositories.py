"""Workspaces that are, or contain, git repositories: their files are files, their `.git` is not ours."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild.model import SkipReason
from support.disk import fsck, git_tree_id
from support.git import git
from support.project import Project, full_stat


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        yield project


def make_repository(folder: Path) -> None:
    """A repository with a commit, a branch, a tag, a hook, settings and something staged."""
    folder.mkdir(exist_ok=True)
    git("init", "-q", "-b", "main", str(folder))
    git("config", "user.name", "t", cwd=folder)
    git("config", "user.email", "t@example.org", cwd=folder)
    (folder / "tracked.txt").write_text("tracked\n")
    git("add", "-A", cwd=folder)
    git("commit", "-q", "-m", "one", cwd=folder)
    git("branch", "side", cwd=folder)
    git("tag", "v1", cwd=folder)
    hook = folder / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    (folder / "staged.txt").write_text("staged\n")
    git("add", "staged.txt", cwd=folder)


def test_nothing_in_any_git_folder_is_captured_or_touched(project: Project):
    """The user's index, branches, hooks and settings are the user's, through saves and restores."""
    make_repository(project.root)
    make_repository(project.root / "nested")
    (project.root / "worktree").mkdir()
    (project.root / "worktree" / ".git").write_text("gitdir: /elsewhere\n")
    project.write("worktree/file.txt")
    places = [project.root / ".git", project.root / "nested" / ".git", project.root / "worktree"]
    before = [full_stat(place) for place in places]

    first = project.workspace.start()
    (project.root / "nested" / "tracked.txt").write_text("changed\n")
    (project.root / "tracked.txt").unlink()
    project.save()
    project.save(dirty=[b".git/index", b"nested/.git/HEAD", b"worktree/.git", b".git"], allow_empty=True)
    project.workspace.restore(str(first.number))
    project.workspace.undo()

    assert [full_stat(place) for place in places] == before
    for number in range(1, 6):
        assert not [path for path in project.captured(str(number)) if b".git" in path.split(b"/")]
    assert project.captured("1")[b"nested/tracked.txt"] == ("file", b"tracked\n")
    assert project.captured("1")[b"nested/staged.txt"] == ("file", b"staged\n")
    assert project.captured()[b"nested/tracked.txt"] == ("file", b"changed\n")
    assert project.workspace.skipped() == []
    fsck(project.git_dir)


@pytest.mark.parametrize("name", [".GIT", "git~1", "GIT~1", ".g\u200cit", ".git ", ".git."])
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_name_that_another_file_system_takes_for_git_is_reported_and_not_captured(
    project: Project, name: str, kind: str
):
    """Git refuses trees with such names, so the store would not be plain git any more."""
    project.write("kept.txt")
    project.write(f"below/{name}" if kind == "file" else f"below/{name}/config")

    checkpoint = project.workspace.start()

    assert set(project.captured()) == {b"kept.txt"}
    assert [(left.path, left.reason) for left in checkpoint.skipped] == [
        (f"below/{name}".encode(), SkipReason.RESERVED_NAME)
    ]
    fsck(project.git_dir)
    project.write("kept.txt", "changed\n")
    again = project.save(dirty=[b"kept.txt", f"below/{name}/config".encode()])
    assert again.skipped == checkpoint.skipped
    assert set(project.captured()) == {b"kept.txt"}


def test_bytes_are_stored_as_they_are_whatever_attributes_and_settings_say(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    """Line endings that change on the way through a checkpoint would be a restore that edits files."""
    settings = project.folder / ".gitconfig"
    settings.write_text(
        "[core]\n\tautocrlf = true\n\tsafecrlf = true\n\teol = crlf\n"
        '[filter "upper"]\n\tclean = tr a-z A-Z\n\tsmudge = tr A-Z a-z\n\trequired = true\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    texts = {
        "dos.txt": b"one\r\ntwo\r\n",
        "unix.txt": b"one\ntwo\n",
        "mixed.txt": b"one\r\ntwo\nthree\r",
        "upper.up": b"lower case\n",
        "ident.txt": b"$Id$ and $Id: 123 $\n",
        "utf16.txt": "héllo\r\n".encode("utf-16"),
    }
    attributes = {
        ".gitattributes": b"* text=auto eol=crlf\n*.up filter=upper\n*.txt ident text\n"
        b"utf16.txt working-tree-encoding=UTF-16\n"
    }
    for name, content in (texts | attributes).items():
        project.write(name, content)

    checkpoint = project.workspace.start()

    assert project.captured() == {
        name.encode(): ("file", content) for name, content in (texts | attributes).items()
    }
    # Git itself, with conversion off, takes the same tree from the same bytes.
    peer = project.folder / "peer.git"
    git("init", "-q", "--bare", str(peer))
    (peer / "info").mkdir(exist_ok=True)
    (peer / "info" / "attributes").write_text("* -text -filter -ident !eol -working-tree-encoding\n")
    assert checkpoint.tree == git_tree_id(project.root, peer)

    for name in texts:
        (project.root / name).write_bytes(b"overwritten")
    project.workspace.restore("1")
    assert {name: (project.root / name).read_bytes() for name in texts} == texts


def test_a_nested_repository_and_its_ignore_file_follow_the_same_rules_as_any_folder(project: Project):
    """Other tools turned nested repositories into links or skipped them; what is ignored stays ignored."""
    make_repository(project.root / "inner")
    project.write("inner/.gitignore", "*.log\n")
    project.write("inner/deep/noise.log")
    project.write("inner/deep/kept.txt")
    os.symlink("../inner", project.root / "inner" / "loop")

    project.workspace.start()

    assert set(project.captured()) == {
        b"inner/.gitignore",
        b"inner/deep/kept.txt",
        b"inner/loop",
        b"inner/staged.txt",
        b"inner/tracked.txt",
    }

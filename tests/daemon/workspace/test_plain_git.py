"""With the daemon gone, git alone lists and recovers every checkpoint."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.disk import fsck, snapshot
from support.git import git
from support.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        project.write("src/app.py", b"print(1)\n")
        project.write("run.sh", b"#!/bin/sh\n").chmod(0o755)
        (project.root / "link").symlink_to("src/app.py")
        project.workspace.start()
        project.write("src/app.py", b"print(2)\n")
        project.write("new.txt", b"new\n")
        project.save("Second, with grüße")
        project.workspace.close()
        yield project


def test_git_log_lists_the_checkpoints_with_their_messages(project: Project):
    """The messages are the checkpoints' own; what is for programs stands in the last line."""
    log = git("log", "--all", "--format=%s", git_dir=project.git_dir).decode().splitlines()
    assert sorted(log) == ["Baseline", "Second, with grüße"]
    refs = git("for-each-ref", "--format=%(refname)", "refs/checkpoints", git_dir=project.git_dir)
    assert refs.split() == [b"refs/checkpoints/1", b"refs/checkpoints/2"]


def test_git_show_gives_one_file_of_a_checkpoint(project: Project):
    """The most common need: that one file, as it was."""
    assert git("show", "refs/checkpoints/1:src/app.py", git_dir=project.git_dir) == b"print(1)\n"
    assert git("show", "refs/checkpoints/2:src/app.py", git_dir=project.git_dir) == b"print(2)\n"
    changed = git(
        "diff", "--name-status", "refs/checkpoints/1", "refs/checkpoints/2", git_dir=project.git_dir
    )
    assert changed == b"A\tnew.txt\nM\tsrc/app.py\n"


def test_git_archive_gives_the_whole_folder_back(project: Project, tmp_path: Path):
    """Everything at once, with modes and symlinks, into any other folder."""
    archive = git("archive", "refs/checkpoints/2", git_dir=project.git_dir)
    target = tmp_path / "recovered"
    target.mkdir()
    subprocess.run(["tar", "-xf", "-", "-C", str(target)], input=archive, check=True)
    assert snapshot(target) == snapshot(project.root)


def test_git_can_clone_check_out_and_pack_the_store_and_backtrail_goes_on(project: Project, tmp_path: Path):
    """Plain git means that git's own maintenance does no harm."""
    target = tmp_path / "clone"
    git("init", "-q", str(target))
    git("fetch", "-q", str(project.git_dir), "refs/checkpoints/*:refs/checkpoints/*", cwd=target)
    git("checkout", "-q", "refs/checkpoints/1", cwd=target)
    assert (target / "src/app.py").read_bytes() == b"print(1)\n"

    git("pack-refs", "--all", git_dir=project.git_dir)
    git("repack", "-q", "-a", "-d", git_dir=project.git_dir)
    git("gc", "-q", "--prune=now", git_dir=project.git_dir)
    project.reopen()
    project.write("src/app.py", b"print(3)\n")
    project.check(project.save())
    project.workspace.restore("1")
    assert (project.root / "src/app.py").read_bytes() == b"print(1)\n"
    fsck(project.git_dir)

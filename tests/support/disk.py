"""A workspace's files seen independently of Backtrail: by a plain walk, and by the git binary."""

import os
import stat
import subprocess
from pathlib import Path

ISOLATED_GIT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@example.org",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@example.org",
}


def snapshot(root: Path) -> dict[bytes, tuple[str, bytes]]:
    """Every file and symlink below a folder: what kind it is and what it holds. `.git` is left out."""
    found: dict[bytes, tuple[str, bytes]] = {}
    top = os.fsencode(root)
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name != b".git"]
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in files + links:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, top)] = _seen(path)
    return found


def _seen(path: bytes) -> tuple[str, bytes]:
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return "symlink", os.readlink(path)
    if not stat.S_ISREG(status.st_mode):
        return "special", b""
    with open(path, "rb") as file:
        return ("executable" if status.st_mode & stat.S_IXUSR else "file"), file.read()


def git_tree_id(root: Path, scratch: Path) -> str:
    """The tree id that `git write-tree` computes for the same files, nothing ignored."""
    if not scratch.exists():
        _git(scratch, root, "init", "-q")
        (scratch / "info").mkdir(exist_ok=True)
    _git(scratch, root, "add", "-A", "-f", ".")
    return _git(scratch, root, "write-tree").strip()


def fsck(git_dir: Path) -> None:
    """Let git check every object, strictly; raises with its words if it finds anything."""
    done = subprocess.run(
        ["git", "--git-dir", str(git_dir), "fsck", "--full", "--strict", "--no-dangling"],
        env={**os.environ, **ISOLATED_GIT},
        capture_output=True,
        text=True,
    )
    complaints = [line for line in done.stderr.splitlines() if not line.startswith("notice:")]
    assert done.returncode == 0, done.stdout + done.stderr
    assert not complaints, complaints


def _git(git_dir: Path, root: Path, *arguments: str) -> str:
    command = [
        "git",
        "--git-dir",
        str(git_dir),
        "--work-tree",
        str(root),
        "-c",
        "core.safecrlf=false",
        *arguments,
    ]
    done = subprocess.run(
        command, cwd=root, env={**os.environ, **ISOLATED_GIT}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

"""The peer: a shadow repository driven by the git binary, as other tools do it."""

import os
import subprocess
from pathlib import Path


class GitPeer:
    """`git add -A && git commit` into a repository outside the folder."""

    def __init__(self, root: Path, git_dir: Path) -> None:
        self._root = root
        self._environment = {
            **os.environ,
            "GIT_DIR": str(git_dir),
            "GIT_WORK_TREE": str(root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        self._run("init", "--quiet")
        for name, value in (("user.name", "bench"), ("user.email", "bench@localhost"), ("gc.auto", "0")):
            self._run("config", name, value)

    def snapshot(self) -> None:
        """Commit the folder as it is."""
        self._run("add", "--all")
        self._run("commit", "--quiet", "--allow-empty", "--message", "snapshot")

    def reset(self, commit: str) -> None:
        """Make the folder what a commit holds."""
        self._run("reset", "--quiet", "--hard", commit)

    def status(self) -> None:
        """Look at the whole folder."""
        self._run("status", "--porcelain")

    def _run(self, *arguments: str) -> None:
        subprocess.run(
            ["git", *arguments], cwd=self._root, env=self._environment, check=True, capture_output=True
        )


def git_version() -> str:
    """What the peer is."""
    return subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.strip()

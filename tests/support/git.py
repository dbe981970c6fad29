"""The real git, run with nobody's configuration but the test's own."""

import os
import subprocess

from support.disk import fsck
from support.watching import eventually


class GitFailed(Exception):
    """Git ended with an error; the text is what it said."""


def git(
    *arguments: str | os.PathLike[str],
    cwd: str | os.PathLike[str] | None = None,
    git_dir: str | os.PathLike[str] | None = None,
    input: bytes = b"",  # noqa: A002  # as in subprocess.run
) -> bytes:
    """Run git and give its output. The environment is the one that `conftest` isolated."""
    where = [] if git_dir is None else [f"--git-dir={os.fspath(git_dir)}"]
    command = ["git", *where, *map(os.fspath, arguments)]
    done = subprocess.run(command, cwd=cwd, input=input, capture_output=True)
    if done.returncode:
        raise GitFailed(f"{' '.join(command)}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def fsck_in_use(git_dir: str | os.PathLike[str]) -> None:
    """As `fsck`, while upkeep may be at work: git, which lists packs first, complains of those that go meanwhile."""

    def is_sound() -> bool:
        try:
            fsck(git_dir)
        except AssertionError as error:
            print(error)  # shown if it stays so
            return False
        return True

    eventually(is_sound)

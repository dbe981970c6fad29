"""The git binary and a shadow repository, as other tools use it; also with its caches for large folders."""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from bench.peers.peer import Kind, Opener, Peer, run, version_of

_IDENTITY = {"user.name": "bench", "user.email": "bench@localhost", "gc.auto": "0"}
_TUNED = {"feature.manyFiles": "true", "core.untrackedCache": "true"}
_MONITORED = {"core.fsmonitor": "true"}


class Git(Peer):
    """`git add -A && git commit` into a repository outside of the folder."""

    snapshot_is = "git add -A && git commit"
    restore_is = "git reset --hard"

    def __init__(self, root: Path, store: Path) -> None:
        super().__init__(root, store)
        self._environment = {
            "GIT_DIR": str(store),
            "GIT_WORK_TREE": str(root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        self.run("init", "--quiet")
        self.configure(_IDENTITY)

    def configure(self, settings: dict[str, str]) -> None:
        """Set some options of the repository."""
        for name, value in settings.items():
            self.run("config", name, value)

    def snapshot(self) -> None:
        self.run("add", "--all")
        self.run("commit", "--quiet", "--allow-empty", "--message", "snapshot")

    def restore(self) -> None:
        self.run("reset", "--quiet", "--hard", "HEAD")

    def status(self) -> None:
        """Look at the whole folder."""
        self.run("status", "--porcelain")

    def entries(self) -> set[bytes]:
        """Mode, id and path of every file of the last snapshot."""
        return listed(self.run("ls-tree", "-r", "-z", "HEAD"))

    def run(self, *arguments: str, feed: bytes = b"") -> bytes:
        """One git command on this repository."""
        return run(["git", *arguments], self.root, self._environment, feed)


class TunedGit(Git):
    """The same with the untracked cache, and with git's own file system monitor where this git has one."""

    snapshot_is = "git with core.untrackedCache"
    restore_is = "git with core.untrackedCache"

    def __init__(self, root: Path, store: Path) -> None:
        super().__init__(root, store)
        self.configure(_TUNED)


class MonitoredGit(TunedGit):
    """The same with git's file system monitor."""

    snapshot_is = "git with core.untrackedCache and core.fsmonitor"
    restore_is = "git with core.untrackedCache and core.fsmonitor"

    def __init__(self, root: Path, store: Path) -> None:
        super().__init__(root, store)
        self.configure(_MONITORED)

    def close(self) -> None:
        self.run("fsmonitor--daemon", "stop")
        super().close()


def listed(output: bytes) -> set[bytes]:
    """The lines of a `-z` output."""
    return set(filter(None, output.split(b"\0")))


def fast_history(
    store: Path, first: Iterable[tuple[bytes, bytes]], edits: Iterable[tuple[bytes, bytes]]
) -> None:
    """A bare repository with a commit of all files and one for each edit: the same history, made by git in bulk."""
    subprocess.run(["git", "init", "--quiet", "--bare", str(store)], check=True)
    importer = subprocess.Popen(
        ["git", "--git-dir", str(store), "fast-import", "--quiet"], stdin=subprocess.PIPE
    )
    assert importer.stdin is not None
    with importer.stdin as stream:
        stream.write(_commit(1))
        for path, content in first:
            stream.write(_file(path, content))
        for number, (path, content) in enumerate(edits, 2):
            stream.write(_commit(number) + _file(path, content))
    if importer.wait():
        raise subprocess.CalledProcessError(importer.returncode, "git fast-import")


def _commit(number: int) -> bytes:
    return b"commit refs/heads/main\ncommitter bench <bench@localhost> %d +0000\ndata 0\n" % (10**9 + number)


def _file(path: bytes, content: bytes) -> bytes:
    return b"M 100644 inline %s\ndata %d\n%s\n" % (path, len(content), content)


def _find(_: Path) -> Opener:
    return Opener(version_of("git", "--version", package="git"), Git)


def _find_tuned(_: Path) -> Opener:
    if b"fsmonitor--daemon" in run(["git", "version", "--build-options"], Path.cwd(), {}):
        return Opener("with core.fsmonitor", MonitoredGit)
    return Opener("which has no core.fsmonitor on this system", TunedGit)


GIT = Kind("git", _find)
TUNED_GIT = Kind("git with its caches", _find_tuned)

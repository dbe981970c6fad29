"""A folder with a workspace on it, and what the git binary says is in its store."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from backtraild.model import Checkpoint, Intent, Limits, WorkspaceConfig
from backtraild.workspace import Workspace
from support.disk import fsck, git_tree_id, snapshot
from support.git import git

_KINDS = {b"100644": "file", b"100755": "executable", b"120000": "symlink"}
Files = dict[bytes, tuple[str, bytes]]


class Project:
    """Real files, a real store; closed at the end of a `with`."""

    def __init__(self, folder: Path, limits: Limits | None = None) -> None:
        self.folder = folder
        self.root = folder / "work"
        self.root.mkdir()
        self.store = folder / "store"
        self.git_dir = self.store / "repo.git"
        self.config = WorkspaceConfig(limits=limits or Limits())
        self.workspace = self._open()

    def __enter__(self) -> "Project":
        return self

    def __exit__(self, *_: object) -> None:
        self.workspace.close()

    def _open(self) -> Workspace:
        return Workspace(str(self.root), str(self.store), self.config)

    def reopen(self) -> Workspace:
        """As after the daemon was started again."""
        self.workspace.close()
        self.workspace = self._open()
        return self.workspace

    def write(self, path: str | bytes, content: bytes | str = b"content\n") -> Path:
        """A file, with the folders it needs."""
        target = self.root / os.fsdecode(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def save(
        self,
        message: str | None = None,
        dirty: Iterable[bytes] | None = None,
        *,
        allow_empty: bool = False,
        **why: Any,
    ) -> Checkpoint:
        """A checkpoint of what is there now."""
        return self.workspace.save(Intent(message=message, **why), dirty, allow_empty=allow_empty)

    def captured(self, name: str = "@") -> Files:
        """What a checkpoint holds, told by git, in the form of `snapshot`."""
        return files_of(self.git_dir, self.workspace.history.find(name).tree)

    def check(self, checkpoint: Checkpoint) -> None:
        """The checkpoint is the disk, for git and for a plain walk, and the store is sound."""
        assert files_of(self.git_dir, checkpoint.tree) == snapshot(self.root)
        assert checkpoint.tree == git_tree_id(self.root, self.folder / "peer.git")
        fsck(self.git_dir)

    def packs(self) -> list[str]:
        """The files in the store's pack folder."""
        return sorted(os.listdir(self.git_dir / "objects" / "pack"))


def files_of(git_dir: Path, tree: str) -> Files:
    """Every file of a tree, read by the git binary."""
    listed = git("ls-tree", "-r", "-z", "--full-tree", tree, git_dir=git_dir).split(b"\0")[:-1]
    rows = [(line.partition(b"\t")[2], *line.partition(b"\t")[0].split()) for line in listed]
    wanted = b"".join(oid + b"\n" for _, _, _, oid in rows)
    answer = git("cat-file", "--batch", git_dir=git_dir, input=wanted)
    found: Files = {}
    for path, mode, _, _ in rows:
        header, _, answer = answer.partition(b"\n")
        size = int(header.split()[2])
        found[path] = _KINDS[mode], answer[:size]
        answer = answer[size + 1 :]
    return found


def full_stat(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything that a look or a write could change in a folder: names, kinds, times, inodes, contents."""
    found: dict[str, tuple[object, ...]] = {}
    for top, folders, files in os.walk(folder):
        for name in [*folders, *files, "."]:
            path = os.path.join(top, name)
            status = os.lstat(path)
            content = Path(path).read_bytes() if os.path.isfile(path) and not os.path.islink(path) else b""
            found[path] = (status.st_mode, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, content)
    return found

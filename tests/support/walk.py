"""The tree id of a folder, computed without git and without Backtrail; and by git with its ignore files."""

import hashlib
import os
import stat
from pathlib import Path

from support.git import git


def tree_id(folder: str | Path) -> str:
    """What git would call the content of a folder, nothing ignored."""
    return (_tree(os.fsencode(folder)) or _object(b"tree", b"")).hex()


def _tree(folder: bytes) -> bytes | None:
    rows = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                below = _tree(entry.path)
                if below is not None:
                    rows.append((entry.name + b"/", b"40000 " + entry.name + b"\0" + below))
            else:
                rows.append((entry.name, _file(entry)))
    return _object(b"tree", b"".join(row for _, row in sorted(rows))) if rows else None


def _file(entry: "os.DirEntry[bytes]") -> bytes:
    mode = entry.stat(follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        return b"120000 " + entry.name + b"\0" + _object(b"blob", os.readlink(entry.path))
    with open(entry.path, "rb") as file:
        kind = b"100755 " if mode & stat.S_IXUSR else b"100644 "
        return kind + entry.name + b"\0" + _object(b"blob", file.read())


def _object(kind: bytes, content: bytes) -> bytes:
    return hashlib.sha1(b"%s %d\0" % (kind, len(content)) + content).digest()


def tree_id_by_gitignore(root: Path, scratch: Path) -> str:
    """What git captures of a folder, read anew, with its .gitignore files; left out are also `*.pyc`."""
    if not scratch.exists():
        git("init", "--bare", "-q", scratch)
        git("config", "core.bare", "false", git_dir=scratch)
        (scratch / "info").mkdir(exist_ok=True)
        (scratch / "excludes").write_text("*.pyc\n")
        git("config", "core.excludesFile", scratch / "excludes", git_dir=scratch)
    (scratch / "index").unlink(missing_ok=True)
    git(f"--work-tree={root}", "add", "-A", ".", cwd=root, git_dir=scratch)
    return git("write-tree", git_dir=scratch).decode().strip()

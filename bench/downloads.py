"""A tree of real projects: what is published of them, unpacked side by side."""

import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.trees import files_below

SDISTS = ("Django", "sympy")
NPM_PACKAGES = ("typescript", "date-fns", "rxjs")
DOWNLOAD_SECONDS = 120.0


@dataclass
class RealTree:
    """A folder and what is in it; `absent` are the projects that could not be had, with the reason."""

    root: Path
    names: list[str] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)

    @property
    def paths(self) -> list[bytes]:
        """All regular files."""
        return files_below(self.root)


def real_tree(folder: Path) -> RealTree:
    """Download and unpack what can be had."""
    tree = RealTree(folder / "tree")
    tree.root.mkdir(parents=True)
    for name in SDISTS:
        _add(tree, name, (sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", name, name))
    for name in NPM_PACKAGES:
        _add(tree, name, ("npm", "pack", name))
    _capture_everything(tree.root)
    return tree


def _add(tree: RealTree, name: str, command: Sequence[str]) -> None:
    """Both programs put an archive into the folder they are run in."""
    download = tree.root.with_name(f"{name}.download")
    download.mkdir()
    try:
        subprocess.run(command, cwd=download, check=True, capture_output=True, timeout=DOWNLOAD_SECONDS)
        (archive,) = download.iterdir()
        with tarfile.open(archive) as packed:
            packed.extractall(tree.root / name, filter="data")
        tree.names.append(name)
    except (OSError, ValueError, subprocess.SubprocessError, tarfile.TarError):
        tree.absent[name] = f"`{' '.join(command[-3:])}` did not work here"


def _capture_everything(root: Path) -> None:
    """Everybody has rules of their own for what to leave out; here the same files count for all."""
    for rules in list(root.rglob(".gitignore")):
        rules.unlink()
    (root / ".backtrailignore").write_text("!*\n")

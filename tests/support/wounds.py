"""Damage aimed at one thing in a project's store: an object, a pack, an index."""

from pathlib import Path

from support import damage
from support.git import git
from support.project import Project


def place_of(project: Project, path: str, checkpoint: int) -> tuple[Path, int]:
    """The pack that holds a file or folder of a checkpoint, and the middle of it there, as told by git."""
    ref = f"refs/checkpoints/{checkpoint}"
    name = ref if path == "commit" else f"{ref}:{path}"
    oid = git("rev-parse", name, git_dir=project.git_dir).strip()
    for index in (project.git_dir / "objects" / "pack").glob("*.idx"):
        for line in git("verify-pack", "-v", index).splitlines():
            if line.startswith(oid):
                length, offset = map(int, line.split()[3:5])
                return index.with_suffix(".pack"), offset + length // 2
    raise AssertionError(f"{path} of {checkpoint} is in no pack")


def wound(project: Project, path: str, checkpoint: int) -> None:
    """Flip bits of a file, of a folder or of the commit of a checkpoint."""
    pack, at = place_of(project, path, checkpoint)
    content = bytearray(pack.read_bytes())
    content[at] ^= 0x55
    damage.put(str(pack), bytes(content))

"""Which file system a folder lies on, and whether this kernel learns of the changes made there."""

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

# File systems whose changes are made by others, of which this kernel learns nothing.
_REMOTE = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "fuse",
    "virtiofs",
    "afs",
    "coda",
    "ceph",
    "glusterfs",
    "lustre",
    "beegfs",
    "gpfs",
    "gfs2",
    "ocfs2",
    "orangefs",
    "ncp",
    "vboxsf",
    "vmhgfs",
    "prl_fs",
    "davfs",
)


# File systems that are known to date a folder anew with every name that comes into it or goes, and to keep both or
# neither of these when the power fails.
_DATING = frozenset({"ext3", "ext4", "xfs", "btrfs", "f2fs", "bcachefs", "zfs", "tmpfs"})


class Mount(NamedTuple):
    """A line of the kernel's list of mounts."""

    device: str
    point: str
    kind: str


def is_remote(kind: str) -> bool:
    """Can others change a file system of this type unseen?"""
    return kind.startswith(_REMOTE)


def dates_folders(kind: str) -> bool:
    """Is a folder on such a file system, while its times are the same, known to have the same names in it?"""
    return kind in _DATING


def file_system_type(root: bytes) -> str:
    """What the kernel calls the file system that holds a folder; empty where it can't be told."""
    try:
        device = os.stat(root).st_dev
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            mounts = list(read_mounts(file.read()))
    except OSError:
        return ""
    return kind_of(mounts, f"{os.major(device)}:{os.minor(device)}", os.fsdecode(os.path.realpath(root)))


def kind_of(mounts: list[Mount], device: str, path: str) -> str:
    """The type of the file system with this device; failing that, of the innermost mount around the path.

    Some file systems (btrfs, overlays) give their folders devices that the list of mounts does not have.
    """
    for mount in mounts:
        if mount.device == device:
            return mount.kind
    around = [mount for mount in mounts if _contains(mount.point, path)]
    # Of several mounts on one point, the last one is seen.
    return max(enumerate(around), key=lambda at: (len(at[1].point), at[0]))[1].kind if around else ""


def read_mounts(text: str) -> Iterator[Mount]:
    """The lines of /proc/self/mountinfo; a line that has another form is passed over."""
    for line in text.split("\n"):
        before, _, after = line.partition(" - ")
        left, right = before.split(" "), after.split(" ")
        if len(left) >= 6 and right[0]:
            yield Mount(left[2], _unescaped(left[4]), right[0])


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _contains(point: str, path: str) -> bool:
    return path == point or path.startswith(point.rstrip("/") + "/")

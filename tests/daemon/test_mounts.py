"""Which file systems are polled, and which ones date their folders."""

import os
from pathlib import Path

import pytest

from backtraild.mounts import dates_folders, file_system_type, is_remote, kind_of, read_mounts

MOUNTINFO = r"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
40 22 0:45 / /home/me/far\040away rw,relatime shared:9 master:2 - nfs4 server:/export rw,vers=4.2
41 22 0:46 / /home/me/host rw - fuse.sshfs me@host:/ rw,user_id=1000
42 22 0:47 /sub /data rw - btrfs /dev/vdb rw,subvol=/sub
43 22 0:48 / /mnt rw - ext4 /dev/vdc rw
44 43 0:49 / /mnt rw - 9p C:\134 rw
45 22 0:50 / /new\012line rw - tmpfs tmpfs rw
a line of a kernel to come
"""


@pytest.mark.parametrize(
    ("device", "path", "kind"),
    [
        ("254:0", "/home/me/project", "ext4"),
        ("0:45", "/home/me/far away/project", "nfs4"),
        ("0:46", "/home/me/host", "fuse.sshfs"),
        ("0:99", "/data/project", "btrfs"),
        ("0:99", "/database", "ext4"),
        ("0:99", "/mnt/c/project", "9p"),
        ("0:99", "/home/me/far away/project", "nfs4"),
        ("0:99", "/new\nline/project", "tmpfs"),
        ("0:99", "/", "ext4"),
    ],
)
def test_the_file_system_of_a_folder_is_read_from_the_list_of_mounts(device: str, path: str, kind: str):
    """By its device; where that is not listed, as on btrfs, by the innermost mount that is seen there."""
    assert kind_of(list(read_mounts(MOUNTINFO)), device, path) == kind


def test_without_any_list_nothing_is_known():
    """Then inotify is tried, which is right nearly everywhere."""
    assert kind_of([], "254:0", "/home") == ""


def test_a_folder_that_is_not_there_has_no_file_system_and_breaks_nothing(tmp_path: Path):
    """The disk of a workspace may not be mounted when the daemon starts."""
    assert file_system_type(os.fsencode(tmp_path / "gone")) == ""
    assert not is_remote("")


@pytest.mark.skipif(not Path("/proc/self/mountinfo").exists(), reason="the list of mounts is Linux's")
def test_this_machine_s_own_folders_are_found():
    """The kernel's real list has the form that is expected."""
    assert file_system_type(b"/proc") == "proc"
    assert not is_remote("proc")


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "fuseblk", "virtiofs", "ceph"])
def test_network_and_fuse_file_systems_are_remote(kind: str):
    """Others change them unseen by this kernel, and what their folders are dated to is for others to decide."""
    assert is_remote(kind)
    assert not dates_folders(kind)


@pytest.mark.parametrize("kind", ["", "ext2", "vfat", "exfat", "ntfs3", "overlay", "a file system to come"])
def test_the_times_of_folders_are_relied_on_where_they_are_known_to_be_reliable(kind: str):
    """Elsewhere a start lists every folder, which is only slower."""
    assert not dates_folders(kind)
    assert dates_folders("ext4")

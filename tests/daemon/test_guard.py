"""Which folders Backtrail refuses to watch, on real folders with a home of their own."""

import os
from pathlib import Path

import pytest

from backtrail.errors import RefusedWorkspace
from backtraild.guard import check_root, check_size
from backtraild.model import Limits


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "people" / "me"
    folder.mkdir(parents=True)
    return folder


def check(path: Path | str, home: Path | str, *own: Path) -> str:
    return check_root(str(path), home=str(home), own_folders=[str(folder) for folder in own])


def folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize(
    "name", ["project", "Documents/project", ".config/nvim", ".local/share/app", "snap/x", "bin", "a/deep/er"]
)
def test_a_folder_of_ones_own_is_accepted(home: Path, name: str) -> None:
    """Also inside the folders that may not be watched as a whole."""
    root = folder(home / name)
    assert check(root, home) == str(root)


def test_the_real_path_is_returned(home: Path) -> None:
    """One folder under two names must not become two workspaces."""
    real = folder(home / "project")
    (home / "link").symlink_to(real)
    assert check(home / "link", home) == str(real)
    assert check(f"{home}/x/../link/", home) == str(real)


@pytest.mark.parametrize("relative", [".", "..", "../.."])
def test_home_and_what_contains_it_are_refused(home: Path, relative: str) -> None:
    """Watching everything would fill the disk and record every secret."""
    with pytest.raises(RefusedWorkspace, match="home folder") as caught:
        check(home / relative, home)
    assert caught.value.hint


@pytest.mark.parametrize(
    "name",
    [
        "Desktop",
        "Documents",
        "Downloads",
        "Pictures",
        "Library",
        ".config",
        ".local",
        ".local/share",
        ".cache",
        ".ssh",
    ],
)
def test_the_shared_folders_of_a_home_are_refused_themselves(home: Path, name: str) -> None:
    """Too much lives in them, and .ssh holds keys; the hint points to a folder inside."""
    root = folder(home / name)
    with pytest.raises(RefusedWorkspace, match="share") as caught:
        check(root, home)
    assert "project" in caught.value.hint


def test_shared_folders_with_names_in_another_language_are_known_too(home: Path, tmp_path: Path) -> None:
    """The desktop says in user-dirs.dirs what Documents is called here."""
    elsewhere = folder(tmp_path / "data" / "Bilder")
    (folder(home / ".config") / "user-dirs.dirs").write_bytes(
        b'# comment\nXDG_DOCUMENTS_DIR="$HOME/Dokumente"\n'
        + f'XDG_PICTURES_DIR="{elsewhere}"\n'.encode()
        + b'XDG_MUSIC_DIR="$HOME/"\nXDG_BROKEN_DIR=\xff\n#XDG_VIDEOS_DIR="$HOME/project"\n'
    )
    for root in (folder(home / "Dokumente"), elsewhere):
        with pytest.raises(RefusedWorkspace, match="share"):
            check(root, home)
    assert check(folder(home / "Dokumente" / "project"), home)
    assert check(folder(home / "project"), home)


def test_a_symlink_does_not_get_around_the_rules(home: Path) -> None:
    """It is the folder that counts, not the way to it."""
    (home / "innocent").symlink_to(home)
    with pytest.raises(RefusedWorkspace, match="home folder"):
        check(home / "innocent", home)
    (home / "Documents").symlink_to(folder(home / "Dropbox"))
    with pytest.raises(RefusedWorkspace, match="share"):
        check(home / "Dropbox", home)


@pytest.mark.parametrize(
    "root",
    [
        "/",
        "/etc",
        "/usr",
        "/bin",
        "/var",
        "/tmp",  # noqa: S108 - named to be refused
        "/var/tmp",  # noqa: S108
        "/dev",
        "/home",
        "/root",
        "/opt",
        "/usr/bin/..",
    ],
)
def test_system_folders_are_refused(home: Path, root: str) -> None:
    """Undo for an operating system is another program's task."""
    with pytest.raises(RefusedWorkspace):
        check(root, home)


@pytest.mark.parametrize("root", ["/proc/self", "/proc/sys/kernel", "/dev/pts", "/sys/kernel"])
def test_everything_that_the_kernel_makes_up_is_refused(home: Path, root: str) -> None:
    """Reading some of these files blocks for ever, and some change as they are read."""
    if not Path(root).is_dir():
        pytest.skip(f"this machine has no {root}")
    with pytest.raises(RefusedWorkspace, match="kernel"):
        check(root, home)


def test_a_folder_inside_a_system_folder_may_be_watched(home: Path, tmp_path: Path) -> None:
    """Projects live in /srv/site, /opt/tool and /tmp/experiment; tmp_path is one of the last kind."""
    assert check(folder(tmp_path / "experiment"), home)


@pytest.mark.parametrize("odd_home", ["/", "/root", "", "relative", "/no/such/home"])
def test_an_odd_home_neither_crashes_nor_forbids_everything(tmp_path: Path, odd_home: str) -> None:
    """Containers run with HOME=/ or without any."""
    assert check(folder(tmp_path / "project"), odd_home)
    for root in ("/", "/etc", "/root"):
        with pytest.raises(RefusedWorkspace):
            check(root, odd_home)


def test_the_home_of_root_is_called_a_home(tmp_path: Path) -> None:
    """In a container everybody is root; "belongs to the system" would puzzle."""
    with pytest.raises(RefusedWorkspace, match="home folder"):
        check("/root", "/root")


def test_backtrails_own_folders_are_refused_inside_and_around(home: Path) -> None:
    """A store that captures itself grows with every checkpoint of itself."""
    own = folder(home / "state" / "backtrail" / "data")
    for root in (own, folder(own / "workspaces" / "x"), own.parent, own.parent.parent):
        with pytest.raises(RefusedWorkspace, match="Backtrail"):
            check(root, home, own)
    assert check(folder(home / "state" / "backtrail2"), home, own)
    assert check(folder(own.parent / "data2"), home, own)


def test_own_folders_are_found_behind_symlinks_and_before_they_exist(home: Path) -> None:
    """The data folder is often a link to a larger disk, and at the first start it is not there yet."""
    real = folder(home / "disk" / "store")
    (home / "data").symlink_to(real)
    with pytest.raises(RefusedWorkspace, match="Backtrail"):
        check(home / "disk", home, home / "data")
    with pytest.raises(RefusedWorkspace, match="Backtrail"):
        check(folder(home / "later"), home, home / "later" / "not" / "yet")


@pytest.mark.parametrize("name", [".git", ".git/hooks", "sub/.GIT"])
def test_a_repositorys_own_folder_is_refused(home: Path, name: str) -> None:
    """Restoring git's files under its feet destroys repositories."""
    with pytest.raises(RefusedWorkspace, match=r"\.git folder"):
        check(folder(home / "project" / name), home)


def test_what_is_no_folder_is_refused_with_the_reason(home: Path) -> None:
    """A typo, a file and a dangling link each get their own sentence or at least a true one."""
    (home / "file").write_text("x")
    (home / "loop").symlink_to(home / "loop")
    (home / "dangling").symlink_to(home / "nothing")
    for name, reason in (
        ("file", "not a folder"),
        ("missing", "no folder"),
        ("dangling", "no folder"),
        ("loop", "folder"),
    ):
        with pytest.raises(RefusedWorkspace, match=reason):
            check(home / name, home)


@pytest.mark.parametrize("path", ["relative/path", "", "/with\0nul", "/lone\ud800surrogate"])
def test_a_path_that_cannot_be_a_folder_is_refused_and_can_be_printed(home: Path, path: str) -> None:
    """The daemon's own current folder means nothing to whoever asks."""
    with pytest.raises(RefusedWorkspace) as caught:
        check(path, home)
    assert caught.value.message.isprintable()


def test_a_name_that_is_not_utf_8_is_accepted(home: Path) -> None:
    """Old disks have such folders, and they deserve undo as well."""
    root = os.fsencode(home) + b"/caf\xe9"
    os.mkdir(root)
    assert os.fsencode(check(os.fsdecode(root), home)) == root


# --- size


def test_a_folder_within_the_limits_needs_no_force() -> None:
    """The limits themselves are still allowed."""
    check_size(10, 1000, Limits(max_files=10, max_bytes=1000), force=False)


@pytest.mark.parametrize(("files", "size"), [(200_001, 1), (1, 20 * 1024**3 + 1)])
def test_a_folder_that_is_too_large_is_refused_with_figures_and_a_way_out(files: int, size: int) -> None:
    """Often it is a folder of data that should be excluded; sometimes it is meant, and --force says so."""
    with pytest.raises(RefusedWorkspace) as caught:
        check_size(files, size, Limits(), force=False)
    assert f"{files:,} files" in caught.value.message
    assert "200,000 files and 20.0 GiB" in caught.value.message
    assert "--force" in caught.value.hint
    assert "--exclude" in caught.value.hint
    check_size(files, size, Limits(), force=True)

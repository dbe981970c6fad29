"""Where Backtrail keeps things, and who may look at them."""

import os
from pathlib import Path

import pytest

from backtrail.paths import UnusableFolder, places


def test_one_variable_puts_everything_under_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Tests and checks run beside a real daemon without touching it."""
    monkeypatch.setenv("BACKTRAIL_HOME", str(tmp_path / "here"))
    found = places()
    found.make()
    for path in (
        found.config_file,
        found.registry,
        found.event_log,
        found.log_file,
        found.lock,
        found.cookies,
        found.store("a-1"),
    ):
        assert tmp_path / "here" in path.parents
        assert path.parent.is_dir()
    assert found.store("a-1") == tmp_path / "here" / "data" / "workspaces" / "a-1"


def test_a_relative_home_holds_wherever_the_daemon_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Client and daemon may run in different folders."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BACKTRAIL_HOME", "here")
    found = places()
    monkeypatch.chdir("/")
    assert found.data == tmp_path / "here" / "data"


@pytest.mark.parametrize("value", [None, ""])
def test_without_it_the_platform_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None):
    """An empty variable is an unset one."""
    if value is not None:
        monkeypatch.setenv("BACKTRAIL_HOME", value)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    found = places()
    assert found.config == tmp_path / ".config" / "backtrail"
    assert found.data == tmp_path / ".local" / "share" / "backtrail"
    assert found.runtime == tmp_path / "runtime" / "backtrail"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_the_folders_are_for_their_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int):
    """They hold copies of private files; a careless umask, or an earlier careless version, changes nothing."""
    monkeypatch.setenv("BACKTRAIL_HOME", str(tmp_path / "here"))
    found = places()
    found.data.mkdir(parents=True)
    found.data.chmod(0o755)
    before = os.umask(umask)
    try:
        found.make()
        found.make()
    finally:
        os.umask(before)
    for folder in (found.config, found.data, found.data / "workspaces", found.runtime):
        assert folder.stat().st_mode & 0o7777 == 0o700


def test_a_file_in_the_way_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The daemon must say why it can't start."""
    (tmp_path / "here").write_text("a file")
    monkeypatch.setenv("BACKTRAIL_HOME", str(tmp_path / "here"))
    with pytest.raises(UnusableFolder, match="here/config can't be used"):
        places().make()


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
STRANGER = 12345


@needs_root
@pytest.mark.parametrize("folder", ["", "config", "data", "data/workspaces", "run"])
def test_a_folder_that_somebody_else_made_is_refused(tmp_path: Path, folder: str):
    """In a shared /tmp others can be quicker, and would own what is put into it."""
    found = places(tmp_path / "here")
    found.make()
    os.chown(tmp_path / "here" / folder, STRANGER, -1)
    with pytest.raises(UnusableFolder, match=f"user with the number {STRANGER}") as refused:
        found.make()
    assert "BACKTRAIL_HOME" in refused.value.hint


@needs_root
def test_a_link_that_somebody_else_put_there_is_refused(tmp_path: Path):
    """It leads to a folder of ours today, and to another one tomorrow."""
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "here").symlink_to(tmp_path / "real")
    os.chown(tmp_path / "here", STRANGER, -1, follow_symlinks=False)
    with pytest.raises(UnusableFolder, match=f"user with the number {STRANGER}"):
        places(tmp_path / "here").make()


def test_a_home_in_which_everybody_may_exchange_folders_is_refused(tmp_path: Path):
    """Unless it is like /tmp, where nobody may move what belongs to another."""
    home = tmp_path / "here"
    home.mkdir()
    home.chmod(0o777)
    with pytest.raises(UnusableFolder, match="everybody may exchange"):
        places(home).make()
    home.chmod(0o1777)
    places(home).make()


def test_a_link_of_ones_own_is_followed(tmp_path: Path):
    """Data that were moved to a larger disk stay where they are."""
    (tmp_path / "disk").mkdir(mode=0o700)
    (tmp_path / "here").symlink_to(tmp_path / "disk")
    places(tmp_path / "here").make()
    assert (tmp_path / "disk" / "run").is_dir()


def test_the_home_itself_is_made_for_its_owner_alone(tmp_path: Path):
    """Names of folders tell something, too."""
    before = os.umask(0o022)
    try:
        places(tmp_path / "deep" / "here").make()
    finally:
        os.umask(before)
    assert (tmp_path / "deep" / "here").stat().st_mode & 0o777 == 0o700

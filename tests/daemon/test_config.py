"""The configuration file: what is in it holds, and what is wrong with it is said in a sentence."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from backtrail.errors import UsageError
from backtraild.config import configured, read_config
from backtraild.model import Limits, WorkspaceConfig


def written(folder: Path, text: str | bytes) -> Path:
    file = folder / "config.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_without_a_file_the_defaults_hold(tmp_path: Path):
    """Most people never write one."""
    assert read_config(tmp_path / "config.toml") == WorkspaceConfig()


def test_an_empty_file_changes_nothing(tmp_path: Path):
    """A file of comments is a file of defaults."""
    assert read_config(written(tmp_path, "# quiet = 1\n")) == WorkspaceConfig()


def test_every_setting_is_read(tmp_path: Path):
    """What is documented must have an effect."""
    text = """
        auto_checkpoint = false
        max_checkpoints = 7
        exclude_patterns = ["*.iso", "/größer"]
        quiet = 1
        patience = 30.5
        max_file_size = 10
        max_files = 20
        max_bytes = 30
        watcher = "poll"
        max_store_bytes = 40
        min_free_bytes = 0
    """
    assert read_config(written(tmp_path, text)) == WorkspaceConfig(
        auto_checkpoint=False,
        max_checkpoints=7,
        exclude_patterns=("*.iso", "/größer"),
        quiet=1.0,
        patience=30.5,
        limits=Limits(10, 20, 30),
        watcher="poll",
        max_store_bytes=40,
        min_free_bytes=0,
    )


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("quiet =\n", "line 1"),
        ("quiet = 'soon'", "quiet"),
        ("quiet = true", "quiet"),
        ("quiet = 0", "quiet"),
        ("quiet = -1.5", "quiet"),
        ("quiet = nan", "quiet"),
        ("patience = inf", "patience"),
        ("patience = 0.1", "patience"),
        ("quiet = 20", "patience"),
        ("max_checkpoints = 0", "max_checkpoints"),
        ("max_checkpoints = 1.5", "max_checkpoints"),
        ("max_store_bytes = 0", "max_store_bytes"),
        ("min_free_bytes = -1", "min_free_bytes"),
        ("min_free_bytes = 0.5", "min_free_bytes"),
        ("max_file_size = -1", "max_file_size"),
        ("max_files = '9'", "max_files"),
        ("max_bytes = 0", "max_bytes"),
        ("auto_checkpoint = 1", "auto_checkpoint"),
        ("auto_checkpoint = 'yes'", "auto_checkpoint"),
        ("exclude_patterns = 'a'", "exclude_patterns"),
        ("exclude_patterns = [1]", "exclude_patterns"),
        ("exclude_patterns = ['']", "exclude_patterns"),
        ("watcher = 'inotify'", "watcher"),
        ("watcher = 3", "watcher"),
        ("quite = 1", "quite"),
        ("[workspace]\nquiet = 1", "workspace"),
        ("quiet = 1\nquiet = 2\n", "line 2"),
    ],
)
def test_what_is_wrong_is_said_with_the_file_and_the_key(tmp_path: Path, text: str, named: str):
    """A daemon that does not start must say which line of which file keeps it from starting."""
    file = written(tmp_path, text)
    with pytest.raises(UsageError) as failed:
        read_config(file)
    assert failed.value.message.startswith(f"The configuration file {file} can't be used: ")
    assert named in failed.value.message
    assert failed.value.message.endswith(".")
    assert not failed.value.message.endswith("..")
    assert failed.value.hint
    assert failed.value.exit_status == 2


def test_a_file_that_is_no_text_is_refused(tmp_path: Path):
    """A photograph under that name is a mistake, not a crash."""
    with pytest.raises(UsageError, match=r"config\.toml can't be used: byte 8 is not UTF-8"):
        read_config(written(tmp_path, b"quiet = \xff"))


def test_a_folder_in_its_place_is_refused(tmp_path: Path):
    """Silently going on with the defaults would ignore what the user wrote."""
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(UsageError, match="Is a directory"):
        read_config(tmp_path / "config.toml")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path):
    """The same for a file of another user."""
    written(tmp_path, "quiet = 1").chmod(0)
    with pytest.raises(UsageError, match="Permission denied"):
        read_config(tmp_path / "config.toml")


def test_settings_hold_over_what_held_before_and_leave_the_rest():
    """Whoever changes one thing did not mean to change another."""
    defaults = WorkspaceConfig(exclude_patterns=("*.iso",), quiet=1.0)
    before = WorkspaceConfig(False, 7, ("*.iso", "*.log"), 2.0, 20.0, Limits(1, 2, 3), "poll")
    assert configured(before, {}, defaults) is before
    assert configured(before, {"quiet": 3}, defaults) == replace(before, quiet=3.0)
    assert configured(before, {"max_files": 9}, defaults) == replace(before, limits=Limits(1, 9, 3))
    assert configured(before, {"auto_checkpoint": True}, defaults) == replace(before, auto_checkpoint=True)
    assert configured(before, {"exclude_patterns": ["*.o"]}, defaults).exclude_patterns == ("*.iso", "*.o")
    everything = {
        "auto_checkpoint": True,
        "max_checkpoints": 8,
        "exclude_patterns": (),
        "quiet": 0.1,
        "patience": 0.2,
        "max_file_size": 4,
        "max_files": 5,
        "max_bytes": 6,
        "watcher": "auto",
        "max_store_bytes": 7,
        "min_free_bytes": 0,
    }
    assert configured(before, everything, defaults) == WorkspaceConfig(
        True, 8, ("*.iso",), 0.1, 0.2, Limits(4, 5, 6), "auto", 7, 0
    )


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"quiet": "soon"}, "quiet"),
        ({"quiet": 0}, "quiet"),
        ({"quiet": 30}, "patience"),
        ({"max_files": 1.5}, "max_files"),
        ({"max_bytes": True}, "max_bytes"),
        ({"max_checkpoints": None}, "max_checkpoints"),
        ({"watcher": "magic"}, "watcher"),
        ({"exclude_patterns": "*.iso"}, "exclude_patterns"),
        ({"exclude_patterns": ["ok", ""]}, "exclude_patterns"),
        ({"auto_checkpoints": True}, "auto_checkpoints"),
    ],
)
def test_a_setting_that_makes_no_sense_is_named(settings: dict[str, object], named: str):
    """A program that misspells a setting must hear of it, not find out later that it never held."""
    with pytest.raises(UsageError) as refusal:
        configured(WorkspaceConfig(), settings, WorkspaceConfig())
    assert named in refusal.value.message
    assert refusal.value.message.endswith(".")

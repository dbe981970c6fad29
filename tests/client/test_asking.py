"""Paths, names and times in all forms that callers have them in."""

import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from backtrail import asking
from backtrail.cli import typed
from backtrail.errors import UnknownPath, UsageError
from backtrail.values import CheckpointConfig, Content


def test_the_home_folder_and_the_current_one_are_resolved_before_they_are_sent(tmp_path, monkeypatch):
    """The daemon has another current folder, and should not guess whose home is meant."""
    monkeypatch.chdir(tmp_path)
    assert asking.absolute("~/project") == f"{tmp_path}/project"
    assert asking.absolute(".") == str(tmp_path)
    assert asking.absolute(Path("a/../b")) == f"{tmp_path}/b"


def test_a_path_that_is_not_utf8_is_sent_reversibly():
    """A file name is bytes; JSON has no place for them."""
    assert asking.absolute(b"/caf\xe9") == '"/caf\\351"'
    assert asking.absolute(os.fsdecode(b"/caf\xe9")) == '"/caf\\351"'
    assert asking.absolute('"/caf\\351"') == '"/caf\\351"'


def test_an_id_is_sent_as_it_is_and_anything_else_is_a_path(tmp_path, monkeypatch):
    """`client.workspace("docs")` means a folder; ids have a form that folders rarely have."""
    monkeypatch.chdir(tmp_path)
    assert asking.workspace("project-0123456789") == "project-0123456789"
    assert asking.workspace("project") == f"{tmp_path}/project"
    assert asking.workspace(Path("project-0123456789")) == f"{tmp_path}/project-0123456789"


def test_a_remote_is_a_path_unless_a_colon_comes_before_any_slash(tmp_path, monkeypatch):
    """As git has it; and the daemon has no current folder of the caller's."""
    monkeypatch.chdir(tmp_path)
    for address in ("https://example.org/x", "git@host:x", "host:/x", "-x:y", "ext::sh -c true"):
        assert asking.remote(address) == typed.remote(address) == address
    for path in ("x.git", "./a:b", "~/x.git", "/x:y", "-x"):
        assert asking.remote(path) == typed.remote(path) == asking.absolute(path)
    assert asking.remote(Path("a:b")) == f"{tmp_path}/a:b"
    with pytest.raises(UsageError, match="The remote is empty"):
        typed.remote("")


@pytest.mark.parametrize("path", ["src/app.py", b"src/app.py", Path("src/app.py")])
def test_a_relative_path_is_relative_to_the_root(path):
    """As all paths in answers are."""
    assert asking.inside("/shop", path) == "src/app.py"


def test_an_absolute_path_is_made_relative_also_through_a_symlink(tmp_path):
    """Editors know absolute paths only, and not always the real ones."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    root = str(tmp_path / "real")
    assert asking.inside(root, tmp_path / "real" / "a" / "b.txt") == "a/b.txt"
    assert asking.inside(root, tmp_path / "link" / "b.txt") == "b.txt"
    assert asking.inside(root, root) == "."


@pytest.mark.parametrize("path", ["/elsewhere/x", "/shopping/x", "/shop/../x"])
def test_an_absolute_path_outside_is_refused_with_both_paths(path):
    """Silently taking it as relative would restore another file."""
    with pytest.raises(UsageError, match="is not in the workspace /shop"):
        asking.inside("/shop", path)


def test_one_string_as_paths_is_refused():
    """paths="src" would mean the files s, r and c."""
    with pytest.raises(UsageError, match="list of paths"):
        asking.all_inside("/shop", "src")


def test_a_time_with_and_without_a_zone_says_the_same_instant():
    """A naive datetime is the machine's own time, as everywhere in Python."""
    moment = datetime(2026, 11, 15, 14, 3, tzinfo=UTC)
    naive = moment.astimezone().replace(tzinfo=None)
    there = moment.astimezone(timezone(timedelta(hours=5)))
    times = {datetime.fromisoformat(asking.time(given)) for given in (moment, naive, there)}
    assert times == {moment}
    assert asking.time("yesterday") == "yesterday"


def test_settings_are_sent_only_where_a_configuration_is_given():
    """Watching a folder again without one must not reset what was decided before."""
    plain = asking.watch("/w", None, (), force=False, wait=True, store=None)
    assert (plain.auto_checkpoint, plain.max_checkpoints, plain.exclude_patterns) == (None, None, None)
    config = CheckpointConfig(max_checkpoints=7, exclude_patterns=["*.log"])
    full = asking.watch("/w", config, ["*.tmp"], force=False, wait=True, store="/s")
    assert (full.auto_checkpoint, full.max_checkpoints, full.store) == (True, 7, "/s")
    assert full.exclude_patterns == ["*.log", "*.tmp"]


def test_reading_a_folder_says_that_it_is_one():
    """An empty file would be the wrong answer."""
    with pytest.raises(UnknownPath, match="src is a folder"):
        asking.piece_of(Content(path="src", kind="folder", size=0))

"""What clients may ask for, and how it is understood."""

from datetime import UTC, datetime, timedelta

import pytest

from backtrail import protocol
from backtrail.errors import UsageError
from backtraild.model import Kind
from backtraild.naming import Name
from backtraild.server import asked


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("src/app.py", b"src/app.py"),
        ("./src//app.py/", b"src/app.py"),
        (".", b""),
        ("", b""),
        ("/shop/src", b"src"),
        ("/shop", b""),
        ("/shop/x/../src", b"src"),
        ('"caf\\351"', b"caf\xe9"),
        ('"/shop/caf\\351"', b"caf\xe9"),
    ],
)
def test_a_path_is_relative_to_the_root_however_it_was_given(text: str, path: bytes):
    """A program has an absolute path at hand, a person types a relative one."""
    assert asked.path(text, "/shop") == path


@pytest.mark.parametrize(
    "text", ["../x", "a/../../x", "/elsewhere", "/shopshop", "/shop/../x", "a\0b", '"\\000"']
)
def test_a_path_that_is_not_in_the_workspace_is_refused(text: str):
    """Nothing outside can be meant."""
    with pytest.raises(UsageError, match="path"):
        asked.path(text, "/shop")


def test_a_workspace_at_the_root_of_the_disk_has_paths_too():
    """Containers keep their work in `/`."""
    assert asked.path("/src/app.py", "/") == b"src/app.py"


@pytest.mark.parametrize(
    ("checkpoint", "given", "name"),
    [
        ("42", None, Name("42")),
        ("42:src", None, Name("42", b"src")),
        ("42:", None, Name("42", b"")),
        ("@{14:03}:", None, Name("@{14:03}", b"")),
        ("@{14:03}", None, Name("@{14:03}")),
        ("42", "src", Name("42", b"src")),
    ],
)
def test_a_file_is_named_with_its_checkpoint_or_beside_it(checkpoint: str, given: str | None, name: Name):
    """`42:` is the root folder, as git has it."""
    assert asked.named(checkpoint, given, "/shop") == name


def test_two_paths_at_once_are_one_too_many():
    """Which one is meant?"""
    with pytest.raises(UsageError, match="twice"):
        asked.named("42:src", "lib", "/shop")


def test_everything_is_meant_where_the_root_is_among_the_paths():
    """`restore 42 .` in the root restores all."""
    assert asked.paths(["src", "."], "/shop") == ()
    assert asked.paths(["src", "/shop/lib"], "/shop") == (b"src", b"lib")


def test_since_begins_where_a_day_begins_and_until_ends_where_it_ends():
    """`--since 2026-11-02 --until 2026-11-02` is that whole day."""
    params = protocol.List(
        workspace="w", since="2026-11-02T00:00:00Z", until="2026-11-02 00:00:00Z", kind="auto"
    )
    query = asked.query(params, "/shop")
    assert query.since == datetime(2026, 11, 2, tzinfo=UTC)
    assert query.until == datetime(2026, 11, 2, tzinfo=UTC) + timedelta(seconds=1, microseconds=-1)
    assert query.kind is Kind.AUTO


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"limit": 0}, "0 checkpoints"),
        ({"kind": "odd"}, "'odd'"),
        ({"since": "soon"}, "soon"),
        ({"path": ".."}, "path"),
    ],
)
def test_a_list_that_makes_no_sense_is_refused(wish: dict, said: str):
    """The sentence has the value in it."""
    with pytest.raises(UsageError, match=said):
        asked.query(protocol.List(workspace="w", **wish), "/shop")


def test_a_list_ends_at_its_limit_whatever_is_asked():
    """The next page is asked for with its cursor."""
    assert asked.query(protocol.List(workspace="w", limit=10**9), "/shop").limit == protocol.MAX_LIST


@pytest.mark.parametrize("kind", ["auto", "baseline", "restore", "", "odd"])
def test_only_the_daemon_makes_checkpoints_of_other_kinds(kind: str):
    """A program can't pretend that its checkpoint is a safety checkpoint."""
    with pytest.raises(UsageError, match="kind"):
        asked.intent(protocol.Save(workspace="w", kind=kind))


def test_settings_that_are_not_given_are_left_to_the_defaults():
    """Watching a folder again without settings changes none."""
    assert asked.settings(protocol.Watch(path="/shop")) == {}
    params = protocol.Watch(path="/shop", quiet=1.0, exclude_patterns=[])
    assert asked.settings(params) == {"quiet": 1.0, "exclude_patterns": []}


def test_a_folder_to_watch_is_named_absolutely():
    """The daemon's own current folder is nobody's business."""
    assert asked.folder("/shop") == "/shop"
    with pytest.raises(UsageError, match="not absolute"):
        asked.folder("work")

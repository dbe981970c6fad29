"""What people type for paths and names, as the daemon gets it; and lists that are longer than one answer."""

import os
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from backtrail.cli import typed
from backtrail.cli.commands.listing import COMMANDS
from backtrail.cli.invocation import Invocation
from backtrail.errors import UsageError
from backtrail.protocol import List, Method
from backtrail.values import CheckpointSummary, SummaryPage


@pytest.mark.parametrize(
    ("word", "name", "path"),
    [
        ("42", "42", None),
        ("42:src/app.py", "42", "src/app.py"),
        ("@{14:03}", "@{14:03}", None),
        ("@{14:03}:a:b", "@{14:03}", "a:b"),
        ("42:", "42", ""),
        ("42:a\nb", "42", "a\nb"),
        ("42:caf\udce9", "42", '"caf\\351"'),
        ("@{14:03}x:y", "@{14:03}x:y", None),
        ("@{14:03", "@{14:03", None),
    ],
)
def test_a_name_is_taken_apart_at_the_colon_that_is_not_in_a_time(
    word: str, name: str, path: str | None
) -> None:
    """`@{14:03}:src` has two colons with two meanings."""
    assert typed.split_name(word) == (name, path)


def test_a_workspace_is_a_path_unless_it_looks_like_an_id_and_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is called like an id is still a folder."""
    monkeypatch.chdir(tmp_path)
    assert typed.workspace(None) == str(tmp_path)
    assert typed.workspace("sub/..") == str(tmp_path)
    assert typed.workspace("~/x") == f"{os.environ['HOME']}/x"
    assert typed.workspace("work-0123456789") == "work-0123456789"
    (tmp_path / "work-0123456789").mkdir()
    assert typed.workspace("work-0123456789") == str(tmp_path / "work-0123456789")


def test_paths_are_seen_from_the_current_folder_if_that_is_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And from the root otherwise; what is outside is refused wherever it is seen from."""
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    monkeypatch.chdir(root / "src")
    assert typed.path_in(str(root), "app.py") == "src/app.py"
    assert typed.path_in(str(root), "../docs") == "docs"
    assert typed.paths_in(str(root), ["app.py", ".."]) == []
    monkeypatch.chdir(tmp_path)
    assert typed.path_in(str(root), "app.py") == "app.py"
    assert typed.path_in(str(root), str(root / "caf\udce9")) == '"caf\\351"'
    for outside in ("..", "../workbench", str(tmp_path), ""):
        with pytest.raises(UsageError):
            typed.path_in(str(root), outside)


def test_a_symlink_that_is_captured_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parents may be symlinks; it itself is what somebody wants back."""
    root = tmp_path / "work"
    root.mkdir()
    (root / "link").symlink_to("/etc")
    (tmp_path / "alias").symlink_to(root)
    monkeypatch.chdir(tmp_path)
    assert typed.path_in(str(root), str(tmp_path / "alias" / "link")) == "link"


class Pages(Invocation):
    """A daemon with 25 checkpoints that gives ten at once, and what was asked of it."""

    def __init__(self, number: int) -> None:
        options = Namespace(json=False, quiet=False, workspace="/x", number=number, path=None, files=False)
        options.since = options.until = options.session = options.kind = None
        super().__init__("list", options)
        self.asked: list[tuple[int | None, int]] = []
        self.given: Any = None

    def ask(self, _: Method[Any, Any], params: Any) -> Any:
        assert isinstance(params, List)
        self.asked.append((params.cursor, params.limit))
        first = (params.cursor or 26) - 1
        numbers = range(first, max(0, first - min(params.limit, 10)), -1)
        return SummaryPage(
            checkpoints=[_summary(found) for found in numbers], next=numbers[-1] if numbers[-1] > 1 else None
        )

    def give_long(self, value: object, _: object) -> None:
        self.given = value


def _summary(number: int) -> CheckpointSummary:
    return CheckpointSummary(
        number=number, id="", tree="", kind="auto", message="", timestamp=datetime.now(UTC), files_changed=0,
        files_changed_count=0, insertions=0, deletions=0, metadata={}, skipped=[], pinned=False, parent=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("number", "asked", "rest"),
    [
        (5, [(None, 5)], 21),
        (15, [(None, 15), (16, 5)], 11),
        (25, [(None, 25), (16, 15), (6, 5)], None),
        (99, [(None, 99), (16, 89), (6, 79)], None),
    ],
)
def test_a_list_goes_on_until_there_are_as_many_as_were_wanted(
    number: int, asked: list[tuple[int | None, int]], rest: int | None
) -> None:
    """Whoever asks for 5,000 wants 5,000, however many the daemon gives at once."""
    pages = Pages(number)
    assert COMMANDS["list"].run(pages) == 0
    assert pages.asked == asked
    assert [found.number for found in pages.given.checkpoints] == list(range(25, max(0, 25 - number), -1))
    assert pages.given.next == rest

"""Which folder of which workspace a watch stands for."""

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("inotify is Linux's", allow_module_level=True)

from backtraild.ignore import FolderRules
from backtraild.model import Path
from backtraild.watch.targets import Target, Targets


class Watcher:
    """Somebody who wants to know."""

    def noticed(self, *_: object) -> None:
        raise AssertionError("nothing happens here")


class Rules:
    """Tells for which folders rules were made."""

    def __init__(self) -> None:
        self.asked: list[Path] = []

    def __call__(self, folder: Path) -> FolderRules:
        self.asked.append(folder)
        return FolderRules.for_root().child(folder)


def folders(targets: Targets, number: int) -> list[tuple[object, Path]]:
    return [(target.watcher, target.folder) for target in targets.of(number)]


def test_rules_of_adopted_folders_are_made_when_something_happens_in_them() -> None:
    """A start has tens of thousands of folders, and nothing will happen in most of them."""
    targets, mine, rules = Targets(), Watcher(), Rules()
    targets.adopt(mine, {b"": 1, b"a": 2, b"b": 3}, rules)
    assert len(targets) == 3
    assert rules.asked == []
    (target,) = targets.of(2)
    assert (target.watcher, target.folder) == (mine, b"a")
    assert target.rules is not None
    assert targets.of(2) == (target,)
    assert rules.asked == [b"a"]
    assert len(targets) == 3


def test_a_folder_in_two_workspaces_belongs_to_both_however_they_came_to_it() -> None:
    """The kernel gives it one watch. Each lets go of its own part."""
    targets, mine, other, third = Targets(), Watcher(), Watcher(), Watcher()
    targets.adopt(mine, {b"": 1, b"in": 2}, Rules())
    targets.adopt(other, {b"": 2, b"deep": 3}, Rules())
    targets.aim(2, Target(third, b"elsewhere"))
    assert folders(targets, 2) == [(mine, b"in"), (other, b""), (third, b"elsewhere")]
    assert folders(targets, 3) == [(other, b"deep")]
    assert not targets.release(2, mine, b"in")
    assert not targets.release(2, third, b"elsewhere")
    assert targets.release(2, other, b"")
    assert targets.of(2) == ()


def test_an_adopted_folder_that_was_entered_since_has_the_new_path() -> None:
    """A folder that was moved keeps its watch, and is told by where it is now."""
    targets, mine = Targets(), Watcher()
    targets.adopt(mine, {b"old": 1}, Rules())
    targets.aim(1, Target(mine, b"new"))
    assert folders(targets, 1) == [(mine, b"new")]
    assert not targets.release(1, mine, b"old")
    assert targets.release(1, mine, b"new")


def test_a_watch_that_is_gone_stands_for_nothing() -> None:
    """The kernel says so when a folder was deleted."""
    targets, mine = Targets(), Watcher()
    targets.adopt(mine, {b"old": 1}, Rules())
    targets.forget(1)
    assert targets.of(1) == ()
    assert len(targets) == 0

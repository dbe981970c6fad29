"""What must hold in a home after whatever happened to the daemon that worked on it, told by one that starts there."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backtrail.errors import NothingToDo, UnknownCheckpoint
from backtraild import blanks
from backtraild.model import Checkpoint, Intent
from backtraild.restore.journal import Journal
from backtraild.service import Service
from backtraild.state import Query
from support.disk import fsck, snapshot
from support.git import git
from support.live import places_in
from support.project import Files, files_of
from support.scene_checks import REMOTE
from support.watching import eventually

IGNORED = b"ignored"
_READY = 30.0  # far beyond what is promised, which an idle machine measures: a busy one must not fail a test


@dataclass
class Known:
    """What somebody was told, and what may have become of it."""

    kept: dict[int, tuple[str, str]] = field(default_factory=dict)  # id and tree of each checkpoint
    gone: set[int] = field(default_factory=set)  # it was acknowledged that these are no more
    disks: list[Files] = field(default_factory=list)  # one of these the workspace has to be, if any is known
    lets_go: bool = False  # an unanswered request may have let go of any

    def told(self, made: Iterable[Mapping[str, Any]]) -> None:
        """A checkpoint was acknowledged."""
        for each in made:
            assert each["number"] not in {*self.kept, *self.gone}, f"number {each['number']} was given twice"
            self.kept[each["number"]] = each["id"], each["tree"]

    def let_go(self, numbers: Iterable[int]) -> None:
        """A deletion was acknowledged."""
        for number in numbers:
            self.gone.add(number)
            self.kept.pop(number, None)


def listed(service: Service, workspace: str) -> dict[int, Checkpoint]:
    """Every checkpoint there is."""
    page = service.list(workspace, Query(limit=1000))
    return {checkpoint.number: checkpoint for checkpoint in page.checkpoints}


def learn(git_dir: Path) -> dict[int, tuple[str, str]]:
    """The checkpoints of a store, told by git: id and tree of each."""
    said = git(
        "for-each-ref",
        "--format=%(refname:lstrip=2) %(objectname) %(tree)",
        "refs/checkpoints",
        git_dir=git_dir,
    )
    rows = [line.split() for line in said.decode().splitlines()]
    return {int(number): (commit, tree) for number, commit, tree in rows}


def judge(folder: Path, root: Path, known: Known, check: Callable[[Service, str], None]) -> dict[str, float]:
    """Start on this home as it is, and fail unless everything that was promised holds."""
    with _Started(folder, root) as started:
        check(started.service, started.id)
        judge_disk(snapshot(root), known)
        _judge_checkpoints(started, known)
        _judge_events(started)
        _judge_next_save(started, known)
        problems = started.service.verify(started.id).problems
        assert not problems, problems
        fsck(started.git_dir)
        restored = _judge_undo(started, known)
    left = leftovers(folder)
    assert not left, f"left behind: {left}"
    return {"most seconds to ready": started.seconds, "undone afterwards": restored}


def leftovers(folder: Path, *, in_use: bool = False) -> list[str]:
    """Files in stores and workspaces that nobody needs, and that an interrupted daemon may have left there.

    A daemon that uses them has made files for its next save, and announced its next restore.
    """
    stores = folder / "home" / "data" / "workspaces"
    places = [stores, *(path for path in folder.iterdir() if path.is_dir() and path.name != "home")]
    found = [path for place in places for path in place.rglob("*") if _is_leftover(path.name)]
    # What git itself could not remove from the repository that it pushed to is left to that repository's `gc`.
    found = [path for path in found if not (REMOTE in path.parts and path.name.startswith("tmp_"))]
    found = [path for path in found if not (in_use and _is_made_ahead(path))]
    return sorted(str(path.relative_to(folder)) for path in found)


def _is_made_ahead(path: Path) -> bool:
    return path.name.startswith(blanks.PREFIX) or Journal(str(path)).announced() is not None


def _is_leftover(name: str) -> bool:
    return (
        name.startswith((".backtrail-restore-", "tmp_", blanks.PREFIX))
        or name.endswith((".tmp", "restore.journal"))
        or (name.endswith(".lock") and name not in ("daemon.lock", "starting.lock"))
    )


class _Started:
    """A service on a home, until the end of the block."""

    def __init__(self, folder: Path, root: Path) -> None:
        begun = time.monotonic()
        self.service = Service(places_in(folder))
        self.root = root
        try:
            self.service.start()
            assert self.service.wait_until_caught_up(_READY), f"not ready after {_READY} s"
            self.seconds = time.monotonic() - begun
            self._find(root)
        except BaseException:
            self.service.stop()
            raise

    def _find(self, root: Path) -> None:
        watched = {entry.root: entry.id for entry in self.service.workspaces()}
        self.id = watched.get(str(root)) or self.service.watch(str(root)).id
        self.git_dir = self.service.store(self.id) / "repo.git"
        # A fork that could not be undone on a failing disk may be known without being there, and says so.
        for workspace in [watched[place] for place in watched if Path(place).exists()]:
            status = self.service.status(workspace)
            assert not status.reasons, status.reasons

    def __enter__(self) -> "_Started":
        return self

    def __exit__(self, *_: object) -> None:
        self.service.stop()


def judge_disk(disk: Files, known: Known) -> None:
    """The workspace is in one of the states that it may be in: nothing is half done."""
    assert not known.disks or disk in known.disks, (
        f"the workspace is none of the states it may be in: {_differences(disk, known.disks)}"
    )


def _differences(disk: Files, expected: Sequence[Files]) -> list[list[bytes]]:
    return [
        sorted(path for path in {*disk, *other} if disk.get(path) != other.get(path)) for other in expected
    ]


def _judge_checkpoints(started: _Started, known: Known) -> None:
    found = listed(started.service, started.id)
    for number, (commit, tree) in known.kept.items():
        if number not in found:
            assert known.lets_go, f"checkpoint {number} was acknowledged and is lost"
            continue
        assert (found[number].id, found[number].tree) == (commit, tree), f"checkpoint {number} is another one"
    assert not known.gone & set(found), "a deleted checkpoint is back"


def _judge_events(started: _Started) -> None:
    events = started.service.events(0, 100_000)
    assert [event.seq for event in events] == list(range(1, len(events) + 1)), "the events have a hole"
    told = [event.checkpoint for event in events if event.workspace == started.id and event.type in _TOLD]
    assert len(told) == len(set(told)), f"a checkpoint was told twice: {sorted(told)}"
    missing = set(listed(started.service, started.id)) - set(told)
    assert not missing, f"no event tells of {sorted(missing)}"


_TOLD = ("checkpoint_created", "checkpoint_restored")


def _judge_next_save(started: _Started, known: Known) -> None:
    (started.root / "next").write_text("written after the start")
    made = started.service.save(started.id, Intent(message="next"))
    highest = max({*known.kept, *known.gone, 0})
    assert made.number > highest, f"number {made.number} comes after {highest}"
    assert_captured(started.git_dir, made.tree, started.root)


def assert_captured(git_dir: Path, tree: str, root: Path) -> None:
    """A checkpoint holds what is on the disk, all of it and nothing else."""
    held, disk = files_of(git_dir, tree), without_ignored(snapshot(root))
    assert held == disk, f"the checkpoint differs from the disk: {_differences(held, [disk])}"


def without_ignored(files: Files) -> Files:
    """What of the workspace's files is captured."""
    return {path: what for path, what in files.items() if path != IGNORED}


def _judge_undo(started: _Started, known: Known) -> int:
    """Whatever restore came last can be taken back, unless the state before it was deleted; nothing else changes."""
    ignored = (started.root / os.fsdecode(IGNORED)).read_bytes()
    try:
        result = started.service.undo(started.id)
    except NothingToDo:
        return 0
    except UnknownCheckpoint as error:
        if any(f"checkpoint {number}," in error.message for number in known.kept):
            raise
        return 0
    assert not result.conflicts, result.conflicts
    newest = started.service.get(started.id, "@")
    eventually(lambda: not started.service.status(started.id).reasons)
    assert_captured(started.git_dir, newest.tree, started.root)
    assert (started.root / os.fsdecode(IGNORED)).read_bytes() == ignored, "an ignored file was touched"
    return 1

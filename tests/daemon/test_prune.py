"""Pruning a real store: what goes, what stays, what is told, and what still works afterwards."""

import errno
import os
import random
import shutil
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from backtrail.errors import StoreFailed, UnknownCheckpoint
from backtraild.keeper import Keeper
from backtraild.model import Intent, Kind
from backtraild.restore.journal import Journal, Record
from backtraild.state import Query
from backtraild.store import refs as store_refs
from support.disk import fsck
from support.faults import FaultyOs, install
from support.git import git
from support.project import Project, full_stat
from support.serving import Site, desk
from support.stored import add_history


def refs(git_dir: Path) -> list[int]:
    """The checkpoints that git sees."""
    names = git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints", git_dir=git_dir)
    return sorted(map(int, names.split()))


def with_saves(site: Site, count: int) -> Site:
    """The baseline, and so many checkpoints saved by hand."""
    for number in range(count):
        site.write("file", f"{number}\n")
        site.desk.service.save(site.id, Intent(message=f"save {number}"))
    return site


def of_long_ago(site: Site, count: int, kind: Kind = Kind.AUTO, *, packed: bool = True) -> Site:
    """So many checkpoints, and no others, more than a year old."""
    site.desk.service.stop()
    shutil.rmtree(site.store)
    began = datetime.now(UTC) - timedelta(days=500)
    add_history(site.git_dir, [(began + timedelta(hours=number), kind) for number in range(count)])
    if not packed:
        lines = [line.split() for line in (site.git_dir / "packed-refs").read_text().splitlines()[1:]]
        (site.git_dir / "packed-refs").unlink()
        for hex_id, name in lines:
            (site.git_dir / name).write_text(f"{hex_id}\n")
    site.desk.restart()
    site.desk.told.clear()
    return site


def with_limit(project: Project, limit: int) -> Project:
    project.config = replace(project.config, max_checkpoints=limit)
    project.reopen()
    return project


def dropped(project: Project) -> list[int]:
    return [decision.number for decision in project.workspace.plan_pruning(dry_run=True).dropped]


def test_old_ones_go_for_good_and_one_event_tells_of_all(tmp_path: Path):
    """A hundred events for one command would bury all others in the log."""
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = of_long_ago(at.watch(), 5)
        at.service.pin(site.id, "2")
        result = at.service.prune(site.id)

        assert [decision.number for decision in result.dropped] == [1, 3, 4]
        assert (result.kept, result.kept_because) == (2, {"pinned": 1, "the newest": 1})
        assert result.kept_numbers == {"pinned": [2], "the newest": [5]}
        assert (result.excess, result.dry_run) == (0, False)
        (event,) = at.events("checkpoints_pruned")
        assert event.data == {"numbers": [1, 3, 4], "count": 3, "reason": "asked"}
        assert at.events("checkpoint_deleted") == []
        assert at.service.status(site.id).checkpoints == 2

        at.restart()
        assert [checkpoint.number for checkpoint in site.checkpoints()] == refs(site.git_dir) == [2, 5]
        with pytest.raises(UnknownCheckpoint):
            at.service.get(site.id, "3")
        fsck(site.git_dir)


def test_a_dry_run_says_what_would_go_and_changes_nothing(tmp_path: Path):
    """One looks before one lets go."""
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = of_long_ago(at.watch(), 5)
        before, told = full_stat(site.git_dir), len(at.told)
        would = at.service.prune(site.id, dry_run=True)
        assert would.dry_run
        assert full_stat(site.git_dir) == before
        assert len(at.told) == told
        assert len(site.checkpoints()) == 5

        did = at.service.prune(site.id)
        assert did == replace(would, dry_run=False)
        assert [decision.number for decision in did.dropped] == [1, 2, 3, 4]


def test_a_clock_that_has_jumped_ahead_lets_nothing_go_unless_somebody_asks(tmp_path: Path):
    """All that is there seems to be from before the jump, and would be gone before the clock is right again."""
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = of_long_ago(at.watch(), 5)
        for reason, gone in (("age", ()), ("asked", (1, 2, 3, 4))):
            action = partial(Keeper.prune, reason=reason)
            result = at.service.ask(site.id, action)
            assert tuple(decision.number for decision in result.dropped) == gone


def test_pruning_again_finds_nothing_and_tells_nothing(tmp_path: Path):
    """An event without a change would make every listener look for one."""
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = of_long_ago(at.watch(), 5)
        at.service.prune(site.id)
        assert at.service.prune(site.id).dropped == ()
        assert len(at.events("checkpoints_pruned")) == 1


def test_there_are_never_more_than_the_limit_allows_for_anybody_who_asks(tmp_path: Path):
    """Whoever sets a limit reads the list to see it kept; a clean-up at some later time looks like none."""
    with desk(tmp_path, max_checkpoints=3, auto_checkpoint=False) as at:
        site = at.watch()
        for number in range(8):
            site.write("file", f"{number}\n")
            made = at.service.save(site.id).number
            if made == 2:
                at.service.pin(site.id, "2")
            assert len(site.checkpoints()) <= 3
        assert [checkpoint.number for checkpoint in site.checkpoints()] == refs(site.git_dir) == [2, 8, 9]
        told = at.events("checkpoints_pruned")
        assert [number for event in told for number in event.data["numbers"]] == [1, 3, 4, 5, 6, 7]
        assert {event.data["reason"] for event in told} == {"max_checkpoints"}
        at.service.restore(site.id, "2")
        assert (site.root / "file").read_text() == "0\n"
        fsck(site.git_dir)


def test_a_lower_limit_holds_as_soon_as_it_is_set(tmp_path: Path):
    """Of a hundred and thirty, a hundred may stay: two more go, so that the next saves need not prune again."""
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = of_long_ago(at.watch(), 130, Kind.MANUAL)
        at.service.watch(str(site.root), {"max_checkpoints": 100})
        assert len(at.service.list(site.id, Query(limit=1000)).checkpoints) == 98
        (event,) = at.events("checkpoints_pruned")
        assert event.data["numbers"] == list(range(1, 33))


def test_the_last_restore_can_be_undone_however_few_may_be_kept(tmp_path: Path):
    """Undo is the promise that makes a restore harmless; a clean-up must not take it back."""
    with desk(tmp_path, max_checkpoints=1, auto_checkpoint=False) as at:
        site = with_saves(at.watch(), 2)
        at.service.pin(site.id, "@")
        site.write("file", "2\n")
        restored = at.service.restore(site.id, "3")
        site.write("other", "made since\n")
        at.service.save(site.id)
        assert restored.safety_checkpoint is not None
        assert restored.result is not None

        result = at.service.prune(site.id)

        needed = [restored.safety_checkpoint.number, restored.result.number]
        assert refs(site.git_dir) == [3, *needed, needed[-1] + 1]
        assert result.kept_because == {
            "pinned": 1,
            "needed to undo the last restore, or to finish it": 2,
            "the newest": 1,
        }
        assert result.excess == 3
        at.service.undo(site.id)
        assert (site.root / "file").read_text() == "2\n"


def test_what_an_interrupted_restore_needs_to_be_finished_or_undone_stays(tmp_path: Path):
    """It is worked off at the next start, perhaps, and its files may not all be in place before."""
    with Project(tmp_path) as project:
        for number in range(4):
            project.write("file", f"{number}\n")
            project.save()
        with_limit(project, 1)
        assert dropped(project) == [1, 2, 3]
        context = {"restored": 1, "safety": 2, "paths": []}
        journal = Journal(str(project.store / "restore.journal"))
        journal.announce()
        journal.begin(Record(os.fsencode(project.root), 1, 2, b"x", (b"",), (), 0, context, ()), durably=True)
        assert dropped(project) == [3]


def test_two_months_of_one_checkpoint_an_hour_thin_out(tmp_path: Path):
    """The times are those in the commits, the rows those of a table that was just made from them."""
    now = datetime.now(UTC)
    hours = 60 * 24
    add_history(
        tmp_path / "store" / "repo.git",
        [(now - timedelta(hours=hours - number, minutes=1), Kind.AUTO) for number in range(hours)],
    )
    with with_limit(Project(tmp_path), 10_000) as project:
        result = project.workspace.plan_pruning(dry_run=True)
        because = dict(result.kept_because)
        assert because.pop("less than a day old") == 22
        assert because.pop("the newest") == 1
        assert because.pop("the last of its hour") == 6 * 24
        assert because.pop("the last of its day") in (22, 23, 24)
        assert because.pop("the last of its week") in (4, 5, 6)
        assert because == {}


def test_two_thousand_checkpoints_are_decided_about_without_reading_one_of_them(tmp_path: Path):
    """Whoever has the most to prune must not wait the longest to hear what would go."""
    now = datetime.now(UTC)
    moments = [(now - timedelta(minutes=2000 - number), Kind.AUTO) for number in range(2000)]
    add_history(tmp_path / "store" / "repo.git", moments)
    with with_limit(Project(tmp_path), 100) as project:
        shutil.rmtree(project.git_dir / "objects" / "pack")
        began = time.process_time()
        assert len(dropped(project)) == 1900
        assert time.process_time() - began < 0.5


def test_pruning_that_fails_half_way_tells_of_what_is_gone_and_keeps_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A disk that fails must not leave checkpoints that are listed and not there, or there and not listed."""
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = of_long_ago(at.watch(), 5, packed=False)
        for failing, gone in ((1, []), (3, [1, 2])):
            with monkeypatch.context() as patch:
                install(FaultyOs("unlink", failing, errno.EIO, lasting=True), [store_refs], patch)
                with pytest.raises(StoreFailed):
                    at.service.prune(site.id)
            assert [event.data["numbers"] for event in at.events("checkpoints_pruned")] == [gone] * bool(gone)
            left = [number for number in range(1, 6) if number not in gone]
            assert [checkpoint.number for checkpoint in site.checkpoints()] == refs(site.git_dir) == left
            assert at.service.verify(site.id).damaged == ()  # what is gone is let go, not lost
        at.service.prune(site.id)
        assert refs(site.git_dir) == [5]


def test_a_checkpoint_that_cannot_be_read_is_not_pruned(tmp_path: Path):
    """Nothing is known of it but its number; whoever mends the store may still get it back."""
    with Project(tmp_path) as project:
        for number in range(4):
            project.write("file", f"{number}\n")
            project.save()
        (project.git_dir / "refs" / "checkpoints" / "2").write_text("0" * 40 + "\n")
        (project.store / "state.db").unlink()
        with_limit(project, 1)
        assert dropped(project) == [1, 3]


def test_a_damaged_table_neither_fails_pruning_nor_misleads_it(tmp_path: Path):
    """What is in it can be made again; a checkpoint that is let go can't."""
    with Project(tmp_path) as project:
        for number in range(4):
            project.write(f"file{number}", f"{number}\n")
            project.save()
        project.workspace.pin("2")
        with_limit(project, 2)
        for page in range(1, 12):
            project.workspace.close()
            with (project.store / "state.db").open("r+b") as file:
                file.seek(page * 4096)
                file.write(random.Random(page).randbytes(4096))
            project.reopen()
            assert dropped(project) == [1, 3], page

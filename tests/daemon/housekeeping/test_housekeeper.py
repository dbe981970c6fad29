"""A store that keeps itself within its bounds: what is refused, what is let go, what comes back, and what is told."""

import itertools
import os
import random
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from backtrail.errors import NothingToDo, StoreFull
from backtraild import timers
from backtraild.housekeeping import housekeeper, plan
from backtraild.model import Intent, Kind
from backtraild.store import aside
from backtraild.upkeep import Swept, Tidied, Upkeep
from backtraild.upkeep.running import Outcome
from support.git import fsck_in_use
from support.hasty import hasty
from support.packs import pack_files
from support.serving import Site, desk
from support.stored import add_history, disk_bytes
from support.watching import eventually

CAP = 3_000_000
NO_DISK_HAS_IT = 2**60


@pytest.fixture(autouse=True)
def _hasty() -> Iterator[None]:
    with hasty():
        yield


@pytest.fixture
def capped(tmp_path: Path) -> Iterator[Site]:
    with desk(tmp_path, max_store_bytes=CAP) as at:
        yield at.watch()


def noise(seed: int, size: int) -> bytes:
    """Content that nothing makes smaller."""
    return random.Random(seed).randbytes(size)


def recovered(site: Site) -> bool:
    return site.state == "watching" and bool(site.desk.events("recovered"))


def test_what_would_exceed_the_cap_is_refused_and_made_up_for_once_there_is_room(capped: Site):
    """Whoever set a cap wants it kept; whoever reads the status wants to know what is missing, and why."""
    service = capped.desk.service
    capped.write("kept", noise(1, 1_500_000))
    kept = service.save(capped.id).number
    service.pin(capped.id, "@")
    (capped.root / "kept").unlink()
    capped.write("more", noise(2, 1_500_000))
    eventually(lambda: capped.state == "degraded")
    assert "max_store_bytes allows 3.0 MB" in capped.reasons()
    assert "The store has 1." in capped.reasons()
    with pytest.raises(StoreFull, match=r"Nothing was saved\.") as refusal:
        service.save(capped.id)
    assert "--max-store" in refusal.value.hint
    assert disk_bytes(capped.store) < CAP
    assert [file for file in pack_files(capped.git_dir) if file.name.startswith("tmp")] == []
    told = capped.desk.events("degraded")
    assert [event.data["cause"] for event in told] == ["space"]

    service.watch(str(capped.root), {"max_store_bytes": 2 * CAP})
    capped.wait_for("more", noise(2, 1_500_000))
    (capped.root / "more").unlink()
    capped.wait_for("more", None)
    service.watch(str(capped.root), {"max_store_bytes": CAP})
    eventually(lambda: disk_bytes(capped.store) < CAP * 0.9)
    assert kept in [checkpoint.number for checkpoint in capped.checkpoints()]
    eventually(lambda: recovered(capped))
    assert capped.reasons() == ""
    assert disk_bytes(capped.store) < CAP
    fsck_in_use(capped.git_dir)


def test_old_automatic_ones_make_room_before_anything_is_refused(capped: Site):
    """A folder that is worked in for years never fills its store: the oldest states go, what was asked for stays."""
    service = capped.desk.service
    capped.write("file", noise(0, 200_000))
    asked_for = service.save(capped.id, Intent(message="a good state")).number
    for number in range(1, 18):
        capped.write("file", noise(number, 200_000))
        service.save(capped.id, Intent(Kind.AUTO))
        assert disk_bytes(capped.store) < CAP
        eventually(lambda: disk_bytes(capped.store) < CAP * plan.NEAR)
    pruned = capped.desk.events("checkpoints_pruned")
    assert {event.data["reason"] for event in pruned} == {"max_store_bytes"}
    assert capped.desk.events("degraded") == []
    left = [checkpoint.number for checkpoint in capped.checkpoints()]
    assert left[0] == asked_for
    for number in left[1:]:
        assert capped.content("file", str(number)) == noise(number - asked_for, 200_000)
    assert capped.content("file", str(asked_for)) == noise(0, 200_000)
    fsck_in_use(capped.git_dir)


def test_what_was_saved_while_room_was_made_is_weighed_too_before_all_is_said_to_be_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Else every save was refused for ten minutes, although there were old automatic checkpoints to let go of."""
    monkeypatch.setattr(housekeeper, "Upkeep", Unfinished)
    monkeypatch.setattr(Unfinished, "rounds", 0)
    monkeypatch.setattr(Unfinished, "may_end", threading.Event())
    monkeypatch.setattr(housekeeper, "CALM_SECONDS", 3600.0)  # only what is urgent is done
    with desk(tmp_path, auto_checkpoint=False, max_store_bytes=4 * CAP) as at:
        site, numbers = at.watch(), itertools.count()

        def save() -> str:
            site.write("file", noise(next(numbers), 600_000))
            return str(at.service.save(site.id, Intent(Kind.AUTO)).number)

        at.service.delete(site.id, [save() for _ in range(12)][:6])
        while not Unfinished.rounds:  # until it weighs, and finds that nothing has to go but what is deleted
            save()
            if disk_bytes(site.store) > 4 * CAP * (plan.NEAR + 0.02):
                eventually(lambda: Unfinished.rounds)
        assert at.events("checkpoints_pruned") == []
        eventually(lambda: Unfinished.rounds == 2)
        while is_saved(save):
            pass
        Unfinished.may_end.set()
        eventually(lambda: is_saved(save))
        assert {event.data["reason"] for event in at.events("checkpoints_pruned")} == {"max_store_bytes"}
        fsck_in_use(site.git_dir)


def is_saved(save: Callable[[], object]) -> bool:
    try:
        save()
    except StoreFull:
        return False
    return True


class Unfinished(Upkeep):
    """Upkeep whose first round says that there is more to be done; the next ones end when they may."""

    rounds = 0
    may_end = threading.Event()

    def tidy(self, packs: Sequence[str], room: int, urgent: bool) -> None:
        Unfinished.rounds += 1
        super().tidy(packs, room, urgent)

    def take(self) -> Outcome | None:
        if Unfinished.rounds > 1 and not self.may_end.is_set():
            return None
        outcome = super().take()
        if isinstance(outcome, Tidied) and Unfinished.rounds == 1:
            return msgspec.structs.replace(outcome, more=True)
        return outcome


def test_the_space_of_what_is_deleted_comes_back_also_after_a_restart(tmp_path: Path, monkeypatch):
    """A daemon that was stopped before it got round to it must not forget about it."""
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = at.watch()
        site.write("large", noise(1, 2_000_000))
        large = at.service.save(site.id).number
        (site.root / "large").unlink()
        at.service.save(site.id)
        monkeypatch.setattr(housekeeper, "BEGIN_SECONDS", 3600.0)
        at.service.delete(site.id, [str(large)])
        assert disk_bytes(site.store) > 2_000_000
        at.restart()
        eventually(lambda: disk_bytes(site.store) < 500_000)
        monkeypatch.setattr(housekeeper, "BEGIN_SECONDS", 0.01)
        site.write("large", noise(2, 2_000_000))
        large = at.service.save(site.id).number
        (site.root / "large").unlink()
        at.service.save(site.id)
        at.service.delete(site.id, [str(large)])
        eventually(lambda: disk_bytes(site.store) < 500_000)
        assert len(site.checkpoints()) == 3
        fsck_in_use(site.git_dir)


def test_many_small_packs_become_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Every checkpoint is a pack, and looking for a file in ten thousand of them takes long."""
    monkeypatch.setattr(plan, "MANY_PACKS", 12)
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = at.watch()
        for number in range(15):
            site.write("file", f"{number}\n")
            at.service.save(site.id)
        eventually(lambda: len(pack_files(site.git_dir)) < 12)
        assert [site.content("file", str(number)) for number in (2, 16)] == [b"0\n", b"14\n"]
        assert at.events("checkpoints_pruned") == []
        fsck_in_use(site.git_dir)


def test_what_one_round_can_merge_does_not_wait_for_a_calm_that_is_long(tmp_path: Path, monkeypatch):
    """On a busy machine a round takes long, and so does the calm after it: ten thousand packs came in that time."""
    monkeypatch.setattr(housekeeper, "CALM_SECONDS", 3600.0)
    monkeypatch.setattr(plan, "MANY_PACKS", 5)
    monkeypatch.setattr(plan, "BACKLOG", 12)
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = at.watch()
        for _ in range(2):
            _save_many(site, 15)
            eventually(lambda: len(list(Path(site.git_dir, "objects/pack").glob("*.pack"))) <= 13)


def test_packs_that_stay_as_they_are_do_not_keep_upkeep_at_work(tmp_path: Path, monkeypatch):
    """Git's `.keep` files hold packs: after a round that can change nothing, the next one waits for its time."""
    monkeypatch.setattr(housekeeper, "CALM_SECONDS", 3600.0)
    monkeypatch.setattr(housekeeper, "Upkeep", Counted)
    monkeypatch.setattr(Counted, "begun", 0)
    monkeypatch.setattr(Counted, "ended", 0)
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = at.watch()
        _save_many(site, 8)
        for pack in pack_files(site.git_dir):
            pack.with_suffix(".keep").touch()
        monkeypatch.setattr(plan, "MANY_PACKS", 5)
        monkeypatch.setattr(plan, "BACKLOG", 6)
        _save_many(site, 1)
        eventually(lambda: Counted.ended == 1)
        _save_many(site, 3)
        assert Counted.begun == 1


class Counted(Upkeep):
    """Upkeep whose rounds are counted."""

    begun = ended = 0

    def tidy(self, packs: Sequence[str], room: int, urgent: bool) -> None:
        Counted.begun += 1
        super().tidy(packs, room, urgent)

    def take(self) -> Outcome | None:
        outcome = super().take()
        Counted.ended += isinstance(outcome, Swept)
        return outcome


def _save_many(site: Site, count: int) -> None:
    for number in range(count):
        site.write("file", f"{number} of {count}\n")
        site.desk.service.save(site.id)


def test_letting_go_all_the_time_does_not_keep_upkeep_from_beginning(tmp_path: Path, monkeypatch):
    """At work without a rest, retention lets go of something every second."""
    monkeypatch.setattr(housekeeper, "BEGIN_SECONDS", 1.0)
    monkeypatch.setattr(plan, "MANY_PACKS", 1_000_000)
    with desk(tmp_path, auto_checkpoint=False, max_checkpoints=100) as at:
        site = at.watch()
        packs = 0

        def is_tidied() -> bool:
            nonlocal packs
            before = packs
            site.write("file", f"{before}\n")
            at.service.save(site.id)
            packs = len(pack_files(site.git_dir))
            return packs < before

        eventually(is_tidied)
        assert len(at.events("checkpoints_pruned")) > 1
        eventually(lambda: not os.listdir(Path(site.git_dir, aside.FOLDER)))
        fsck_in_use(site.git_dir)


def test_under_the_floor_nothing_is_saved_and_nothing_is_let_go(tmp_path: Path):
    """Somebody else filled the disk: that is no reason to take the user's history, nor to fill it further."""
    with desk(tmp_path) as at:
        site = at.watch()
        site.write("file", "1")
        site.wait_for("file", b"1")
        before = [checkpoint.number for checkpoint in site.checkpoints()]
        at.service.watch(str(site.root), {"min_free_bytes": NO_DISK_HAS_IT})
        site.write("file", "2")
        eventually(lambda: site.state == "degraded")
        assert "min_free_bytes leaves" in site.reasons()
        with pytest.raises(StoreFull):
            at.service.save(site.id)
        status = at.service.status(site.id)
        assert status.space.floor == NO_DISK_HAS_IT > status.space.free > 0
        assert [checkpoint.number for checkpoint in site.checkpoints()] == before
        at.service.watch(str(site.root), {"min_free_bytes": 0})
        site.wait_for("file", b"2")
        eventually(lambda: site.state == "watching")


def test_a_restart_under_the_floor_watches_all_the_same_and_catches_up_later(tmp_path: Path):
    """What changed while nobody watched can't be saved yet; that must not cost what can be answered."""
    with desk(tmp_path) as at:
        site = at.watch()
        at.service.watch(str(site.root), {"min_free_bytes": NO_DISK_HAS_IT})
        at.service.stop()
        site.write("meanwhile", "1")
        at.restart()
        eventually(lambda: site.state == "degraded")
        assert [checkpoint.number for checkpoint in site.checkpoints()] == [1]
        at.service.watch(str(site.root), {"min_free_bytes": 0})
        site.wait_for("meanwhile", b"1")


def test_a_restore_under_the_floor_is_refused_only_if_something_would_be_lost(tmp_path: Path):
    """Without a safety checkpoint there is no way back; where all is saved already, there is one."""
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = at.watch()
        for content in ("old", "new"):
            site.write("file", content)
            at.service.save(site.id)
        site.write("file", "not saved")
        at.service.watch(str(site.root), {"min_free_bytes": NO_DISK_HAS_IT})
        with pytest.raises(StoreFull):
            at.service.restore(site.id, "2")
        assert (site.root / "file").read_text() == "not saved"
        site.write("file", "new")
        at.service.restore(site.id, "2")
        assert (site.root / "file").read_text() == "old"
        at.service.undo(site.id)
        assert (site.root / "file").read_text() == "new"
        with pytest.raises(NothingToDo):
            at.service.save(site.id)


def test_damage_that_keeps_space_from_being_given_back_is_told(tmp_path: Path):
    """What is still needed can't be told from what is not where a checkpoint can't be read."""
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = at.watch()
        site.write("one/file", noise(1, 2000))
        before = pack_files(site.git_dir)
        damaged = at.service.save(site.id)
        lost = set(pack_files(site.git_dir)).difference(before)
        site.write("one/file", noise(2, 2000))
        at.service.save(site.id)
        at.service.stop()
        for file in lost:
            file.unlink()
        at.restart()
        at.service.delete(site.id, ["1"])
        eventually(lambda: "Space can't be given back" in site.reasons())
        at.service.delete(site.id, [str(damaged.number)])
        eventually(lambda: site.state == "watching")


def test_what_is_too_old_goes_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nobody calls a command every hour."""
    with desk(tmp_path) as at:
        site = at.watch()
        at.service.stop()
        shutil.rmtree(site.store)
        began = datetime.now(UTC) - timedelta(days=500)
        moments = [(began + timedelta(hours=number), Kind.AUTO) for number in range(5)]
        # What happened a week ago shows that the clock is right.
        add_history(site.git_dir, [*moments, (datetime.now(UTC) - timedelta(days=8), Kind.MANUAL)])
        monkeypatch.setattr(timers, "FIRST_THIN_SECONDS", 0.0)
        at.restart()
        eventually(lambda: at.events("checkpoints_pruned"))
        (event,) = at.events("checkpoints_pruned")
        assert event.data == {"numbers": [1, 2, 3, 4, 5], "count": 5, "reason": "age"}


def test_a_daemon_that_stops_ends_upkeep_at_once_and_leaves_nothing_of_it(tmp_path: Path, monkeypatch):
    """Nobody waits for a clean-up at shutdown, and no process outlives the daemon."""
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = at.watch()
        for number in range(5):
            site.write("file", f"{number}\n")
            at.service.save(site.id)
        monkeypatch.setattr(plan, "MANY_PACKS", 3)
        at.service.delete(site.id, ["2"])
        eventually(lambda: children())
        at.service.stop()
        assert children() == []
        assert [file for file in pack_files(site.git_dir) if file.name.startswith("tmp")] == []
        at.restart()
        assert len(site.checkpoints()) == 5
        fsck_in_use(site.git_dir)


def children() -> list[str]:
    """The processes of upkeep that this one has started."""
    found = subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "args="], capture_output=True, text=True, check=False
    )
    return [line for line in found.stdout.splitlines() if "backtraild.upkeep" in line]

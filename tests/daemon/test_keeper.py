"""What a watched workspace makes of its checkpoints: pins before mass changes, events for each of them."""

import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import NothingToDo, UnknownCheckpoint
from backtraild import keeper, timers
from backtraild.model import Intent, Kind
from support.serving import Site, desk
from support.watching import eventually


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with desk(tmp_path) as at:
        yield filled(at.watch())


def filled(site: Site, files: int = 40) -> Site:
    for number in range(files):
        site.write(f"dir{number % 4}/file{number}", f"content {number}\n")
    site.desk.service.save(site.id, Intent(message="before"))
    site.wait_until_settled()
    return site


def delete_most(site: Site) -> None:
    for name in ("dir0", "dir1", "dir2"):
        shutil.rmtree(site.root / name)


def rewrite_all(site: Site) -> None:
    for path in site.root.rglob("file*"):
        path.write_text("formatted by another tool\n")


@pytest.mark.parametrize(("change", "lost"), [(delete_most, (30, 0)), (rewrite_all, (0, 40))])
def test_the_state_before_a_mass_change_is_pinned_and_an_event_says_so(site: Site, change, lost):
    """An agent that ran `rm -rf` is noticed days later; retention must not have been faster."""
    before = site.newest()
    change(site)
    eventually(lambda: site.desk.events("mass_change"))
    (event,) = site.desk.events("mass_change")
    assert event.checkpoint == before.number == event.data["pinned"]
    assert (event.data["deleted"], event.data["rewritten"], event.data["files"]) == (*lost, 40)
    assert site.desk.service.get(site.id, str(before.number)).pinned
    assert not site.newest().pinned


def test_small_changes_moves_and_new_files_are_no_mass_change(site: Site):
    """Pins that come with every refactoring would keep everything for ever."""
    for number in range(19):
        site.write(f"dir{number % 4}/file{number}", "edited\n")
    site.desk.service.save(site.id)
    for name in ("dir0", "dir1", "dir2", "dir3"):
        (site.root / name).rename(site.root / f"moved-{name}")
    site.desk.service.save(site.id)
    for number in range(1200):
        site.write(f"install/{number % 10}/{number}", f"{number}")
    site.desk.service.save(site.id)
    assert site.desk.events("mass_change") == []
    assert not any(checkpoint.pinned for checkpoint in site.checkpoints())


def test_a_mass_change_with_more_files_than_a_commit_names_is_counted_from_the_trees(tmp_path: Path):
    """A commit lists a thousand changes; a package install of more is no loss, a deletion of more is one."""
    with desk(tmp_path) as at:
        site = filled(at.watch(), files=10)
        for number in range(1500):
            site.write(f"many/{number}", f"{number}")
        at.service.save(site.id)
        assert at.events("mass_change") == []
        shutil.rmtree(site.root / "many")
        at.service.save(site.id)
        assert at.events("mass_change")[0].data["deleted"] == 1500


def test_a_restore_is_no_mass_change(site: Site):
    """It has its safety checkpoint; and its own result is not a loss of anything."""
    rewrite_all(site)
    site.desk.service.save(site.id)
    told = len(site.desk.events("mass_change"))
    site.desk.service.restore(site.id, "2")
    site.wait_until_settled()
    assert len(site.desk.events("mass_change")) == told == 1


def test_a_temporary_pin_ends_by_the_clock_and_one_by_hand_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A week later the disk space is wanted back, except for what the user chose to keep."""
    monkeypatch.setattr(timers, "PINS_SECONDS", 0.05)
    monkeypatch.setattr(keeper, "MASS_CHANGE_KEPT", 1.5)
    with desk(tmp_path) as at:
        site = filled(at.watch())
        first = site.newest().number
        rewrite_all(site)
        second = at.service.save(site.id).number
        delete_most(site)
        at.service.save(site.id)
        assert [at.service.get(site.id, str(number)).pinned for number in (first, second)] == [True, True]
        at.service.pin(site.id, str(second))
        eventually(lambda: not at.service.get(site.id, str(first)).pinned)
        at.restart()
        time.sleep(0.2)
        assert at.service.get(site.id, str(second)).pinned
        assert not at.service.unpin(site.id, str(second)).pinned


def test_every_checkpoint_has_one_event_in_its_order(site: Site):
    """A timeline is built from events alone."""
    service = site.desk.service
    site.write("dir0/file0", "1")
    service.save(site.id, Intent(Kind.AGENT, "turn 1", session="s", turn=1, metadata={"tokens": 12}))
    service.restore(site.id, "2")
    service.undo(site.id)
    site.write("auto", "1")
    site.wait_for("auto", b"1")
    told = [event for event in site.desk.told if event.type in ("checkpoint_created", "checkpoint_restored")]
    checkpoints = site.checkpoints()
    assert [event.checkpoint for event in told] == [checkpoint.number for checkpoint in checkpoints]
    for event, checkpoint in zip(told, checkpoints, strict=True):
        assert event.data["id"] == checkpoint.id
        assert event.data["message"] == checkpoint.message
        assert (event.type == "checkpoint_restored") == (checkpoint.kind is Kind.RESTORE)
    agent = next(event for event in told if event.data["kind"] == "agent")
    assert (agent.session, agent.data["tokens"]) == ("s", 12)
    assert [event.type for event in site.desk.told][:3] == [
        "workspace_added",
        "checkpoint_created",
        "initialized",
    ]


def test_events_that_a_crash_swallowed_are_told_at_the_next_start(site: Site):
    """The checkpoint is durable before its event is written; a crash in between takes only the event."""
    for number in range(3):
        site.write("a", f"{number}")
        site.desk.service.save(site.id)
    newest = site.newest().number
    site.desk.service.stop()
    connection = sqlite3.connect(site.desk.places.event_log)
    with connection:
        (kept,) = connection.execute("SELECT seq FROM events WHERE checkpoint = ?", (newest - 2,)).fetchone()
        connection.execute("DELETE FROM events WHERE seq > ?", (kept,))
    connection.close()
    site.desk.told.clear()
    site.desk.restart()
    told = site.desk.events("checkpoint_created")
    assert [event.checkpoint for event in told] == [newest - 1, newest]
    assert [event.seq for event in told] == [kept + 1, kept + 2]


def test_after_a_damaged_log_every_checkpoint_of_the_stores_is_told_again(site: Site):
    """Git is the truth: the log is made again from it."""
    numbers = [checkpoint.number for checkpoint in site.checkpoints()]
    last = site.desk.told[-1].seq
    site.desk.service.stop()
    for suffix in ("-wal", "-shm"):
        site.desk.places.event_log.with_name(f"events.db{suffix}").unlink(missing_ok=True)
    site.desk.places.event_log.write_bytes(b"garbage" * 1000)
    site.desk.told.clear()
    site.desk.restart()
    assert [event.checkpoint for event in site.desk.events("checkpoint_created")] == numbers
    (error,) = site.desk.events("error")
    assert "damaged" in error.data["reason"]
    assert error.seq > last
    assert site.desk.service.events(last) == site.desk.told


def test_deleting_checkpoints_is_told_and_all_or_nothing(site: Site):
    """A list in an editor removes the lines it is told of; a wrong name must not cost the right ones."""
    service = site.desk.service
    site.write("a", "1")
    service.save(site.id)
    with pytest.raises(UnknownCheckpoint):
        service.delete(site.id, ["1", "99"])
    assert len(site.checkpoints()) == 3
    assert [gone.number for gone in service.delete(site.id, ["1", "2", "1"])] == [1, 2]
    assert [event.checkpoint for event in site.desk.events("checkpoint_deleted")] == [1, 2]
    assert [checkpoint.number for checkpoint in site.checkpoints()] == [3]
    assert service.status(site.id).checkpoints == 1


def test_after_the_newest_is_deleted_the_next_checkpoint_is_still_the_whole_disk(site: Site):
    """Its changes are on the disk and in no other checkpoint, and no hint will come for them again."""
    site.write("a", "only in the newest")
    newest = site.desk.service.save(site.id)
    site.wait_until_settled()
    site.desk.service.delete(site.id, [str(newest.number)])
    assert site.desk.service.status(site.id).last_checkpoint == site.newest()
    site.write("b", "2")
    made = site.wait_for("b", b"2")
    assert made.number == newest.number + 1
    assert site.content("a") == b"only in the newest"


def test_a_message_is_kept_also_when_the_automatic_checkpoint_was_faster(site: Site):
    """Half a second after an edit nothing is left to save, but the person who names that moment wants the name."""
    service = site.desk.service
    site.write("dir0/file0", "edited\n")
    automatic = site.wait_for("dir0/file0", b"edited\n")
    named = service.save(site.id, Intent(message="the moment"))
    assert (automatic.kind, named.kind, named.message) == (Kind.AUTO, Kind.MANUAL, "the moment")
    assert named.tree == automatic.tree
    for intent in (Intent(message="again"), Intent()):
        with pytest.raises(NothingToDo):
            service.save(site.id, intent)

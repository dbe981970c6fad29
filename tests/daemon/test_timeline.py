"""The timeline: all that happened in a folder, in order, filtered and page by page."""

import itertools
import os
from collections.abc import Iterator
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from backtrail.errors import UsageError
from backtraild.conversing import Talk
from backtraild.model import Checkpoint, Event, Intent, Status
from backtraild.sessions import ToolCall
from backtraild.store import LISTED_CHANGES
from backtraild.timeline import HistoryEvent, HistoryType, Timeline, TimelineQuery, of_event, page
from backtraild.workspace import Rewind
from support.conversing import said
from support.serving import Desk, Site, desk

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Desk]:
    with desk(tmp_path, auto_checkpoint=False) as found:
        yield found


def tell(site: Site, kind: str, session: str | None = None, **data: object) -> Event:
    """An event of a session, as its worker appends it."""
    return site.desk.service.log.append(kind, site.id, str(site.root), None, session, data)


def story(site: Site) -> list[Checkpoint]:
    """Two sessions that change files in two phases."""
    made = [site.newest()]
    for turn in range(1, 6):
        session, phase = f"s{turn % 2}", "plan" if turn < 3 else "build"
        tell(site, "session_started", session, phase=phase)
        tell(site, "turn_started", session, turn=turn, phase=phase)
        site.write(f"src/{turn}.py", f"{turn}\n")
        site.write("shared.txt", f"{turn}\n")
        made.append(site.desk.service.save(site.id))
        tell(site, "turn_ended", session, turn=turn, phase=phase)
        tell(site, "phase_changed", session, phase=phase)
    return made


def lines(site: Site, **wanted: object) -> list[HistoryEvent]:
    """The whole timeline, which is the same in pages of any size."""
    whole = site.desk.service.timeline(site.id, TimelineQuery(limit=1000, **wanted))  # type: ignore[arg-type]
    assert whole.next is None
    for limit in (1, 2, 7):
        assert list(paged(site, limit, **wanted)) == list(whole.events)
    return list(whole.events)


def paged(site: Site, limit: int, **wanted: object) -> Iterator[HistoryEvent]:
    """The whole timeline, page by page; a page ends between two events."""
    cursor: int | None = 0
    while cursor is not None:
        query = TimelineQuery(limit=limit, cursor=cursor, **wanted)  # type: ignore[arg-type]
        found = site.desk.service.timeline(site.id, query)
        assert len(found.events) <= limit or len({line.seq for line in found.events}) == 1
        assert found.next is None or found.next == found.events[-1].seq
        yield from found.events
        cursor = found.next


def types(found: list[HistoryEvent]) -> set[str]:
    return {line.type.value for line in found}


def test_the_timeline_tells_everything_in_order_with_what_it_is_about(at: Desk):
    """One list, in which conversation, phases and files stand beside each other as they happened."""
    site = at.watch()
    made = story(site)
    found = lines(site)
    assert [line.seq for line in found] == sorted({line.seq for line in found})
    assert types(found) == {"task", "chat", "checkpoint", "phase"}
    assert [line.checkpoint for line in found if line.subtype == "checkpoint_created"] == [
        checkpoint.number for checkpoint in made
    ]
    turn = [line for line in found if line.turn == 3]
    assert [line.subtype for line in turn] == ["turn_started", "turn_ended"]
    assert {(line.session, line.phase, line.type) for line in turn} == {("s1", "build", HistoryType.CHAT)}
    assert {event.type for event in at.told} - {line.subtype for line in found} == {
        "workspace_added",
        "initialized",
    }


def test_a_real_session_is_on_the_timeline_from_its_beginning_to_its_fork(at: Desk, tmp_path: Path):
    """What an agent does shows up as it does it, in the phase in which it does it."""
    site, service = at.watch(), at.service
    service.start_session(site.id, "s", agent="claude", phase="plan")
    service.begin_turn(site.id, "s", prompt="Write it.")
    site.write("a.txt")
    service.tool_used(site.id, "s", ToolCall("edit"))
    talk = Talk(said("Write it.", "Done."), phase="build")
    service.save(site.id, Intent(session="s", turn=1), talk=talk)
    service.rewind(site.id, Rewind("s", 1, before=True), confirm=True)
    service.fork(site.id, str(tmp_path / "fork"), session="s", checkpoint="2")
    service.end_session(site.id, "s")
    found = [line.subtype for line in lines(site, session="s") if line.type is not HistoryType.CHECKPOINT]
    assert [each for each in found if each != "phase_changed"] == [
        "session_started",
        "turn_started",
        "tool_used",
        "turn_ended",
        "conversation_saved",
        "conversation_rewound",
        "session_forked",
        "session_ended",
    ]
    build = lines(site, session="s", phase="build")
    assert [line.checkpoint for line in build if line.subtype == "checkpoint_created"] == [2]
    assert {line.turn for line in lines(site, type=HistoryType.CHAT)} == {1}


def test_filters_combine_as_they_do_on_a_plain_list(at: Desk):
    """What did this session do in that phase? Two filters together must not show more than either."""
    site, other = at.watch(), at.watch("other")
    story(site)
    story(other)
    everything = lines(site)
    moments = [None, everything[7].time, everything[-5].time]
    kinds = [None, HistoryType.TASK, HistoryType.CHAT, HistoryType.CHECKPOINT, HistoryType.PHASE]
    for kind, session, phase, since, until in itertools.product(
        kinds, [None, "s0", "nobody"], [None, "build"], moments, moments
    ):
        expected = [
            line
            for line in everything
            if kind in (None, line.type)
            and session in (None, line.session)
            and phase in (None, line.phase)
            and (since is None or line.time >= since)
            and (until is None or line.time <= until)
        ]
        query = TimelineQuery(kind, session, phase, since, until, limit=1000)
        assert list(at.service.timeline(site.id, query).events) == expected


def test_files_are_told_one_by_one_when_they_are_asked_for(at: Desk):
    """Which files changed in the last hour, and what became of each?"""
    site = at.watch()
    made = story(site)
    os.rename(site.root / "src/1.py", site.root / "src/one.py")
    site.root.joinpath("shared.txt").unlink()
    made.append(at.service.save(site.id))
    found = lines(site, type=HistoryType.FILE)
    expected = [(each.number, change) for each in made for change in each.files_changed]
    assert [(line.checkpoint, line.path, line.subtype) for line in found] == [
        (number, change.path, change.status.value) for number, change in expected
    ]
    assert types(found) == {"file"}
    renamed = next(line for line in found if line.subtype == Status.RENAMED)
    assert (renamed.path, renamed.data["old_path"]) == (b"src/one.py", "src/1.py")
    last = lines(site, type=HistoryType.FILE, since=found[-1].time)
    assert {line.path for line in last} == {b"src/one.py", b"shared.txt"}


def test_a_path_has_its_own_timeline(at: Desk):
    """Everything that happened to this file: its checkpoints, and what each did to it."""
    site = at.watch()
    made = story(site)
    found = lines(site, path=b"src/3.py")
    assert [(line.type, line.subtype, line.checkpoint) for line in found] == [
        (HistoryType.CHECKPOINT, "checkpoint_created", made[3].number),
        (HistoryType.FILE, "added", made[3].number),
    ]
    shared = lines(site, path=b"shared.txt", type=HistoryType.FILE)
    assert [line.subtype for line in shared] == ["added", *["modified"] * 4]
    folder = lines(site, path=b"src", type=HistoryType.CHECKPOINT)
    assert [line.checkpoint for line in folder] == [each.number for each in made[1:]]
    assert {line.path for line in lines(site, path=b"src", type=HistoryType.FILE)} == {
        b"src/%d.py" % turn for turn in range(1, 6)
    }
    assert len(lines(site, path=b"", type=HistoryType.FILE)) == 10
    assert lines(site, path=b"src/3", since=NOW - timedelta(days=999)) == []
    assert lines(site, path=b"shared.txt", type=HistoryType.CHAT) == []
    assert lines(site, path=b"shared.txt", since=shared[3].time) == lines(site, path=b"shared.txt")[6:]


def test_a_path_is_found_in_a_checkpoint_that_changed_thousands(at: Desk):
    """The commit lists only the first of them; the one that somebody looks for may be the last."""
    site = at.watch()
    for number in range(LISTED_CHANGES + 200):
        site.write(f"many/{number:05}", f"{number}")
    checkpoint = at.service.save(site.id)
    site.write("many/00001", "other")
    later = at.service.save(site.id)
    last = f"many/{LISTED_CHANGES + 199:05}".encode()
    found = [line for line in lines(site, path=last) if line.type is HistoryType.FILE]
    assert [(line.checkpoint, line.path, line.subtype) for line in found] == [
        (checkpoint.number, last, "added")
    ]
    found = lines(site, path=b"many/00001", type=HistoryType.CHECKPOINT)
    assert [line.checkpoint for line in found] == [checkpoint.number, later.number]
    assert len(list(paged(site, 100, type=HistoryType.FILE))) == LISTED_CHANGES + 1


def test_a_deleted_checkpoint_is_still_told_but_has_no_files(at: Desk):
    """What happened stays told; what is gone can't be shown."""
    site = at.watch()
    made = story(site)
    at.service.delete(site.id, [str(made[2].number)])
    told = [line.subtype for line in lines(site) if line.checkpoint == made[2].number]
    assert told == ["checkpoint_created", "checkpoint_deleted"]
    assert made[2].number not in {line.checkpoint for line in lines(site, type=HistoryType.FILE)}
    assert made[2].number not in {line.checkpoint for line in lines(site, path=b"shared.txt")}


def test_numbers_that_are_used_again_after_a_purge_are_not_confused(at: Desk):
    """The folder's checkpoints were purged and begun anew: its old events must not show the new files."""
    site = at.watch()
    site.write("old.txt")
    at.service.save(site.id)
    at.service.unwatch(site.id, purge=True)
    site.root.joinpath("old.txt").unlink()
    site = at.watch()
    site.write("new.txt")
    made = at.service.save(site.id)
    for wanted in ({"type": HistoryType.FILE}, {"path": b"new.txt", "type": HistoryType.FILE}):
        assert [(line.checkpoint, line.path) for line in lines(site, **wanted)] == [(made.number, b"new.txt")]


def test_a_checkpoint_tells_its_turn_whatever_its_metadata_is_called(at: Desk):
    """Metadata is the agent's own, and may use the words that Backtrail uses."""
    site = at.watch()
    site.write("a.txt")
    intent = Intent(session="s", turn=7, metadata={"id": "mine", "turn": 3, "kind": "mine"})
    made = at.service.save(site.id, intent)
    told = lines(site, path=b"a.txt")
    assert [(line.type.value, line.turn, line.session) for line in told] == [
        ("checkpoint", 7, "s"),
        ("file", 7, "s"),
    ]
    assert told[0].data["id"] == made.id


def test_the_log_answers_while_the_worker_is_busy(at: Desk):
    """Looking back must not wait for a large save."""
    site = at.watch()
    story(site)
    entered, leave = Future(), Future()

    def busy(_: object) -> None:
        entered.set_result(None)
        leave.result(20)

    work = at.service.submit(site.id, busy)
    entered.result(20)
    assert len(at.service.timeline(site.id).events) == 26
    assert not work.done()
    leave.set_result(None)
    work.result(20)


@pytest.mark.parametrize("wanted", [{"limit": 0}, {"limit": 1001}, {"cursor": -1}], ids=str)
def test_a_page_that_makes_no_sense_is_refused(at: Desk, wanted: dict[str, int]):
    """A wrong number is somebody's mistake, and must not look like an empty history."""
    site = at.watch()
    for kind in (None, HistoryType.FILE):
        with pytest.raises(UsageError, match=r"makes no sense|not where a page ended"):
            at.service.timeline(site.id, TimelineQuery(type=kind, **wanted))


def test_a_page_does_not_tear_the_files_of_one_checkpoint_apart():
    """The cursor names an event: what comes after it in the same event could never be asked for."""
    groups = [[line(1)], [line(2)] * 3, [], [line(4)] * 5, [line(5)]]
    assert page(groups, 4) == Timeline((*groups[0], *groups[1]), 2)
    assert page(groups[2:], 4) == Timeline(tuple(groups[3]), 4)
    assert page(groups[4:], 1) == Timeline(tuple(groups[4]), None)
    assert page(iter([groups[0], []]), 1) == Timeline(tuple(groups[0]), None)


def line(seq: int) -> HistoryEvent:
    return HistoryEvent(seq, HistoryType.FILE, "added", NOW)


def test_what_is_no_number_is_no_turn():
    """Metadata of a checkpoint is in its event's data, and may hold anything."""
    event = Event("e", 1, "checkpoint_created", "w", "/w", NOW, 1, None, {"turn": "one", "phase": 7})
    assert (of_event(event).turn, of_event(event).phase) == (None, None)

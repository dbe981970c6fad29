"""A save that ends a turn: the checkpoint first, then the turn and what was said in it."""

import contextlib
import json
import os
import sqlite3
from pathlib import Path

import pytest

from backtrail.errors import NothingToDo, StoreFailed, UsageError
from backtraild import timers
from backtraild.conversing import Talk
from backtraild.model import Event, Intent, Kind
from backtraild.sessions import SnapshotType, ToolCall
from backtraild.sessions.indexing import AT_ONCE
from backtraild.sessions.rows import Rows
from backtraild.sessions.turns import Turns
from backtraild.state import EventLog
from backtraild.transcripts import Lines, Messages, TranscriptFile
from support.agents import Agent
from support.serving import Site
from support.watching import eventually


def told(site: Site, *kinds: str) -> list[Event]:
    return [event for event in site.desk.told if event.type in kinds]


def test_one_save_binds_files_turn_and_words(site: Site):
    """Three lines in an agent's framework must be enough; nobody told of the session before."""
    site.write("a", "1")
    talk = Talk(
        Messages([{"role": "user", "content": "write a"}]),
        prompt="write a",
        tools=(ToolCall("bash", "t1", {"command": "echo"}),),
        agent="codex",
        title="Letters",
        phase="build",
    )
    intent = Intent(Kind.AGENT, "wrote a", "s", 1, {"tokens": 5})
    made = site.desk.service.save(site.id, intent, talk=talk)
    view = site.desk.service.session(site.id, "s")
    (turn,), (snapshot,) = view.turns, view.snapshots
    assert (view.session.agent, view.session.title, view.session.phase) == ("codex", "Letters", "build")
    assert (turn.number, turn.prompt, turn.before, turn.after) == (1, "write a", 1, made.number)
    assert (turn.ended is not None, turn.metadata, turn.snapshot) == (True, {"tokens": 5}, 1)
    assert [tool.name for tool in turn.tools] == ["bash"]
    assert (snapshot.type, snapshot.turn, snapshot.checkpoint) == (SnapshotType.CHECKPOINT, 1, made.number)
    assert (made.conversation, made.conversation_error) == (snapshot.content_hash, None)
    assert (made.kind, made.message, made.session, made.turn) == (Kind.AGENT, "wrote a", "s", 1)
    assert site.newest().conversation == snapshot.content_hash
    assert site.checkpoints()[-1].conversation == snapshot.content_hash


def test_the_events_of_a_turn_come_in_order_and_carry_the_phase(site: Site):
    """A timeline is made of them."""
    agent = Agent(site)
    site.desk.service.start_session(site.id, "s", agent="codex", phase="plan")
    site.write("a", "by hand")
    agent.ask("x" * 300)
    site.desk.service.tool_used(site.id, "s", ToolCall("bash", "t1", "make"))
    site.write("a", "by the agent")
    agent.answer("done")
    events = [event for event in site.desk.told if event.session == "s"]
    assert [event.type for event in events] == [
        "session_started", "phase_changed", "checkpoint_created", "turn_started", "tool_used",
        "checkpoint_created", "turn_ended", "conversation_saved",
    ]  # fmt: skip
    assert {event.data.get("phase") for event in events if event is not events[2]} == {"plan"}
    by_type = {event.type: event for event in events}
    assert by_type["turn_started"].data["prompt"] == "x" * 200
    assert (by_type["turn_started"].checkpoint, by_type["turn_started"].data["turn"]) == (2, 1)
    assert (by_type["turn_ended"].data["turn"], by_type["turn_ended"].data["after"]) == (1, 3)
    assert by_type["conversation_saved"].data["message_count"] == 2
    assert by_type["conversation_saved"].data["appended"] == 2


def test_a_turn_begins_with_what_is_on_the_disk(site: Site):
    """What a person did between two turns is not what the agent did."""
    agent = Agent(site)
    unchanged = agent.ask("first")
    assert (unchanged.number, unchanged.before) == (1, 1), "the baseline has everything"
    agent.answer("yes")
    site.write("a", "by hand")
    turn = agent.ask("second")
    barrier = site.newest()
    assert turn.before == barrier.number == 3
    assert (barrier.kind, barrier.message, barrier.session, barrier.turn) == (
        Kind.AGENT, "Before turn 2 of s", "s", 2
    )  # fmt: skip
    again = site.desk.service.begin_turn(site.id, "s", 2, prompt="second")
    assert again == turn, "the reply was lost, not the turn"
    assert len(told(site, "turn_started")) == 2


def test_a_turn_that_changed_no_file_has_its_state(site: Site):
    """One goes back to messages, not to changes; an ordinary save with nothing new is still refused."""
    agent = Agent(site)
    agent.ask("a question")
    assert agent.answer("an answer").files_changed_count == 0
    with pytest.raises(NothingToDo):
        site.desk.service.save(site.id)


def test_the_state_before_a_turn_that_nobody_began_is_the_one_after_the_turn_before(site: Site):
    """Many agents can only tell that a turn is over."""
    save = site.desk.service.save
    for number in (1, 2, 3):
        site.write("a", f"{number}")
        save(site.id, Intent(session="s", turn=number), talk=Talk(prompt=f"do {number}"))
        site.write("b", f"{number}")
        save(site.id, Intent(message="by hand"))
    turns = site.desk.service.session(site.id, "s").turns
    assert [(turn.before, turn.after) for turn in turns] == [(1, 2), (2, 4), (4, 6)]


def test_without_a_number_a_save_ends_the_turn_under_way_and_begins_none_unprompted(site: Site):
    """Whoever began a turn need not count; a save in between is a checkpoint and no exchange."""
    save = site.desk.service.save
    site.desk.service.begin_turn(site.id, "s", 7, prompt="seventh")
    assert save(site.id, Intent(session="s")).turn == 7
    assert save(site.id, Intent(session="s")).turn is None
    assert save(site.id, Intent(session="s"), talk=Talk(prompt="eighth")).turn == 8
    assert [turn.number for turn in site.desk.service.session(site.id, "s").turns] == [7, 8]


def test_a_number_that_comes_again_is_another_turn(site: Site):
    """The agent went back by itself; what it did before keeps its state."""
    agent = Agent(site)
    for number in (1, 2, 3, 2):
        site.write("a", f"{number}")
        agent.answer("x", number)
    turns = site.desk.service.session(site.id, "s").turns
    assert [(turn.number, turn.after) for turn in turns] == [(1, 2), (2, 3), (3, 4), (2, 5)]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_repeated_save_gives_the_same_and_does_nothing_twice(site: Site, restarted: bool):
    """The reply was lost; the client asks the next daemon again."""
    site.write("a", "1")
    first = Agent(site).answer("x", 1, request="r1", prompt="do it")
    if restarted:
        site.desk.restart()
    before = len(site.desk.told)
    site.write("a", "2")
    assert Agent(site).answer("x", 1, request="r1", prompt="do it") == first
    assert len(site.desk.told) == before
    view = site.desk.service.session(site.id, "s")
    assert (len(view.turns), len(view.snapshots), len(site.checkpoints())) == (1, 1, 2)


def test_what_a_crash_left_undone_is_done_when_it_is_asked_for_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    """The checkpoint was made, the daemon died: the turn is not lost with it."""
    site.write("a", "1")
    with monkeypatch.context() as patch:
        patch.setattr(Turns, "begin", failing)
        patch.setattr(Turns, "end", failing)
        site.desk.restart()
        made = Agent(site).answer("x", 1, request="r1", prompt="do it")
        assert made.conversation_error is not None
    site.desk.restart()
    again = Agent(site).answer("x", 1, request="r1", prompt="do it")
    assert (again.number, again.conversation_error) == (made.number, None)
    view = site.desk.service.session(site.id, "s")
    assert [(turn.prompt, turn.after) for turn in view.turns] == [("do it", made.number)]
    assert [snapshot.checkpoint for snapshot in view.snapshots] == [made.number]


def failing(*_: object, **__: object) -> None:
    raise StoreFailed("No space left on device.")


@pytest.mark.parametrize(
    ("conversation", "sentence"),
    [
        (TranscriptFile("/nowhere/transcript.jsonl"), "/nowhere/transcript.jsonl"),
        (Lines(b'[{"role": '), "JSON"),
    ],
)
def test_a_conversation_that_can_t_be_read_costs_no_checkpoint(site: Site, conversation, sentence: str):
    """The files matter most; the answer says what is missing, and it is attached later."""
    site.write("a", "1")
    made = site.desk.service.save(site.id, Intent(session="s", turn=1), talk=Talk(conversation))
    assert site.content("a") == b"1"
    assert sentence in (made.conversation_error or "")
    (event,) = told(site, "error")
    assert (event.checkpoint, event.session) == (made.number, "s")
    assert sentence in event.data["reason"]
    view = site.desk.service.session(site.id, "s")
    assert [turn.after for turn in view.turns] == [made.number], "the turn itself is known"
    snapshot = site.desk.service.attach(
        site.id, "s", Messages(["hello"]), turn=1, checkpoint=str(made.number)
    )
    assert (snapshot.type, snapshot.turn, snapshot.checkpoint) == (SnapshotType.MANUAL, 1, made.number)
    assert site.desk.service.get(site.id, str(made.number)).conversation == snapshot.content_hash
    assert Agent(site).recorded(1) == ["hello"]


def test_a_damaged_session_costs_no_checkpoint_and_begins_again(site: Site):
    """Its ref points at nothing; files are saved all the same, and what is said from now on is kept."""
    Agent(site).answer("x", 1)
    (ref,) = (site.git_dir / "refs" / "sessions").iterdir()
    ref.write_text("0" * 39 + "1\n")
    site.write("a", "1")
    made = Agent(site).answer("x", 2)
    assert made.conversation_error is None
    assert site.content("a", str(made.number)) == b"1"
    assert len(site.checkpoints()) == 3
    site.desk.restart()
    assert site.state == "watching"
    assert [turn.number for turn in site.desk.service.session(site.id, "s").turns] == [1, 2]


@pytest.mark.parametrize(
    ("intent", "talk"),
    [
        (Intent(), Talk(prompt="whose?")),
        (Intent(session=""), Talk()),
        (Intent(session="a\nb"), Talk()),
        (Intent(session="s", turn=-1), Talk()),
        (Intent(session="s", metadata={"x": {1}}), Talk()),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_made(site: Site, intent: Intent, talk: Talk):
    """A checkpoint for a request that was refused would be a surprise."""
    site.write("a", "1")
    with pytest.raises(UsageError):
        site.desk.service.save(site.id, intent, talk=talk)
    assert len(site.checkpoints()) == 1


def test_a_transcript_file_grows_with_the_turns(site: Site, tmp_path: Path):
    """The agent writes its transcript itself; each save takes what is new in it."""
    transcript = tmp_path / "transcript.jsonl"
    for number in (1, 2, 3):
        with open(transcript, "a") as file:
            file.write(json.dumps({"role": "user", "content": f"message {number}"}) + "\n")
        talk = Talk(TranscriptFile(os.fspath(transcript)))
        site.desk.service.save(site.id, Intent(session="s", turn=number), talk=talk)
    snapshots = site.desk.service.session(site.id, "s").snapshots
    assert [(one.message_count, one.appended) for one in snapshots] == [(1, 1), (2, 1), (3, 1)]
    assert len(Agent(site).recorded(2)) == 2


def test_a_turn_does_not_read_the_turns_before_it(site: Site, monkeypatch: pytest.MonkeyPatch):
    """The five thousandth turn of a session costs what the fifth does."""
    agent = Agent(site)
    agent.turn("one", {"a": "1"})
    monkeypatch.setattr(Rows, "turns", None)
    monkeypatch.setattr(Rows, "snapshots", None)
    agent.turn("two", {"a": "2"})
    assert agent.answer("three", 3).conversation_error is None


def test_a_long_conversation_becomes_findable_by_itself(site: Site, monkeypatch: pytest.MonkeyPatch):
    """The first search after a transcript of a million words must not be the one that waits for it."""
    monkeypatch.setattr(timers, "INDEX_SECONDS", 0.01)
    site.desk.restart()
    messages = Messages([f"word{number}" for number in range(AT_ONCE + 1)])
    site.desk.service.attach(site.id, "s", messages)

    eventually(lambda: findable(site) == AT_ONCE + 1)


def findable(site: Site) -> int:
    with contextlib.closing(sqlite3.connect(site.store / "state.db")) as table:
        return int(table.execute("SELECT COUNT(*) FROM passages").fetchone()[0])


def test_a_log_of_events_that_can_t_be_written_costs_neither_checkpoint_nor_words(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    """Events tell what happened; they are not what happened."""
    with monkeypatch.context() as patch:
        patch.setattr(EventLog, "append", failing)
        site.write("a", "1")
        made = Agent(site).answer("x", 1, prompt="do it")
    assert (made.conversation_error, made.conversation is not None) == (None, True)
    assert [turn.after for turn in site.desk.service.session(site.id, "s").turns] == [made.number]

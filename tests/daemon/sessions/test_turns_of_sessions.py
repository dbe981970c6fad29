"""Turns: begun, told about, ended, interrupted, hidden and brought back."""

from datetime import timedelta

import pytest

from backtrail.errors import UsageError
from backtraild.sessions import Reversal, SessionStatus, ToolCall, UnknownTurn
from backtraild.sessions.turns import TOOLS_LIMIT
from support.conversing import BEGINNING, Desk, said


def numbers(desk: Desk, session: str = "s") -> list[tuple[int, str]]:
    return [(turn.number, turn.prompt) for turn in desk.sessions.turns(session)]


def talk(desk: Desk, *prompts: str) -> None:
    for prompt in prompts:
        desk.sessions.begin_turn("s", prompt=prompt)
        desk.sessions.end_turn("s")


def test_a_turn_tells_what_was_asked_and_what_was_done(desk: Desk) -> None:
    """`show --explain` has nothing else to go by."""
    begun = desk.sessions.begin_turn("s", role="human", prompt="fix it", before=3, metadata={"model": "m"})
    assert desk.sessions.get("s").open_turn == begun.ordinal
    desk.sessions.tool_used("s", 1, ToolCall("bash", "t1", {"command": "ls"}, started=BEGINNING))
    desk.sessions.tool_used("s", None, ToolCall("bash", "t1", ended=BEGINNING + timedelta(seconds=2)))
    snapshot = desk.sessions.record_conversation("s", said("fix it", "done"), turn=1)
    ended = desk.sessions.end_turn("s", 1, after=4, metadata={"tokens": 12}, tools=[ToolCall("edit")])
    assert desk.sessions.turn("s", 1) == ended == desk.sessions.turns("s")[0]
    assert (ended.role, ended.prompt, ended.before, ended.after) == ("human", "fix it", 3, 4)
    assert ended.metadata == {"model": "m", "tokens": 12}
    assert ended.snapshot == snapshot.number == 1
    assert [(tool.name, tool.input) for tool in ended.tools] == [("bash", '{"command":"ls"}'), ("edit", "")]
    assert (ended.tools[0].started, ended.tools[0].ended) == (BEGINNING, BEGINNING + timedelta(seconds=2))
    assert ended.ended is not None
    assert ended.ended > ended.started
    assert not ended.interrupted
    session = desk.sessions.get("s")
    assert (session.status, session.open_turn) == (SessionStatus.IDLE, None)


def test_numbers_count_up_and_may_be_given(desk: Desk) -> None:
    """Some agents count their turns themselves, and not always from one."""
    desk.sessions.begin_turn("s", prompt="a")
    desk.sessions.begin_turn("s", number=7, prompt="b")
    desk.sessions.begin_turn("s", prompt="c")
    desk.sessions.begin_turn("s", number=0, prompt="d")
    desk.sessions.begin_turn("s", prompt="e")
    assert numbers(desk) == [(1, "a"), (7, "b"), (8, "c"), (0, "d"), (9, "e")]


def test_a_turn_that_nobody_ended_was_interrupted(desk: Desk) -> None:
    """The agent was killed; its next turn shows it."""
    first = desk.sessions.begin_turn("s", prompt="a")
    second = desk.sessions.begin_turn("s", prompt="b")
    told = desk.sessions.turn("s", 1)
    assert (told.interrupted, told.ended) == (True, second.started)
    assert not desk.sessions.turn("s", 2).interrupted
    late = desk.sessions.end_turn("s", 1, after=9)
    assert (late.ordinal, late.interrupted, late.after) == (first.ordinal, False, 9)
    session = desk.sessions.get("s")
    assert (session.open_turn, session.status) == (second.ordinal, SessionStatus.ACTIVE)


def test_the_same_turn_begun_again_is_not_another_one(desk: Desk) -> None:
    """A hook whose answer was lost asks again."""
    first = desk.sessions.begin_turn("s", number=1, prompt="a")
    assert desk.sessions.begin_turn("s", number=1, prompt="a") == first
    desk.sessions.begin_turn("s", number=1, prompt="a, but politely")
    assert numbers(desk) == [(1, "a"), (1, "a, but politely")]
    desk.sessions.end_turn("s")
    assert desk.sessions.turn("s", 1).prompt == "a, but politely"


def test_ending_a_turn_twice_keeps_its_time_and_adds_what_is_new(desk: Desk) -> None:
    """The checkpoint after a turn may be known only later."""
    desk.sessions.begin_turn("s")
    ended = desk.sessions.end_turn("s", 1, after=4)
    again = desk.sessions.end_turn("s", 1, metadata={"cost": 0.5})
    assert (again.ended, again.after, again.metadata) == (ended.ended, 4, {"cost": 0.5})


def test_a_turn_that_is_not_there_is_named(desk: Desk) -> None:
    """Nothing is made up for it."""
    desk.sessions.start("s")
    with pytest.raises(UnknownTurn, match="under way"):
        desk.sessions.end_turn("s")
    with pytest.raises(UnknownTurn, match="no turn 3"):
        desk.sessions.tool_used("s", 3, ToolCall("x"))
    with pytest.raises(UnknownTurn, match="no turn 3"):
        desk.sessions.turn("s", 3)
    for call in (
        lambda: desk.sessions.turn("s", 2**63),
        lambda: desk.sessions.end_turn("s", 1, after=2**63),
        lambda: desk.sessions.conversation("s", snapshot=2**63),
        lambda: desk.sessions.conversation("s", snapshot=1, turn=1),
    ):
        with pytest.raises(UsageError):
            call()
    with pytest.raises(UnknownTurn, match="no conversation"):
        desk.sessions.conversation("s")
    desk.sessions.begin_turn("s")
    with pytest.raises(UnknownTurn, match="turn 1"):
        desk.sessions.conversation("s", turn=1)


def test_tools_beyond_a_bound_are_counted(desk: Desk) -> None:
    """A turn that loops must not make each of its steps dearer."""
    desk.sessions.begin_turn("s")
    calls = [ToolCall("x", str(number)) for number in range(TOOLS_LIMIT + 3)]
    turn = desk.sessions.end_turn("s", tools=calls)
    assert (len(turn.tools), turn.more_tools) == (TOOLS_LIMIT, 3)


def test_going_back_hides_later_turns_and_their_numbers_come_again(desk: Desk) -> None:
    """Message 3 was edited and sent again; what came of the first attempt is not destroyed."""
    talk(desk, "a", "b", "c", "d")
    hidden = desk.rewind("s", 2)
    assert hidden == (3, 4)
    assert numbers(desk) == [(1, "a"), (2, "b")]
    with pytest.raises(UnknownTurn):
        desk.sessions.turn("s", 3)
    talk(desk, "c, better")
    assert numbers(desk) == [(1, "a"), (2, "b"), (3, "c, better")]
    assert desk.sessions.turn("s", 3).ordinal == 5
    everything = desk.sessions.turns("s", include_rewound=True)
    assert [(turn.number, turn.rewound) for turn in everything] == [
        (1, False), (2, False), (3, True), (4, True), (3, False)
    ]  # fmt: skip


def test_undoing_a_rewind_exchanges_the_turns(desk: Desk) -> None:
    """After `undo`, turn 3 is the old one again; after undoing that, the new one."""
    talk(desk, "a", "b", "c", "d")
    hidden = desk.rewind("s", 2)
    talk(desk, "c, better")
    desk.reverse("s", (5,), hidden)
    assert numbers(desk) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    assert desk.sessions.get("s").last_number == 4
    desk.reverse("s", hidden, (5,))
    assert numbers(desk) == [(1, "a"), (2, "b"), (3, "c, better")]
    assert desk.sessions.get("s").last_number == 3
    assert [moment.kind for moment in desk.sessions.get("s").moments] == ["rewound"] * 3


def test_going_back_behind_an_open_turn_ends_it(desk: Desk) -> None:
    """The agent was stopped in the middle to go back; what it still says of that turn belongs to no later one."""
    talk(desk, "a")
    desk.sessions.begin_turn("s", prompt="b")
    desk.rewind("s", 1)
    assert desk.sessions.get("s").open_turn is None
    (_, hidden) = desk.sessions.turns("s", include_rewound=True)
    assert (hidden.rewound, hidden.interrupted) == (True, True)


def test_what_a_rewind_does_to_the_turns_is_done_once(desk: Desk) -> None:
    """After a crash nobody knows whether it was done: asked for again, it must not hide what came since."""
    talk(desk, "a", "b", "c")
    reversal = Reversal(7, (3,), (), None)
    desk.sessions.reverse("s", reversal)
    talk(desk, "c, better")
    before = desk.sessions.get("s")
    desk.sessions.reverse("s", reversal)
    desk.sessions.reverse("s", Reversal(6, (4,), (3,), None))
    assert desk.sessions.get("s") == before
    assert numbers(desk) == [(1, "a"), (2, "b"), (3, "c, better")]


def test_after_going_back_the_conversation_is_the_one_of_that_turn(desk: Desk) -> None:
    """The newest snapshot is what was taken back; a late one of an earlier turn does not bring it forward either."""
    for number in (1, 2, 3):
        talk(desk, f"question {number}")
        desk.sessions.record_conversation("s", said(*"abcdef"[: 2 * number]), turn=number)
    desk.rewind("s", 2)
    assert len(list(desk.sessions.conversation("s"))) == 4
    desk.sessions.record_conversation("s", said(*"ab"), turn=1)
    assert len(list(desk.sessions.conversation("s"))) == 4
    desk.sessions.record_conversation("s", said(*"abcdx"), turn=3)
    assert len(list(desk.sessions.conversation("s"))) == 5


def test_conversations_are_read_as_they_were_after_a_turn(desk: Desk) -> None:
    """What a rewind hands back is exactly what had been said by then."""
    said_so_far: list[str] = []
    for number in range(1, 5):
        desk.sessions.begin_turn("s", prompt=f"question {number}")
        said_so_far += [f"question {number}", f"answer {number}"]
        desk.sessions.record_conversation("s", said(*said_so_far), turn=number, checkpoint=number * 10)
        desk.sessions.end_turn("s")
    assert len(list(desk.sessions.conversation("s"))) == 8
    after_two = list(desk.sessions.conversation("s", turn=2))
    assert after_two == list(desk.sessions.conversation("s", snapshot=2))
    assert after_two == list(desk.sessions.conversation("s", count=4))
    assert after_two[-1] == b'{"role":"assistant","content":"answer 2"}'
    assert list(desk.sessions.conversation("s", turn=3, start=2, stop=4)) == after_two[2:]
    assert list(desk.sessions.conversation("s", turn=2, start=3, stop=99)) == after_two[3:]
    assert list(desk.sessions.conversation("s", turn=2, start=9)) == []
    for wrong in ({"start": -1}, {"stop": -1}, {"count": 9}, {"count": -1}):
        with pytest.raises(UsageError, match="8 messages"):
            desk.sessions.conversation("s", **wrong)
    assert [hit.turn for hit in desk.sessions.search('"answer 2"').hits] == [2], "the turn that it came in"
    snapshot = desk.sessions.snapshot("s", 2)
    assert (snapshot.turn, snapshot.checkpoint, snapshot.message_count) == (2, 20, 4)


def test_a_conversation_can_be_attached_to_a_turn_later(desk: Desk) -> None:
    """The file checkpoint came first; the conversation could not be stored then."""
    talk(desk, "a", "b")
    desk.sessions.record_conversation("s", said("a", "x"), turn=1)
    assert desk.sessions.turn("s", 1).snapshot == 1
    assert len(list(desk.sessions.conversation("s", turn=1))) == 2
    desk.sessions.record_conversation("s", said("a", "x", "b"), turn=99)
    assert desk.sessions.snapshot("s").turn == 99, "a wrong number must not cost the conversation"


def test_a_new_session_may_begin_with_a_conversation(desk: Desk) -> None:
    """`save --session S --conversation FILE` is the first that is heard of it."""
    desk.sessions.record_conversation("new", said("hello"), turn=1, metadata={"tokens": 5})
    assert desk.sessions.get("new").snapshot_count == 1
    assert desk.sessions.snapshot("new").metadata == {"tokens": 5}

"""A session from its beginning to its end."""

from datetime import timedelta

import pytest

from backtrail.errors import UsageError
from backtraild.sessions import Reversal, SessionStatus, UnknownSession, facts, session_key
from support.conversing import BEGINNING, Desk, said
from support.disk import fsck
from support.git import git


def test_a_session_is_what_it_was_said_to_be(desk: Desk) -> None:
    """What an agent says of its session is there for whoever looks at the history later."""
    desk.sessions.start("main", agent="claude")
    begun = desk.sessions.start(
        "s-1",
        agent="codex",
        title="Fix the parser",
        phase="plan",
        parent="main",
        metadata={"model": "x", "budget": [1, 2.5, None]},
        forked_from="s-0",
        forked_at="turn 5",
    )
    assert desk.sessions.get("s-1") == begun
    assert (begun.agent, begun.title, begun.phase, begun.parent) == (
        "codex",
        "Fix the parser",
        "plan",
        "main",
    )
    assert (begun.forked_from, begun.forked_at) == ("s-0", "turn 5")
    assert begun.metadata == {"model": "x", "budget": [1, 2.5, None]}
    assert begun.status is SessionStatus.ACTIVE
    assert begun.created > BEGINNING


def test_starting_again_gives_the_same_session_and_takes_over_what_is_new(desk: Desk) -> None:
    """Hooks start a session at every opportunity; a history must not begin anew each time."""
    first = desk.sessions.start("s", agent="claude", metadata={"a": 1})
    refs = git("rev-parse", "--verify", f"refs/sessions/{session_key('s')}", git_dir=desk.git_dir)
    assert desk.sessions.start("s", agent="claude", metadata={"a": 1}) == first
    assert git("rev-parse", f"refs/sessions/{session_key('s')}", git_dir=desk.git_dir) == refs
    again = desk.sessions.start("s", title="Now with a title", metadata={"b": 2})
    assert (again.agent, again.title, again.metadata) == ("claude", "Now with a title", {"a": 1, "b": 2})
    assert again.created == first.created
    assert again.updated > first.updated


def test_another_phase_is_a_moment_and_the_same_one_is_none(desk: Desk) -> None:
    """The timeline shows when planning ended, not how often the agent repeated that it plans."""
    desk.sessions.start("s", phase="plan")
    desk.sessions.update("s", phase="plan")
    desk.sessions.update("s", phase="build", title="x")
    session = desk.sessions.get("s")
    assert [(moment.kind, dict(moment.data)) for moment in session.moments] == [
        ("phase", {"phase": "plan", "before": ""}),
        ("phase", {"phase": "build", "before": "plan"}),
    ]
    assert session.moments[-1].time == session.updated


def test_an_ended_session_can_be_resumed_and_remembers_both(desk: Desk) -> None:
    """People come back the next day."""
    desk.sessions.start("s")
    desk.sessions.begin_turn("s", prompt="do it")
    ended = desk.sessions.end("s", "the terminal was closed")
    assert ended.status is SessionStatus.ENDED
    assert ended.open_turn is None
    (turn,) = desk.sessions.turns("s")
    assert turn.interrupted
    assert turn.ended is not None
    resumed = desk.sessions.start("s")
    assert resumed.status is SessionStatus.ACTIVE
    told = [(moment.kind, dict(moment.data)) for moment in resumed.moments]
    assert told == [("ended", {"reason": "the terminal was closed"}), ("resumed", {})]


def test_ending_by_update_is_ending(desk: Desk) -> None:
    """Whichever way it is said, no turn is left open."""
    desk.sessions.begin_turn("s")
    assert desk.sessions.update("s", status=SessionStatus.ENDED, title="over").title == "over"
    assert desk.sessions.turn("s", 1).interrupted
    assert desk.sessions.update("s", status=SessionStatus.IDLE).status is SessionStatus.IDLE


def test_moments_stay_a_small_list(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that changes its phase at every step must not make each step dearer than the one before."""
    monkeypatch.setattr(facts, "MOMENTS_LIMIT", 4)
    desk.sessions.start("s")
    for number in range(7):
        desk.sessions.add_moment("s", "forked", {"n": number})
    assert [moment.data["n"] for moment in desk.sessions.get("s").moments] == [3, 4, 5, 6]


def test_lists_are_filtered_and_paged_the_last_used_first(desk: Desk) -> None:
    """`session list` shows what somebody is likely to want."""
    for number in range(7):
        desk.sessions.start(f"s{number}", agent="ab"[number % 2], parent="s0" if number in (1, 4) else None)
    desk.sessions.end("s2", "")
    order = ["s2", "s6", "s5", "s4", "s3", "s1", "s0"]
    assert ids(desk.sessions.list().sessions) == order
    assert ids(desk.sessions.list(agent="b").sessions) == ["s5", "s3", "s1"]
    assert ids(desk.sessions.list(parent="s0").sessions) == ["s4", "s1"]
    assert ids(desk.sessions.list(status=SessionStatus.ENDED).sessions) == ["s2"]
    found, cursor = [], None
    while True:
        page = desk.sessions.list(limit=3, cursor=cursor)
        found.append(ids(page.sessions))
        cursor = page.next
        if cursor is None:
            break
    assert found == [order[:3], order[3:6], order[6:]]


def test_pages_join_where_sessions_share_a_time(desk: Desk) -> None:
    """A clock may stand still; nobody may be left out or come twice for that."""
    for number in range(9):
        desk.clock.time = BEGINNING - timedelta(seconds=1)
        desk.sessions.start(f"s{number}")
    found, cursor = [], None
    for _ in range(5):
        page = desk.sessions.list(limit=2, cursor=cursor)
        found += ids(page.sessions)
        cursor = page.next
    assert cursor is None
    assert sorted(found) == [f"s{number}" for number in range(9)]


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb", "\0", "\ud800"])
def test_an_id_that_nobody_could_print_is_refused(desk: Desk, name: str) -> None:
    """It would come back in lists and file names."""
    with pytest.raises(UsageError, match="printable"):
        desk.sessions.start(name)
    assert desk.refs() == []


@pytest.mark.parametrize(
    "name", ["../../x", "a b", "ä/ö", "~^:?*[\\", "@{", "x.lock", "-", "🙂" * 200, "S", "s"]
)
def test_any_printable_id_is_a_session_of_its_own(desk: Desk, name: str) -> None:
    """Agents choose their ids; git's rules for names are not theirs."""
    desk.sessions.start("other")
    desk.sessions.begin_turn(name, prompt="hello")
    assert desk.sessions.get(name).id == name
    assert {session.id for session in desk.sessions.list().sessions} == {name, "other"}
    assert len(desk.refs()) == 2
    fsck(desk.git_dir)


def test_questions_about_an_unknown_session_are_answered_with_its_name(desk: Desk) -> None:
    """A typing error is seen at once."""
    for ask in (
        lambda: desk.sessions.get("nobody"),
        lambda: desk.sessions.update("nobody", title="x"),
        lambda: desk.sessions.end("nobody"),
        lambda: desk.sessions.turns("nobody"),
        lambda: desk.sessions.turn("nobody", 1),
        lambda: desk.sessions.end_turn("nobody", 1),
        lambda: desk.sessions.snapshots("nobody"),
        lambda: desk.sessions.conversation("nobody"),
        lambda: desk.sessions.reverse("nobody", Reversal(1, (), (), None)),
        lambda: desk.sessions.delete("nobody"),
        lambda: desk.sessions.search("x", session="nobody"),
    ):
        with pytest.raises(UnknownSession, match="'nobody'"):
            ask()


def test_what_makes_no_sense_is_refused_before_anything_is_written(desk: Desk) -> None:
    """A refusal leaves no half of a session behind."""
    nested: list[object] = []
    for _ in range(60):
        nested = [nested]
    for wrong in ({"x": nested}, {"x": "y" * 70_000}, {"x": object()}, {1j: 2}):
        with pytest.raises(UsageError):
            desk.sessions.start("s", metadata=wrong)  # type: ignore[arg-type]
        with pytest.raises(UsageError):
            desk.sessions.begin_turn("s", metadata=wrong)  # type: ignore[arg-type]
    for wrong_call in (
        lambda: desk.sessions.start("s", parent="s"),
        lambda: desk.sessions.start("s", parent=""),
        lambda: desk.sessions.begin_turn("s", number=-1),
        lambda: desk.sessions.begin_turn("s", number=2**63),
        lambda: desk.sessions.begin_turn("s", before=2**63),
        lambda: desk.sessions.record_conversation("s", said("x"), turn=2**63),
        lambda: desk.sessions.record_conversation("s", said("x"), checkpoint=-1),
        lambda: desk.sessions.record_conversation("s", said("x"), metadata={"x": "y" * 70_000}),
        lambda: desk.sessions.list(limit=0),
        lambda: desk.sessions.list(cursor="nonsense"),
        lambda: desk.sessions.list(cursor="9" * 30 + ":x"),
    ):
        with pytest.raises(UsageError):
            wrong_call()
    assert desk.refs() == []


def ids(sessions: object) -> list[str]:
    return [session.id for session in sessions]  # type: ignore[attr-defined]

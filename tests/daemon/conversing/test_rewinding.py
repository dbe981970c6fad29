"""Rewinds: planned, confirmed, scoped, recorded once, undone, and finished after a crash."""

import pytest

from backtrail.errors import (
    NothingToDo,
    PlanChanged,
    StoreFailed,
    UnknownCheckpoint,
    UnknownSession,
    UsageError,
)
from backtraild.conversing import RewindResult
from backtraild.model import Intent, Kind
from backtraild.transcripts import Messages
from backtraild.workspace import Rewind, Scope
from backtraild.workspace.reversals import Reversals
from support.agents import Agent, said
from support.disk import snapshot
from support.project import Files
from support.serving import Site


@pytest.fixture
def agent(site: Site) -> Agent:
    """One that has done three turns."""
    agent = Agent(site)
    agent.turn("one", {"a": "1", "b": "1"})
    agent.turn("two", {"a": "2", "c": "2"})
    agent.turn("three", {"a": "3", "b": None})
    return agent


def state(agent: Agent) -> tuple[Files, list[tuple[int, str]], list[dict[str, str]]]:
    return snapshot(agent.site.root), agent.turns(), agent.recorded()


def test_a_plan_says_what_would_be_done_with_contents_on_request(agent: Agent):
    """An editor shows the files before anybody says yes."""
    plan = agent.rewind(1, confirm=False, contents=True)
    assert (plan.written, plan.deleted, plan.conflicts) == ((b"a", b"b"), (b"c",), ())
    assert [(one.path, one.content) for one in plan.restorations or ()] == [
        (b"a", b"1"), (b"b", b"1"), (b"c", None)
    ]  # fmt: skip
    assert (plan.turns_rewound, plan.messages_removed, plan.turn) == ((2, 3), 4, 1)
    assert plan.checkpoint is not None
    assert (plan.checkpoint.number, plan.result, plan.prompt) == (2, None, None)
    assert agent.rewind(1, confirm=False).restorations is None
    assert agent.rewind(1, confirm=False).plan == plan.plan, "the same as long as nothing changes"


def test_a_plan_that_no_longer_holds_is_not_carried_out(agent: Agent):
    """What was confirmed was to lose version 3 of a file, not what somebody wrote since then."""
    plan = agent.rewind(1, confirm=False)
    agent.site.write("a", "precious")
    before = state(agent)
    checkpoints = len(agent.site.checkpoints())
    with pytest.raises(PlanChanged, match="nothing was done"):
        agent.rewind(1, plan=plan.plan)
    assert state(agent) == before
    assert len(agent.site.checkpoints()) == checkpoints
    agent.rewind(1, plan=agent.rewind(1, confirm=False).plan)
    assert agent.site.content("a") == b"1"


@pytest.mark.parametrize("other", [{"turn": 2}, {"scope": "files"}, {"before": True}])
def test_a_plan_is_good_for_what_was_planned_only(agent: Agent, other):
    """A yes to one thing is no yes to another."""
    plan = agent.rewind(1, confirm=False).plan
    with pytest.raises(PlanChanged):
        agent.rewind(**{"turn": 1, **other}, plan=plan)


def test_a_plan_outlives_the_checkpoint_of_what_was_not_saved_yet(agent: Agent):
    """An automatic checkpoint between question and answer changes nothing about what would be lost."""
    agent.site.write("a", "not saved yet")
    plan = agent.rewind(1, confirm=False)
    agent.service.save(agent.site.id)
    agent.rewind(1, plan=plan.plan)
    assert (agent.site.root / "a").read_text() == "1"


def test_files_alone_go_back_and_the_conversation_stays(agent: Agent):
    """Put the files back, but let us talk on."""
    _, turns, words = state(agent)
    result = agent.rewind(1, scope="files")
    assert (result.turns_rewound, result.messages_removed) == ((), 0)
    assert state(agent) == ({b"a": ("file", b"1"), b"b": ("file", b"1")}, turns, words)
    agent.turn("four", {"d": "4"})
    agent.service.undo(agent.site.id)
    files, turns_after, _ = state(agent)
    assert files == {b"a": ("file", b"3"), b"c": ("file", b"2")}
    assert [number for number, _ in turns_after] == [1, 2, 3, 4], "the fourth turn was not part of the rewind"


def test_the_conversation_alone_goes_back_and_no_file_is_touched(agent: Agent):
    """Forget what I said, but keep the work, also what was not saved yet."""
    agent.site.write("new", "not saved yet")
    before = state(agent)
    result = agent.rewind(1, scope="conversation")
    assert (result.written, result.deleted, result.checkpoint) == ((), (), None)
    assert result.result is not None
    assert (result.result.kind, result.result.files_changed_count) == (Kind.RESTORE, 0)
    assert state(agent) == (before[0], before[1][:1], before[2][:2])
    assert agent.site.content("new") == b"not saved yet", "what was hinted at is not forgotten"
    agent.site.write("new", "later")
    agent.service.undo(agent.site.id)
    assert state(agent) == ({**before[0], b"new": ("file", b"later")}, *before[1:])
    agent.service.undo(agent.site.id)
    assert state(agent)[1:] == (before[1][:1], before[2][:2])


def test_a_rewind_in_which_no_file_differs_can_be_undone_too(site: Site):
    """Two turns of talk are as much worth as two of work."""
    agent = Agent(site)
    agent.turn("one", {"a": "1"})
    agent.turn("two", {})
    before = state(agent)
    result = agent.rewind(1)
    assert (result.written, result.turns_rewound) == ((), (2,))
    site.desk.service.undo(site.id)
    assert state(agent) == before


def test_where_nothing_would_change_nothing_is_confirmed_or_recorded(agent: Agent):
    """A rewind to where one is."""
    plan = agent.rewind(3, confirm=False)
    assert not plan.requires_confirmation
    checkpoints = len(agent.site.checkpoints())
    assert agent.rewind(3).result is None
    assert len(agent.site.checkpoints()) == checkpoints
    with pytest.raises(NothingToDo):
        agent.service.undo(agent.site.id)


@pytest.mark.parametrize("restarted", [False, True])
def test_a_repeated_rewind_gives_the_same_answer(agent: Agent, restarted: bool):
    """The client lost the reply: what the next turn did must not be rewound with it."""
    first = agent.rewind(2, before=True, request="r1")
    if restarted:
        agent.site.desk.restart()
    agent.turn("two, better", {"d": "4"})
    before, told = state(agent), len(agent.site.desk.told)
    again = agent.rewind(2, before=True, request="r1")
    assert facts(again) == facts(first)
    assert (state(agent), len(agent.site.desk.told)) == (before, told)
    assert said(again) == said(first)


def facts(result: RewindResult) -> tuple[object, ...]:
    numbers = [one and one.number for one in (result.checkpoint, result.safety_checkpoint, result.result)]
    files = (set(result.written), set(result.deleted), result.unchanged)
    return (
        result.turn,
        result.scope,
        numbers,
        files,
        result.turns_rewound,
        result.messages_removed,
        result.prompt,
    )


def test_a_turn_under_way_is_interrupted_by_going_back_behind_it(agent: Agent):
    """The agent is stopped in the middle of message 4; its next turn is the fourth again."""
    agent.ask("four")
    agent.site.write("half", "done")
    result = agent.rewind(4, before=True)
    assert (result.prompt, result.turns_rewound) == ("four", (4,))
    assert not (agent.site.root / "half").exists()
    assert agent.ask("four, better").number == 4


def test_after_a_rewind_a_new_generation_begins_and_old_snapshots_still_read_back(agent: Agent):
    """What was said in the branch that was given up is kept as it was."""
    old = agent.service.session(agent.site.id, "s").snapshots
    agent.rewind(1)
    agent.turn("two, better", {"a": "x"})
    view = agent.service.session(agent.site.id, "s")
    assert [one.generation for one in view.snapshots] == [1, 1, 1, 2]
    for snapshot_before in old:
        found = agent.service.conversation(agent.site.id, "s", snapshot=snapshot_before.number)
        assert len(found.lines) == snapshot_before.message_count
    assert agent.recorded(2)[2:] == agent.messages[2:]


def test_pages_of_a_conversation_count_from_both_ends(agent: Agent):
    """A screen shows the last messages first."""
    read = agent.service.conversation
    assert [len(read(agent.site.id, "s", start=start).lines) for start in (0, 4, 99, -1, -99)] == [
        6,
        2,
        0,
        1,
        6,
    ]
    page = read(agent.site.id, "s", start=-3, limit=2)
    assert (page.start, page.message_count, len(page.lines), page.snapshot) == (3, 6, 2, 3)
    agent.service.start_session(agent.site.id, "silent")
    assert read(agent.site.id, "silent").message_count == 0
    with pytest.raises(UsageError):
        read(agent.site.id, "s", 1, snapshot=1)


def test_what_can_t_be_gone_back_to_is_said(agent: Agent):
    """A turn without an end has no state after it; an unknown session has none at all."""
    agent.ask("four")
    with pytest.raises(UnknownCheckpoint, match="after turn 4"):
        agent.rewind(4)
    with pytest.raises(UnknownSession):
        agent.service.rewind(agent.site.id, Rewind("nobody", 1))
    agent.service.delete(agent.site.id, ["2"])
    with pytest.raises(UnknownCheckpoint):
        agent.rewind(1)
    agent.rewind(1, scope="conversation")


@pytest.mark.parametrize("scope", ["both", "conversation"])
def test_restoring_a_checkpoint_brings_its_conversation_back_if_that_is_wanted(agent: Agent, scope: str):
    """Everything as it was at checkpoint 3, in one word."""
    restore = agent.service.restore
    before = state(agent)
    planned = restore(agent.site.id, "3", scope=Scope(scope), dry_run=True)
    assert (planned.dry_run, state(agent)) == (True, before)
    done = restore(agent.site.id, "3", scope=Scope(scope), request="r1")
    again = restore(agent.site.id, "3", scope=Scope(scope), request="r1")
    assert (done.result and done.result.number) == (again.result and again.result.number)
    files, turns, words = state(agent)
    assert (files == before[0]) == (scope == "conversation")
    assert (len(turns), len(words)) == (2, 4)
    agent.service.undo(agent.site.id)
    assert state(agent) == before


def test_a_checkpoint_of_no_turn_has_no_conversation_to_bring_back(agent: Agent):
    """Only its files; and single files have no conversation."""
    agent.service.save(agent.site.id, Intent(message="by hand"), allow_empty=True)
    with pytest.raises(UsageError, match="still part of it"):
        agent.service.restore(agent.site.id, "@", scope=Scope.BOTH)
    with pytest.raises(UsageError, match="as a whole"):
        agent.service.restore(agent.site.id, "2", [b"a"], scope=Scope.BOTH)


@pytest.mark.parametrize("table_is_lost", [False, True])
@pytest.mark.parametrize("undone", [False, True])
def test_a_crash_between_the_files_and_the_turns_is_finished_at_the_next_start(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, undone: bool, table_is_lost: bool
):
    """Files of turn 1 with a conversation of turn 3 would be worse than either."""
    site = agent.site
    before = state(agent)
    if undone:
        agent.rewind(1)
    with monkeypatch.context() as patch:
        patch.setattr(Reversals, "finish", failing)
        with pytest.raises(StoreFailed):
            agent.service.undo(site.id) if undone else agent.rewind(1)
        site.desk.service.stop()
    if table_is_lost:
        (site.store / "state.db").unlink()
    site.desk.restart()
    expected = (
        before if undone else ({b"a": ("file", b"1"), b"b": ("file", b"1")}, before[1][:1], before[2][:2])
    )
    assert state(agent) == expected
    site.desk.service.undo(site.id)
    assert state(agent) != expected
    site.desk.service.undo(site.id)
    assert state(agent) == expected


def failing(*_: object, **__: object) -> None:
    raise StoreFailed("No space left on device.")


def test_a_restart_does_not_rewind_what_came_after_the_rewind(agent: Agent):
    """The record of a rewind is read at every start; it was done long ago."""
    agent.rewind(1)
    agent.turn("two, better", {"d": "4"})
    before = state(agent)
    agent.site.desk.restart()
    assert state(agent) == before


def test_the_record_of_a_rewind_says_nothing_about_a_later_session_of_the_same_id(agent: Agent):
    """Deleted and begun again: turns 2 and 3 of the new one are not those of the old one."""
    agent.rewind(1)
    agent.service.delete_session(agent.site.id, "s")
    anew = Agent(agent.site)
    for number in range(1, 4):
        anew.turn(f"new {number}", {"n": f"{number}"})
    before = state(anew)
    agent.site.desk.restart()
    assert state(anew) == before
    agent.service.undo(agent.site.id)
    assert anew.turns() == before[1], "undo brings the files back, and leaves a stranger's turns alone"


def test_undo_brings_files_back_even_if_the_session_is_damaged(agent: Agent):
    """Two promises; one that can't be kept does not break the other."""
    before = snapshot(agent.site.root)
    agent.rewind(1)
    (ref,) = (agent.site.git_dir / "refs" / "sessions").iterdir()
    ref.write_text("0" * 39 + "1\n")
    agent.service.undo(agent.site.id)
    assert snapshot(agent.site.root) == before


def test_events_tell_of_a_rewind_and_of_its_undoing(agent: Agent):
    """Whoever shows the conversation has to know that part of it is gone, or is back."""
    agent.rewind(1)
    for _ in range(2):
        agent.service.undo(agent.site.id, request="r1")
    gone, back = agent.site.desk.events("conversation_rewound")
    assert (gone.session, gone.data["turns_rewound"], gone.data["turns_restored"]) == ("s", [2, 3], [])
    assert (gone.data["turn"], gone.data["messages_removed"]) == (1, 4)
    assert (back.data["turns_rewound"], back.data["turns_restored"]) == ([], [2, 3])
    restored = agent.site.desk.events("checkpoint_restored")
    assert [event.checkpoint for event in restored] == [gone.checkpoint, back.checkpoint]
    assert [event.session for event in restored] == ["s", "s"]


def test_a_conversation_that_was_never_recorded_leaves_the_files_to_go_back(site: Site):
    """An agent that saves turns without words still gets its files back, and its turns hidden."""
    for number in (1, 2):
        site.write("a", f"{number}")
        site.desk.service.save(site.id, Intent(session="s", turn=number))
    agent = Agent(site)
    result = agent.rewind(1)
    assert (site.content("a"), result.messages_removed, said(result)) == (b"1", 0, [])
    site.desk.service.attach(site.id, "s", Messages([{"role": "user", "content": "late"}]), turn=1)
    assert len(agent.recorded()) == 1

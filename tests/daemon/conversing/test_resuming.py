"""Going on with a session in another process, from its end or from a checkpoint; and letting go of it."""

import json

import pytest

from backtrail.errors import UnknownSession, UnknownTurn
from backtraild.model import Intent
from backtraild.sessions import SessionStatus
from support.agents import Agent, edit
from support.git import git
from support.serving import Site


def test_an_interrupted_session_is_resumed_with_everything_in_a_new_process(site: Site):
    """The machine went down in the middle of turn 3; the agent wants to know where it was."""
    agent = Agent(site)
    agent.turn("one", {"a": "1", "gone": "1"})
    agent.turn("two", {"b": "2"})
    agent.ask("three")
    edit(site, {"a": "half", "new": "half", "gone": None})
    site.desk.restart()
    found = site.desk.service.resume(site.id, "s")
    assert found.last_turn is not None
    assert found.checkpoint is not None
    assert (found.last_turn.number, found.last_turn.prompt, found.interrupted) == (3, "three", True)
    assert found.checkpoint.number == found.last_turn.before
    assert (found.added, found.modified, found.deleted) == ((b"new",), (b"a",), (b"gone",))
    assert [json.loads(line) for line in found.conversation.lines] == agent.messages[:4]
    assert found.view.session.status is SessionStatus.ACTIVE
    assert found.view.session.moments[-1].kind == "resumed"
    assert [event.data["turn"] for event in site.desk.events("session_resumed")] == [3]


def test_a_session_that_ended_is_resumed_where_it_ended(site: Site):
    """Nothing was interrupted, and nothing differs."""
    agent = Agent(site)
    agent.turn("one", {"a": "1"})
    site.desk.service.end_session(site.id, "s", "done")
    found = site.desk.service.resume(site.id, "s")
    assert (found.interrupted, found.added, found.modified, found.deleted) == (False, (), (), ())
    assert found.view.session.status is SessionStatus.ACTIVE
    assert [event.data.get("reason") for event in site.desk.events("session_ended")] == ["done"]


def test_a_session_is_resumed_from_a_checkpoint_of_it(site: Site):
    """ "Go on from where it still worked"; files moved since then count as new and gone."""
    agent = Agent(site)
    agent.turn("one", {"a": "1\n" * 50})
    edit(site, {"moved": "1\n" * 50, "a": None})
    agent.answer("two", 2)
    found = site.desk.service.resume(site.id, "s", "2")
    assert found.last_turn is not None
    assert (found.last_turn.number, len(found.conversation.lines)) == (1, 2)
    assert (found.added, found.deleted) == ((b"moved",), (b"a",))
    site.desk.service.save(site.id, Intent(message="by hand"), allow_empty=True)
    with pytest.raises(UnknownTurn, match="no turn of session 's'"):
        site.desk.service.resume(site.id, "s", "@")
    with pytest.raises(UnknownSession):
        site.desk.service.resume(site.id, "nobody")


def test_after_a_rewind_a_session_is_resumed_from_what_is_left(site: Site):
    """Turns that were taken back are not what one goes on from."""
    agent = Agent(site)
    agent.turn("one", {"a": "1"})
    agent.turn("two", {"a": "2"})
    agent.rewind(1)
    found = site.desk.service.resume(site.id, "s")
    assert found.last_turn is not None
    assert found.checkpoint is not None
    assert (found.last_turn.number, found.checkpoint.number, found.modified) == (1, 2, ())
    assert len(found.conversation.lines) == 2


def test_a_session_whose_checkpoints_are_gone_is_resumed_all_the_same(site: Site):
    """Retention let go of them; what was said is still there."""
    agent = Agent(site)
    agent.turn("one", {"a": "1"})
    site.desk.service.save(site.id, Intent(message="by hand"), allow_empty=True)
    site.desk.service.delete(site.id, ["1", "2"])
    found = site.desk.service.resume(site.id, "s")
    assert (found.checkpoint, len(found.conversation.lines)) == (None, 2)


def test_a_deleted_session_leaves_its_checkpoints_to_retention(site: Site):
    """Its words are gone, and nothing of it is protected any more; pins of others stay."""
    one, two = Agent(site, "one"), Agent(site, "two")
    one.turn("secret plan", {"a": "1"})
    two.turn("other", {"b": "1"})
    for number in ("1", "2", "3"):
        site.desk.service.pin(site.id, number)
    gone = site.desk.service.delete_session(site.id, "one")
    assert gone.checkpoints == (2,)
    assert [one.pinned for one in site.checkpoints()] == [True, False, True]
    assert [event.session for event in site.desk.events("session_deleted")] == ["one"]
    with pytest.raises(UnknownSession):
        site.desk.service.session(site.id, "one")
    refs = git(
        "for-each-ref", "--format=%(refname)", "refs/sessions", "refs/transcripts", git_dir=site.git_dir
    )
    assert len(refs.split()) == 2
    assert two.recorded() == two.messages
    assert site.desk.service.get(site.id, "2").conversation is None


def test_changes_of_a_session_are_told(site: Site):
    """A phase is an event of its own; the same said again is none."""
    service = site.desk.service
    service.start_session(site.id, "s", agent="codex", title="T", phase="plan")
    service.start_session(site.id, "s", agent="codex", title="T", phase="plan")
    service.update_session(site.id, "s", phase="build")
    service.update_session(site.id, "s", title="Other", metadata={"a": 1})
    service.end_session(site.id, "s")
    service.end_session(site.id, "s")
    service.start_session(site.id, "s")
    told = [event.type for event in site.desk.told if event.session == "s"]
    assert told == [
        "session_started", "phase_changed", "phase_changed", "session_updated", "session_ended", "session_resumed"
    ]  # fmt: skip
    changes = [(event.data["before"], event.data["phase"]) for event in site.desk.events("phase_changed")]
    assert changes == [("", "plan"), ("plan", "build")]
    assert [one.id for one in service.sessions(site.id).sessions] == ["s"]


def test_an_old_table_is_made_again_with_the_sessions_in_it(site: Site):
    """The file beside the store can be deleted at any time."""
    agent = Agent(site)
    agent.turn("one", {"a": "1"})
    site.desk.service.stop()
    (site.store / "state.db").unlink()
    site.desk.restart()
    assert (agent.turns(), agent.recorded()) == ([(1, "one")], agent.messages)
    assert [hit.turn for hit in site.desk.service.search(site.id, "did").hits] == [1]


def test_the_history_of_a_file_names_the_prompts_that_changed_it(site: Site):
    """Who asked for this line? Most edits are in automatic checkpoints, in the middle of a turn."""
    agent = Agent(site)
    agent.turn("first prompt", {"a": "1\n"})
    agent.ask("second prompt")
    site.write("a", "1\n2\n")
    site.desk.service.save(site.id, Intent(message="in the middle"))
    agent.answer("done")
    site.write("a", "1\n2\n3\n")
    site.desk.service.save(site.id, Intent(message="by hand"))
    versions = site.desk.service.log_of(site.id, b"a").versions
    assert [one.author and (one.author.turn, one.author.prompt) for one in versions] == [
        None, (2, "second prompt"), (1, "first prompt")
    ]  # fmt: skip
    lines = site.desk.service.blame(site.id, b"a")
    assert [one.author and (one.author.session, one.author.turn) for one in lines] == [
        ("s", 1),
        ("s", 2),
        None,
    ]


def test_a_table_that_is_lost_under_way_costs_no_session(site: Site):
    """Damage is found by whoever reads first, and what the others had in it is made again as well."""
    agent = Agent(site)
    agent.turn("one", {"a": "1"})
    site.desk.service.ask(site.id, lambda keeper: keeper.workspace._parts.database._begin_anew())
    assert [one.id for one in site.desk.service.sessions(site.id).sessions] == ["s"]
    assert agent.turns() == [(1, "one")]
    agent.turn("two", {"a": "2"})
    agent.rewind(1)
    assert (agent.recorded(), site.content("a")) == (agent.messages, b"1")

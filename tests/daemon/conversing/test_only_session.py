"""Two sessions in one folder: one goes back, and the other's work stays."""

import pytest

from backtraild.model import Intent
from support.agents import Agent
from support.disk import snapshot
from support.serving import Site


def content(site: Site, *paths: str) -> list[bytes | None]:
    files = snapshot(site.root)
    return [files[path.encode()][1] if path.encode() in files else None for path in paths]


def test_only_what_the_session_changed_goes_back_and_what_others_changed_too_is_named(site: Site):
    """Two agents work side by side; the mistake of one must not cost the work of the other."""
    one, two = Agent(site, "one"), Agent(site, "two")
    one.turn("1", {"mine": "1", "both": "1"})
    two.turn("1", {"theirs": "1"})
    one.turn("2", {"mine": "2", "both": "2", "new": "2"})
    two.turn("2", {"theirs": "2", "both": "two's"})
    site.write("person", "by hand")
    plan = one.rewind(1, only_session=True, confirm=False)
    assert (plan.written, plan.deleted, plan.session_conflicts) == ((b"mine",), (b"new",), (b"both",))
    done = one.rewind(1, only_session=True, plan=plan.plan)
    assert done.session_conflicts == (b"both",)
    assert content(site, "mine", "new", "theirs", "both", "person") == [
        b"1", None, b"2", b"two's", b"by hand"
    ]  # fmt: skip
    assert (len(one.turns()), len(two.turns())) == (1, 2)
    site.desk.service.undo(site.id)
    assert content(site, "mine", "new", "theirs", "both", "person") == [
        b"2", b"2", b"2", b"two's", b"by hand"
    ]  # fmt: skip
    assert len(one.turns()) == 2


def test_what_was_written_while_a_turn_was_under_way_is_the_session_s(site: Site):
    """Automatic checkpoints name nobody, and most edits are in one of them. So is the one before another's turn."""
    one, two = Agent(site, "one"), Agent(site, "two")
    site.write("a", "0")
    one.ask("1")
    site.write("a", "1")
    site.desk.service.save(site.id, Intent(message="in the middle"))
    site.write("b", "1")
    two.ask("1")
    one.answer("done")
    site.write("c", "by two")
    two.answer("done")
    site.write("d", "by hand")
    plan = one.rewind(1, before=True, only_session=True, confirm=False)
    assert (plan.written, plan.deleted, plan.session_conflicts) == ((b"a",), (b"b",), ())


def test_what_two_sessions_may_have_written_is_left_alone(site: Site):
    """Both had a turn under way; nobody knows whose it is."""
    one, two = Agent(site, "one"), Agent(site, "two")
    one.ask("1")
    two.ask("1")
    site.write("whose", "?")
    site.desk.service.save(site.id, Intent(message="in the middle"))
    one.answer("done")
    plan = one.rewind(1, before=True, only_session=True, confirm=False)
    assert (plan.written, plan.deleted, plan.session_conflicts) == ((), (), (b"whose",))
    done = one.rewind(1, before=True, only_session=True)
    assert (done.result is not None, one.turns()) == (True, []), "the conversation goes back all the same"
    site.write("whose", "later")
    site.desk.service.undo(site.id)
    assert content(site, "whose") == [b"later"], "no file went back, so none comes back"
    assert len(one.turns()) == 1


@pytest.mark.parametrize("forgotten", [None, "3"])
def test_the_same_session_may_go_back_twice_and_checkpoints_may_be_gone(site: Site, forgotten: str | None):
    """What it did in the branch that was given up is its own as well, and what a deleted checkpoint held counts."""
    agent = Agent(site)
    agent.turn("1", {"a": "1"})
    agent.turn("2", {"a": "2", "b": "2"})
    agent.turn("3", {"a": "3"})
    agent.rewind(1, only_session=True)
    assert content(site, "a", "b") == [b"1", None]
    agent.turn("2, better", {"a": "better", "b": "better"})
    site.write("hand", "made")
    if forgotten:
        site.desk.service.delete(site.id, [forgotten])
    done = agent.rewind(1, only_session=True)
    assert (done.written, done.deleted, done.session_conflicts) == ((b"a",), (b"b",), ())
    assert content(site, "a", "b", "hand") == [b"1", None, b"made"]


def test_what_a_person_changed_after_an_interrupted_turn_is_the_person_s(site: Site):
    """The agent died and was replaced; its last turn did not last for ever."""
    agent = Agent(site)
    agent.turn("1", {"a": "1"})
    agent.ask("2")
    site.write("a", "half done")
    site.desk.service.end_session(site.id, "s", "killed")
    site.desk.service.save(site.id, Intent(message="found"))
    site.write("mine", "by hand")
    site.desk.service.save(site.id, Intent(message="by hand"))
    plan = agent.rewind(1, only_session=True, confirm=False)
    assert (plan.written, plan.session_conflicts) == ((), ()), (
        "it was found after the end: nobody knows whose it is"
    )

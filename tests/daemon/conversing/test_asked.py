"""What was asked in a turn, found in the conversation where nobody told it apart."""

import pytest

from backtraild.conversing import Talk
from backtraild.model import Intent, Kind
from backtraild.sessions import conversations
from backtraild.transcripts import Messages
from support.agents import Agent
from support.serving import Site

Message = dict[str, object]


def says(role: str, content: object) -> Message:
    return {"role": role, "content": content}


def exchange(prompt: str) -> list[Message]:
    """A turn in which a tool was used, whose result is told in the user's name."""
    result = [{"type": "tool_result", "tool_use_id": "1", "content": f"result of {prompt}"}]
    return [
        says("user", prompt),
        says("assistant", "I look"),
        says("user", result),
        says("assistant", "done"),
    ]


def save(site: Site, messages: list[Message], turn: int = 1) -> None:
    """As `backtrail save --session s --turn N --conversation FILE` does."""
    talk = Talk(Messages(list(messages)))
    site.desk.service.save(site.id, Intent(Kind.MANUAL, session="s", turn=turn), talk=talk)


def prompts(site: Site) -> list[str]:
    return [turn.prompt for turn in site.desk.service.session(site.id, "s").turns if not turn.rewound]


def test_the_conversation_tells_what_was_asked_in_each_turn(site: Site):
    """An agent that saves its transcript has told everything; its user wants to edit the second message."""
    site.write("a", "1")
    save(site, exchange("one"), 1)
    site.write("a", "2")
    save(site, exchange("one") + exchange("two"), 2)
    assert prompts(site) == ["one", "two"]
    told = [event.data["prompt"] for event in site.desk.told if event.type == "turn_started"]
    assert told == ["one", "two"]
    agent = Agent(site)
    assert agent.rewind(2, before=True, confirm=False).prompt == "two"
    assert agent.rewind(1, before=True).prompt == "one"


def test_a_prompt_that_is_edited_after_a_rewind_is_that_of_the_new_turn(site: Site):
    """The conversation goes on from an earlier point; sent again unchanged, the prompt is the same as before."""
    save(site, exchange("one"), 1)
    save(site, exchange("one") + exchange("two"), 2)
    for again in ("two, but better", "two, but better"):
        Agent(site).rewind(2, before=True)
        save(site, exchange("one") + exchange(again), 2)
        assert prompts(site) == ["one", again]


def test_where_a_conversation_was_rewritten_it_is_what_was_asked_last(site: Site):
    """Agents compact what they remember; a summary is nothing that anybody asked."""
    save(site, exchange("one"), 1)
    save(site, exchange("one") + exchange("two"), 2)
    save(site, [says("user", "What happened so far: one and two."), *exchange("three")], 3)
    assert prompts(site) == ["one", "two", "three"]


def test_in_a_session_that_was_joined_later_it_is_what_was_asked_last(site: Site):
    """Nobody saved the first two turns."""
    save(site, exchange("one") + exchange("two") + exchange("three"), 3)
    assert prompts(site) == ["three"]


def test_a_turn_in_which_nobody_asked_anything_has_no_prompt(site: Site):
    """The prompt of the turn before it would be handed back to be sent again."""
    save(site, exchange("one"), 1)
    save(site, exchange("one"), 2)
    save(site, [*exchange("one"), says("assistant", "and another thing")], 3)
    assert prompts(site) == ["one", "", ""]


def test_what_was_told_counts_more_than_what_is_found(site: Site):
    """A framework may send more to its model than what its user has typed."""
    agent = Agent(site)
    agent.ask("typed")
    agent.messages[-1]["content"] = "typed, with all that the model has to know"
    agent.answer("done")
    assert prompts(site) == ["typed"]


def test_a_conversation_that_is_attached_later_tells_it_too(site: Site):
    """Where it could not be read at once, or is written when the agent ends."""
    site.desk.service.save(site.id, Intent(Kind.MANUAL, session="s", turn=1))
    assert prompts(site) == [""]
    site.desk.service.attach(site.id, "s", Messages(exchange("one")), turn=1)
    assert prompts(site) == ["one"]


def test_secrets_in_it_are_taken_out(site: Site):
    """It is stored once more, apart from the conversation."""
    save(site, exchange("use the password=hunter2-hunter2 please"))
    (prompt,) = prompts(site)
    assert prompt.startswith("use the")
    assert "hunter2" not in prompt


def test_in_a_very_long_turn_only_its_beginning_is_looked_at(site: Site, monkeypatch: pytest.MonkeyPatch):
    """Nobody waits until thousands of messages are read."""
    monkeypatch.setattr(conversations, "MOST_ASKED", 2)
    noise = [says("assistant", "hm")] * 3
    save(site, [*noise, *exchange("too late")], 1)
    save(site, [*noise, *exchange("too late"), *exchange("two")], 2)
    assert prompts(site) == ["", "two"]

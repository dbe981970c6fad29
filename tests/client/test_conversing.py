"""Conversations and tools in every form that a program may have them in."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from backtrail import conversing, protocol
from backtrail.errors import UsageError
from backtrail.methods import methods
from backtrail.protocol import Tool
from backtrail.wire.exchange import Exchange


def test_messages_are_sent_as_the_json_they_are():
    """Any JSON is a message."""
    given: list[Any] = [{"role": "user", "content": "é"}, "text", 1.5, None, ["nested", {}]]
    sent = conversing.conversation(given)
    assert (sent.content, sent.path) == (None, None)
    assert [msgspec.json.decode(bytes(each)) for each in sent.messages or []] == given
    assert conversing.conversation(()).messages == []


def test_text_is_a_transcript_and_never_a_path():
    """A path that is mistaken for a conversation would be recorded as one."""
    assert conversing.conversation('{"a":1}\n').content == '{"a":1}\n'
    assert conversing.conversation("/a/path").content == "/a/path"
    assert conversing.conversation(b"caf\xc3\xa9").content == "café"


def test_a_path_is_made_absolute(tmp_path, monkeypatch):
    """The daemon has another current folder."""
    monkeypatch.chdir(tmp_path)
    assert conversing.conversation(Path("talk.jsonl")).path == str(tmp_path / "talk.jsonl")


def test_half_of_a_character_in_a_message_is_sent_as_a_transcript_would_have_it():
    """Texts that were cut by others come with it, and msgspec refuses to write it."""
    sent = conversing.conversation(["cut \ud83d", 1])
    assert sent.messages is None
    assert sent.content == '"cut \\ud83d"\n1\n'


@pytest.mark.parametrize("given", [{"role": "user"}, 3, b"caf\xe9", [object()], [{1, 2}, object()]])
def test_what_is_no_conversation_is_refused_with_a_sentence(given: Any):
    """A stack trace out of a JSON encoder helps nobody."""
    with pytest.raises(UsageError) as caught:
        conversing.conversation(given)
    assert caught.value.message.endswith(".")


def test_a_tool_is_its_name_or_more():
    """Most programs know no more than the name."""
    assert conversing.tool("bash") == Tool(name="bash")
    assert conversing.tool({"name": "edit", "id": "t1", "input": {"path": "a"}}) == Tool(
        name="edit", id="t1", input={"path": "a"}
    )
    assert conversing.tool(Tool(name="x")) == Tool(name="x")
    with pytest.raises(UsageError):
        conversing.tool({"id": "nameless"})


@pytest.mark.parametrize("way", ["save", "attach"])
def test_a_conversation_that_does_not_fit_into_a_request_is_to_be_given_by_its_path(way: str):
    """The daemon could not even tell whose request it refuses."""
    talk = conversing.conversation(["x" * protocol.MAX_REQUEST_BYTES])
    method = {each.name: each for each in methods()}[way]
    params = method.params(workspace="w", session="s", conversation=talk)
    with pytest.raises(UsageError) as caught:
        Exchange(method, params)
    assert way in caught.value.message
    assert "path" in caught.value.hint

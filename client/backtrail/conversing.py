"""What a caller says about a conversation, as the protocol wants it: messages, text or a file; tools in any form."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

import msgspec

from backtrail import asking
from backtrail.errors import UsageError
from backtrail.protocol import Conversation, Tool

# Messages as JSON values, the text of a transcript, or the path of one: text itself is never taken for a path.
ConversationLike = Sequence[Any] | str | bytes | os.PathLike[str] | os.PathLike[bytes]
ToolLike = str | Mapping[str, Any] | Tool


class Talk(TypedDict, total=False):
    """What may be recorded together with the checkpoint after a turn."""

    conversation: ConversationLike | None
    prompt: str | None
    role: str | None
    tools: Iterable[ToolLike]
    agent: str | None
    title: str | None
    phase: str | None


def talk(said: Talk) -> dict[str, Any]:
    """The parameters of `save` for that."""
    found: dict[str, Any] = {**said}
    given = said.get("conversation")
    found["conversation"] = None if given is None else conversation(given)
    found["tools"] = [tool(each) for each in said.get("tools", ())]
    return found


def conversation(given: ConversationLike) -> Conversation:
    """A conversation as it is sent. A file is read by the daemon, however long it is."""
    if isinstance(given, os.PathLike):
        return Conversation(path=asking.absolute(given))
    if isinstance(given, str | bytes | bytearray):
        return Conversation(content=_text(given))
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise UsageError(
            f"A conversation is a list of messages, the text of a transcript or a path, not {type(given).__name__}.",
            "The path of a file is given as pathlib.Path(…).",
        )
    return _messages(list(given))


def tool(given: ToolLike) -> Tool:
    """A tool that was used, by its name alone or with more about it."""
    if isinstance(given, str):
        return Tool(name=given)
    if isinstance(given, Tool):
        return given
    try:
        return msgspec.convert(given, Tool)
    except msgspec.ValidationError as error:
        raise UsageError(f"This is no use of a tool: {error}.", "It needs at least a `name`.") from error


def _text(given: str | bytes | bytearray) -> str:
    try:
        return given if isinstance(given, str) else given.decode()
    except UnicodeDecodeError as error:
        raise UsageError(
            f"The conversation is not UTF-8: {error}.", "Give the path of its file: pathlib.Path(…)."
        ) from error


def _messages(given: list[Any]) -> Conversation:
    try:
        try:
            return Conversation(messages=[msgspec.Raw(msgspec.json.encode(message)) for message in given])
        except UnicodeEncodeError:  # half of a character, which only the escapes of a transcript can hold
            return Conversation(content="".join(json.dumps(message) + "\n" for message in given))
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"A message of the conversation can't be written as JSON: {error}.") from error

"""What agents tell their hooks, and what is understood of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backtrail.hooks import AGENTS, Told, What, understood

# What Claude Code sends with every event, and Gemini and Codex do as well.
COMMON = {"session_id": "s1", "transcript_path": "/t/s1.jsonl", "cwd": "/work", "model": "some"}
KNOWN = {"session": "s1", "folders": ("/work",), "transcript": "/t/s1.jsonl"}
TOOL = {"tool_name": "Edit", "tool_input": {"file_path": "a.py"}, "tool_use_id": "toolu_1"}
USED = {"tool": "Edit", "tool_input": {"file_path": "a.py"}, "tool_id": "toolu_1"}
CURSOR = {
    "conversation_id": "c1",
    "generation_id": "g",
    "workspace_roots": ["/a", "/b"],
    "transcript_path": None,
}
IN_CURSOR = {"session": "c1", "folders": ("/a", "/b")}


def claude(event: str, **more: Any) -> dict[str, Any]:
    return {**COMMON, "hook_event_name": event, **more}


def cursor(event: str, **more: Any) -> dict[str, Any]:
    return {**CURSOR, "hook_event_name": event, **more}


def opencode(event: str, **properties: Any) -> dict[str, Any]:
    return {"directory": "/work", "event": {"type": event, "properties": properties}}


ALIKE = ["claude-code", "codex"]
CASES = [
    *((agent, claude("SessionStart", source="startup"), What.SESSION_STARTED, {}) for agent in ALIKE),
    *(
        (agent, claude("UserPromptSubmit", prompt="do"), What.TURN_STARTED, {"prompt": "do"})
        for agent in ALIKE
    ),
    *((agent, claude("PostToolUse", tool_response={}, **TOOL), What.TOOL_USED, USED) for agent in ALIKE),
    *((agent, claude("Stop", stop_hook_active=False), What.TURN_ENDED, {}) for agent in ALIKE),
    *((agent, claude("Stop", stop_hook_active=True), What.TURN_ENDED, {"again": True}) for agent in ALIKE),
    *(
        (
            agent,
            claude("SubagentStop", agent_id="a7", agent_type="Explore", agent_transcript_path="/t/a7.jsonl"),
            What.SUBAGENT_ENDED,
            {"subagent": "a7", "subagent_kind": "Explore", "transcript": "/t/a7.jsonl"},
        )
        for agent in ALIKE
    ),
    ("claude-code", claude("SessionEnd", reason="exit"), What.SESSION_ENDED, {"reason": "exit"}),
    ("gemini", claude("SessionStart"), What.SESSION_STARTED, {}),
    ("gemini", claude("BeforeAgent", prompt="do"), What.TURN_STARTED, {"prompt": "do"}),
    ("gemini", claude("AfterTool", **TOOL), What.TOOL_USED, USED),
    ("gemini", claude("AfterAgent", prompt="do"), What.TURN_ENDED, {"prompt": "do"}),
    ("gemini", claude("SessionEnd", reason="exit"), What.SESSION_ENDED, {"reason": "exit"}),
    ("cursor", cursor("sessionStart"), What.SESSION_STARTED, IN_CURSOR),
    ("cursor", cursor("beforeSubmitPrompt", prompt="do"), What.TURN_STARTED, {**IN_CURSOR, "prompt": "do"}),
    ("cursor", cursor("postToolUse", **TOOL), What.TOOL_USED, {**IN_CURSOR, **USED}),
    ("cursor", cursor("subagentStop", modified_files=["a"]), What.SUBAGENT_ENDED, IN_CURSOR),
    ("cursor", cursor("stop", status="completed", loop_count=0), What.TURN_ENDED, IN_CURSOR),
    ("cursor", cursor("sessionEnd", reason="closed"), What.SESSION_ENDED, {**IN_CURSOR, "reason": "closed"}),
    (
        "opencode",
        opencode("session.created", info={"id": "s1", "parentID": "s0", "directory": "/elsewhere"}),
        What.SESSION_STARTED,
        {"parent": "s0"},
    ),
    (
        "opencode",
        {
            "type": "chat.message",
            "sessionID": "s1",
            "cwd": "/work",
            "parts": [{"type": "text", "text": "do"}, {"type": "file"}, 7, {"type": "text", "text": "this"}],
        },
        What.TURN_STARTED,
        {"prompt": "do\nthis"},
    ),
    (
        "opencode",
        {
            "event": "tool.execute.after",
            "sessionID": "s1",
            "directory": "/work",
            "tool": "edit",
            "callID": "x",
        },
        What.TOOL_USED,
        {"tool": "edit", "tool_id": "x"},
    ),
    ("opencode", opencode("session.idle", sessionID="s1"), What.TURN_ENDED, {}),
    ("opencode", opencode("session.status", sessionID="s1", status={"type": "idle"}), What.TURN_ENDED, {}),
    ("opencode", opencode("session.deleted", info={"id": "s1"}), What.SESSION_ENDED, {}),
]


@pytest.mark.parametrize(("agent", "payload", "what", "more"), CASES)
def test_each_event_of_each_agent_is_one_of_the_things_that_happen(
    agent: str, payload: dict[str, Any], what: What, more: dict[str, Any]
) -> None:
    """Whichever agent somebody uses, a turn is a turn."""
    known = {**KNOWN, "transcript": ""} if agent in ("cursor", "opencode") else KNOWN
    assert understood(agent, payload) == Told(what, **{**known, **more})


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        "Stop",
        {},
        {"hook_event_name": "Stop"},
        {"hook_event_name": ["Stop"], "session_id": "s"},
        {"hook_event_name": "Stop", "session_id": 7, "conversation_id": "", "sessionID": None},
        {**COMMON, "hook_event_name": "PreToolUse", **TOOL},
        {**COMMON, "hook_event_name": "SomethingNew"},
        {**CURSOR, "hook_event_name": "afterFileEdit"},
        {"type": "session.status", "sessionID": "s", "status": {"type": "busy"}},
        {"event": {"type": "message.updated", "properties": {"info": {"id": "m", "sessionID": "s"}}}},
    ],
)
def test_what_does_not_matter_or_makes_no_sense_is_nothing(agent: str, payload: Any) -> None:
    """Agents invent events faster than we hear of them."""
    assert understood(agent, payload) is None


def test_fields_of_the_wrong_type_are_as_if_they_were_not_there() -> None:
    """A list where a text was is no reason to lose the turn."""
    payload = claude("UserPromptSubmit", prompt={"a": 1}, transcript_path=3, cwd=None, tool_name=[], reason=1)
    assert understood("claude-code", payload) == Told(What.TURN_STARTED, "s1")
    payload = cursor("stop", workspace_roots=[None, "/a", 3], cwd="/elsewhere")
    assert understood("cursor", payload) == Told(What.TURN_ENDED, "c1", ("/a",))


def test_half_a_character_costs_no_prompt() -> None:
    """JavaScript cuts texts in the middle of an emoji."""
    told = understood("codex", claude("UserPromptSubmit", prompt="smile \ud83d"))
    assert told is not None
    assert told.prompt == "smile ?"


NAMES = ["hook_event_name", "session_id", "conversation_id", "sessionID", "workspace_roots", "cwd", "prompt"]
NAMES += ["event", "type", "properties", "info", "status", "parts", "tool_input", "transcript_path", "args"]
EVENTS = sorted({event for dialect in AGENTS.values() for event in dialect.events} | {"session.status"})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(EVENTS),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(NAMES) | st.text(), inner),
    max_leaves=12,
)


@given(st.sampled_from(sorted(AGENTS)), VALUES, st.sampled_from(EVENTS))
def test_no_json_is_too_strange(agent: str, payload: Any, event: str) -> None:
    """A hook that fails is seen by the user, who asked for nothing."""
    understood(agent, payload)
    if isinstance(payload, dict):
        named = {**payload, "hook_event_name": event, "type": event, "session_id": "s", "sessionID": "s"}
        told = understood(agent, named)
        assert told is None or isinstance(told.what, What)

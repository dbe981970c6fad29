"""How each agent speaks: what its events mean, and under which names it gives what is of interest."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from backtrail.hooks import fields, opencode
from backtrail.hooks.fields import Names, Payload
from backtrail.hooks.model import Told, What


class Dialect(NamedTuple):
    """One agent's. What is not said otherwise is what Claude Code began with and most others took over."""

    events: Mapping[str, What]
    event: Names = ("hook_event_name",)
    session: Names = ("session_id",)
    folders: Names = ("cwd",)
    transcript: Names = ("transcript_path",)
    prompt: Names = ("prompt",)
    tool: Names = ("tool_name",)
    tool_id: Names = ("tool_use_id",)
    tool_input: Names = ("tool_input",)
    flattened: Callable[[Payload], Payload] = lambda payload: payload


_CLAUDE_CODE = Dialect(
    {
        "SessionStart": What.SESSION_STARTED,
        "UserPromptSubmit": What.TURN_STARTED,
        "PostToolUse": What.TOOL_USED,
        "Stop": What.TURN_ENDED,
        "SubagentStop": What.SUBAGENT_ENDED,
        "SessionEnd": What.SESSION_ENDED,
    }
)
_CODEX = Dialect(  # which does not tell that a session has ended
    {
        "SessionStart": What.SESSION_STARTED,
        "UserPromptSubmit": What.TURN_STARTED,
        "PostToolUse": What.TOOL_USED,
        "Stop": What.TURN_ENDED,
        "SubagentStop": What.SUBAGENT_ENDED,
    }
)
_GEMINI = Dialect(
    {
        "SessionStart": What.SESSION_STARTED,
        "BeforeAgent": What.TURN_STARTED,
        "AfterTool": What.TOOL_USED,
        "AfterAgent": What.TURN_ENDED,
        "SessionEnd": What.SESSION_ENDED,
    }
)
_CURSOR = Dialect(
    {
        "sessionStart": What.SESSION_STARTED,
        "beforeSubmitPrompt": What.TURN_STARTED,
        "postToolUse": What.TOOL_USED,
        "stop": What.TURN_ENDED,
        "subagentStop": What.SUBAGENT_ENDED,
        "sessionEnd": What.SESSION_ENDED,
    },
    session=("conversation_id", "session_id"),
    folders=("workspace_roots", "cwd"),
)
_OPENCODE = Dialect(
    {
        "session.created": What.SESSION_STARTED,
        "chat.message": What.TURN_STARTED,
        "tool.execute.after": What.TOOL_USED,
        "session.idle": What.TURN_ENDED,
        "session.deleted": What.SESSION_ENDED,
    },
    event=("type", "event"),
    session=("sessionID", "session_id", "id"),
    folders=("directory", "cwd"),
    prompt=("prompt", "parts"),
    tool=("tool",),
    tool_id=("callID",),
    tool_input=("args",),
    flattened=opencode.flattened,
)

# By the names under which their sessions are kept.
AGENTS: Mapping[str, Dialect] = {
    "claude-code": _CLAUDE_CODE,
    "gemini": _GEMINI,
    "codex": _CODEX,
    "cursor": _CURSOR,
    "opencode": _OPENCODE,
}
ALIASES: Mapping[str, str] = {"claude": "claude-code"}


def understood(agent: str, payload: Any) -> Told | None:
    """What an agent told; None where it is nothing that matters here, or nothing that can be understood."""
    dialect = AGENTS[agent]
    if not isinstance(payload, Mapping):
        return None
    given = dialect.flattened(payload)
    what = dialect.events.get(fields.text(given, dialect.event))
    session = fields.text(given, dialect.session)
    return _told(what, session, given, dialect) if what and session else None


def _told(what: What, session: str, given: Payload, dialect: Dialect) -> Told:
    own = what is What.SUBAGENT_ENDED
    return Told(
        what=what,
        session=session,
        folders=fields.texts(given, dialect.folders),
        transcript=fields.text(given, ("agent_transcript_path",) if own else dialect.transcript),
        prompt=fields.prompt(given, dialect.prompt),
        tool=fields.text(given, dialect.tool),
        tool_id=fields.text(given, dialect.tool_id),
        tool_input=fields.anything(given, dialect.tool_input),
        subagent=fields.text(given, ("agent_id", "subagent_id")),
        subagent_kind=fields.text(given, ("agent_type", "subagent_type")),
        parent=fields.text(given, ("parentID",)),
        reason=fields.text(given, ("reason",)),
        again=given.get("stop_hook_active") is True,
    )

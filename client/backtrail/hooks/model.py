"""What a hook can tell, whichever agent it belongs to."""

from enum import Enum
from typing import Any, NamedTuple


class What(Enum):
    """What happened in the agent's conversation."""

    SESSION_STARTED = "session started"
    TURN_STARTED = "turn started"
    TOOL_USED = "tool used"
    TURN_ENDED = "turn ended"
    SUBAGENT_ENDED = "sub-agent ended"
    SESSION_ENDED = "session ended"


class Told(NamedTuple):
    """One thing that happened, as far as the agent told; texts that it did not give are empty.

    `folders` are where it works, the most important first. `again` says that the turn had ended before, and that
    another hook made the agent go on with it.
    """

    what: What
    session: str
    folders: tuple[str, ...] = ()
    transcript: str = ""
    prompt: str = ""
    tool: str = ""
    tool_id: str = ""
    tool_input: Any = ""
    subagent: str = ""
    subagent_kind: str = ""
    parent: str = ""
    reason: str = ""
    again: bool = False

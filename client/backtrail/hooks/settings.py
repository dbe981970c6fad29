"""What has to go into an agent's settings so that it calls its hook, with the command as it is called here."""

import json
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

from backtrail.hooks.agents import AGENTS
from backtrail.hooks.model import What

_SECONDS = 10  # after which the agent may end the hook; it ends by itself long before

# OpenCode runs plugins and no commands. What goes wrong with the command must not reach OpenCode.
_PLUGIN = """\
import { spawn } from "node:child_process"

const tell = (payload) =>
  new Promise((done) => {
    const hook = spawn(%s, %s, { stdio: ["pipe", "ignore", "ignore"] })
    hook.on("error", done).on("close", done)
    hook.stdin.on("error", () => {})
    hook.stdin.end(JSON.stringify(payload))
  })

const matters = (event) =>
  ["session.created", "session.deleted"].includes(event.type) ||
  (event.type === "session.status" && event.properties.status.type === "idle")

export const Backtrail = async ({ directory }) => ({
  event: async ({ event }) => {
    if (matters(event)) await tell({ directory, event })
  },
  "chat.message": async ({ sessionID }, { parts }) => {
    await tell({ type: "chat.message", directory, sessionID, parts })
  },
  "tool.execute.after": async (call) => {
    await tell({ ...call, type: "tool.execute.after", directory })
  },
})
"""


class Settings(NamedTuple):
    """A file in the project, and what belongs into it; most agents have one for all projects as well."""

    file: str
    text: str


def settings(agent: str, program: Sequence[str]) -> Settings:
    """Those of an agent whose hook is this program with `hook` and the agent's name after it."""
    words = [*program, "hook", agent]
    if agent == "opencode":
        text = _PLUGIN % (json.dumps(words[0]), json.dumps(words[1:]))
        return Settings(".opencode/plugin/backtrail.ts", text)
    command, file = shlex.join(words), _FILES[agent]
    hooks = {name: [_entry(agent, what, command)] for name, what in AGENTS[agent].events.items()}
    document = {"version": 1, "hooks": hooks} if agent == "cursor" else {"hooks": hooks}
    return Settings(file, json.dumps(document, indent=2) + "\n")


_FILES = {
    "claude-code": ".claude/settings.json",
    "gemini": ".gemini/settings.json",
    "codex": ".codex/hooks.json",
    "cursor": ".cursor/hooks.json",
}


def _entry(agent: str, what: What, command: str) -> dict[str, Any]:
    if agent == "cursor":
        return {"command": command}
    # Gemini counts milliseconds.
    timeout = _SECONDS * 1000 if agent == "gemini" else _SECONDS
    entry = {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}
    return {"matcher": "*", **entry} if what is What.TOOL_USED else entry

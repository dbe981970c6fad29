"""What is printed for an agent's settings."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from backtrail.hooks import AGENTS, What, understood
from backtrail.hooks.settings import settings
from support.sources import ROOT

README = (ROOT / "README.md").read_text()
PROGRAM = ["/opt/my tools/backtrail"]
# Calls the plugin as OpenCode does, with a stand-in for the command that writes down what it is told.
OPENCODE = """
import { Backtrail } from "./backtrail.mjs"
const plugin = await Backtrail({ directory: "/work" })
await plugin.event({ event: { type: "session.created", properties: { info: { id: "s" } } } })
await plugin["chat.message"]({ sessionID: "s" }, { parts: [{ type: "text", text: "do" }] })
await plugin["tool.execute.after"]({ tool: "edit", sessionID: "s", callID: "c" }, {})
await plugin.event({ event: { type: "session.status", properties: { sessionID: "s", status: { type: "busy" } } } })
await plugin.event({ event: { type: "session.status", properties: { sessionID: "s", status: { type: "idle" } } } })
await plugin.event({ event: { type: "session.deleted", properties: { info: { id: "s" } } } })
"""


@pytest.mark.parametrize("agent", ["claude-code", "gemini", "codex", "cursor"])
def test_every_event_that_matters_calls_the_hook_by_its_full_name(agent: str) -> None:
    """An agent has another PATH than the shell it was set up in."""
    found = settings(agent, PROGRAM)
    document = json.loads(found.text)
    assert sorted(document["hooks"]) == sorted(AGENTS[agent].events)
    for entries in document["hooks"].values():
        [call] = entries if agent == "cursor" else entries[0]["hooks"]
        assert shlex.split(call["command"]) == [*PROGRAM, "hook", agent]
    assert found.file.startswith(f".{agent.removesuffix('-code')}/")


@pytest.mark.parametrize("agent", AGENTS)
def test_the_readme_names_the_file_of_each_agent(agent: str) -> None:
    """Somebody who reads about it shall not have to run it to learn where it goes."""
    [line] = [line for line in README.splitlines() if f"| `{agent}` |" in line]
    assert f"`{settings(agent, PROGRAM).file}`" in line


def test_gemini_counts_milliseconds_and_cursor_wants_a_version() -> None:
    """Ten milliseconds would end every hook before it began."""
    gemini = json.loads(settings("gemini", PROGRAM).text)["hooks"]["AfterTool"][0]
    assert (gemini["matcher"], gemini["hooks"][0]["timeout"]) == ("*", 10_000)
    claude = json.loads(settings("claude-code", PROGRAM).text)["hooks"]["PostToolUse"][0]
    assert (claude["matcher"], claude["hooks"][0]["timeout"]) == ("*", 10)
    assert json.loads(settings("cursor", PROGRAM).text)["version"] == 1


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_plugin_for_opencode_tells_everything_in_order(tmp_path: Path) -> None:
    """It is a program, and runs in somebody else's."""
    program = tmp_path / "backtrail"
    program.write_text(f'#!/bin/sh\n(echo "$@"; cat; echo) >> {tmp_path}/told\n')
    program.chmod(0o755)
    (tmp_path / "backtrail.mjs").write_text(settings("opencode", [str(program)]).text)
    (tmp_path / "opencode.mjs").write_text(OPENCODE)
    subprocess.run(["node", "opencode.mjs"], cwd=tmp_path, check=True)
    lines = (tmp_path / "told").read_text().splitlines()
    assert set(lines[::2]) == {"hook opencode"}
    told = [understood("opencode", json.loads(line)) for line in lines[1::2]]
    assert [each and each.what for each in told] == [
        What.SESSION_STARTED,
        What.TURN_STARTED,
        What.TOOL_USED,
        What.TURN_ENDED,
        What.SESSION_ENDED,
    ]
    assert {(each.session, each.folders) for each in told if each} == {("s", ("/work",))}

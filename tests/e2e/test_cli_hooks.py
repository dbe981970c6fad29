"""Agents that call their hooks: whole conversations, and everything that can go wrong without anybody noticing."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backtrail.cli.main import run
from backtrail.client import Client
from backtrail.session import Session
from backtrail.workspace import Workspace
from support.clients import frozen
from support.commands import COMMAND, Shell, shell_in
from support.watching import eventually


class Agent:
    """One that calls its hooks, in this process, and writes its transcript in its own time."""

    def __init__(self, shell: Shell, agent: str, session: str, **common: Any) -> None:
        self._shell, self._agent = shell, agent
        self.transcript = shell.folder / f"{session}.jsonl"
        self._common = {"session_id": session, "cwd": str(shell.root), **common}
        self._common.setdefault("transcript_path", str(self.transcript))

    def __call__(self, event: str, **more: Any) -> tuple[int, bytes, str]:
        payload = json.dumps({**self._common, "hook_event_name": event, **more})
        return hook(self._agent, payload.encode(), self._shell.folder / "stdin")

    def says(self, *texts: str) -> None:
        with open(self.transcript, "a") as file:
            file.writelines(json.dumps({"content": text}) + "\n" for text in texts)


def hook(agent: str, payload: bytes, file: Path, *words: str) -> tuple[int, bytes, str]:
    """How a hook ends, and what it prints to either side. It has a process's streams, but no process."""
    file.write_bytes(payload)
    old = sys.stdin, sys.stdout, sys.stderr
    out, err = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
    with open(file) as stdin:
        sys.stdin, sys.stdout, sys.stderr = stdin, out, err
        try:
            status = run(["hook", agent, *words])
        finally:
            sys.stdin, sys.stdout, sys.stderr = old
    return status, out.buffer.getvalue(), err.buffer.getvalue().decode()


SILENT = (0, b"", "")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell_in(tmp_path_factory.mktemp("hooks")) as found:
        found.write("README.md", "hello\n")
        found("watch")
        yield found


@pytest.fixture
def shell(place: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    place.enter(monkeypatch)
    return place


@pytest.fixture
def workspace(shell: Shell) -> Iterator[Workspace]:
    """The same, as a program sees it, to look at what became of it."""
    with Client(home=shell.home, autostart=False) as client:
        yield client.workspace(shell.root)


def said(session: Session, turn: int | None = None) -> list[str]:
    return [message["content"] for message in session.conversation(turn)]


def failures(shell: Shell) -> list[str]:
    """What was written down, once."""
    log = shell.home / "data" / "hooks.log"
    if not log.exists():
        return []
    lines = log.read_text().splitlines()
    log.unlink()
    return [json.loads(line)["message"] for line in lines]


def test_a_whole_conversation_is_recorded_and_rewound(shell: Shell, workspace: Workspace) -> None:
    """I set up the hooks once, never thought of Backtrail again, and now want to go back to my second message."""
    agent = Agent(shell, "claude", "story")
    shell.write("app.py", "mine\n")
    assert agent("SessionStart", source="startup") == SILENT
    assert agent("UserPromptSubmit", prompt="write it") == SILENT
    shell.write("app.py", "first\n")
    edit = {"tool_name": "Edit", "tool_input": {"file_path": "app.py"}, "tool_use_id": "t1"}
    assert agent("PreToolUse", **edit) == SILENT
    assert agent("PostToolUse", **edit, tool_response={"ok": True}) == SILENT
    agent.says("write it")
    assert agent("Stop", stop_hook_active=False) == SILENT
    agent.says("it is written")  # the transcript lags behind
    assert agent("UserPromptSubmit", prompt="write it better") == SILENT
    shell.write("app.py", "second\n")
    agent.says("write it better")
    assert agent("Stop") == SILENT
    agent.says("it is better")
    assert agent("SessionEnd", reason="exit") == SILENT

    story = workspace.session("story")
    found = story.show()
    assert (found.agent, found.title, found.status) == ("claude-code", "write it", "ended")
    first, second = found.turns
    assert (first.prompt, second.prompt) == ("write it", "write it better")
    [tool] = first.tools
    assert (tool.name, tool.id, json.loads(tool.input)) == ("Edit", "t1", {"file_path": "app.py"})
    assert tool.ended is not None
    contents = [workspace.read(f"{turn}:app.py") for turn in (first.before, first.after, second.after)]
    assert contents == [b"mine\n", b"first\n", b"second\n"]
    assert said(story, 1) == ["write it", "it is written"]
    assert said(story, 2) == ["write it", "it is written", "write it better", "it is better"]
    assert said(story) == said(story, 2)

    done = story.rewind(before_turn=2, confirm=True)
    assert (shell.root / "app.py").read_text() == "first\n"
    assert (done.prompt, done.messages_removed) == ("write it better", 2)
    assert failures(shell) == []

    # The agent knows nothing of the rewind: what it still remembers is not what was said in turn 1.
    assert agent("UserPromptSubmit", prompt="once more") == SILENT
    agent("SessionEnd")
    assert said(story, 1) == ["write it", "it is written"]
    assert failures(shell) == []


def test_a_turn_that_another_hook_prolonged_ends_where_it_really_ended(
    shell: Shell, workspace: Workspace
) -> None:
    """A hook of mine makes the agent run the tests; what it then repairs belongs to the same turn."""
    agent = Agent(shell, "codex", "long", transcript_path=None)
    agent("UserPromptSubmit", prompt="go", turn_id="x")
    shell.write("long.py", "broken\n")
    agent("Stop", stop_hook_active=False)
    shell.write("long.py", "repaired\n")
    agent("Stop", stop_hook_active=True)
    [turn] = workspace.session("long").show().turns
    assert workspace.read(f"{turn.after}:long.py") == b"repaired\n"


def test_a_sub_agent_has_a_session_and_a_checkpoint_of_its_own(shell: Shell, workspace: Workspace) -> None:
    """What it said is not in the main transcript, and what it did is part of the turn."""
    agent = Agent(shell, "claude-code", "main")
    agent("UserPromptSubmit", prompt="delegate")
    shell.write("sub.py", "by the sub-agent\n")
    words = shell.folder / "sub.jsonl"
    words.write_text('{"content": "searched"}\n')
    more = {"agent_id": "a7", "agent_type": "Explore", "agent_transcript_path": str(words)}
    assert agent("SubagentStop", **more) == SILENT
    assert agent("SubagentStop", **more) == SILENT, "nothing has changed, which is no failure"
    child = workspace.session("main/a7")
    found = child.show()
    assert (found.parent, found.agent, found.title, found.status) == (
        "main",
        "claude-code",
        "Explore",
        "ended",
    )
    assert said(child) == ["searched"]
    made = found.snapshots[0].checkpoint
    assert workspace.read(f"{made}:sub.py") == b"by the sub-agent\n"
    shell.write("sub.py", "after it\n")
    agent("Stop")
    workspace.session("main").rewind(before_turn=1, only_session=True, confirm=True)
    assert not (shell.root / "sub.py").exists(), "its work belongs to the turn"
    assert failures(shell) == []


def test_gemini_is_answered_and_its_transcript_is_one_object(shell: Shell, workspace: Workspace) -> None:
    """It shows everything to the user that is not JSON."""
    record = shell.folder / "session.json"
    record.write_text(
        json.dumps({"sessionId": "g", "messages": [{"content": "hi"}, {"content": "hello"}]}, indent=2)
    )
    agent = Agent(shell, "gemini", "g", transcript_path=str(record))
    assert agent("BeforeAgent", prompt="hi") == (0, b"{}", "")
    assert agent("AfterAgent", prompt="hi", prompt_response="hello") == (0, b"{}", "")
    assert agent("PreCompress", trigger="auto") == (0, b"{}", "")
    assert said(workspace.session("g"), 1) == ["hi", "hello"]
    assert hook("gemini", b"garbage", shell.folder / "stdin") == (0, b"{}", "")
    assert len(failures(shell)) == 1


def test_the_second_root_of_cursor_is_followed_if_it_is_watched(shell: Shell, workspace: Workspace) -> None:
    """A window of Cursor has several folders, and a turn changes all of them."""
    other, unwatched = shell.folder / "other", shell.folder / "unwatched"
    other.mkdir()
    unwatched.mkdir()
    (other / "b.py").write_text("old\n")
    second = workspace.client.watch(other)
    roots = [str(unwatched), str(shell.root), str(other / "."), str(shell.root / "deep")]
    agent = Agent(shell, "cursor", "", conversation_id="window", workspace_roots=roots, transcript_path=None)
    agent("beforeSubmitPrompt", prompt="both")
    shell.write("a.py", "new\n")
    (other / "b.py").write_text("new\n")
    agent("postToolUse", tool_name="Write", tool_use_id="one\ntwo", tool_input={"path": "a.py"})
    agent("stop", status="completed")
    found = workspace.session("window").show()
    assert (found.agent, found.follows, found.turns[0].prompt) == ("cursor", [second.id], "both")
    assert [tool.name for tool in found.turns[0].tools] == ["Write"]
    workspace.session("window").rewind(before_turn=1, confirm=True)
    assert (other / "b.py").read_text() == "old\n"
    assert failures(shell) == []


def test_a_large_input_of_a_tool_is_kept_without_what_makes_it_large(
    shell: Shell, workspace: Workspace
) -> None:
    """A file of megabytes that an agent writes must not cost the mention of it, nor fill a request."""
    agent = Agent(shell, "claude-code", "large")
    agent("UserPromptSubmit", prompt="write")
    agent("PostToolUse", tool_name="Write", tool_input={"path": "x", "content": "x" * 9_000_000})
    [tool] = workspace.session("large").show().turns[0].tools
    assert json.loads(tool.input) == {"path": "x"}


def test_what_nobody_asked_for_is_ignored_in_silence(shell: Shell) -> None:
    """Hooks are set up for all projects, and Backtrail watches one; they are set up in the middle of a turn."""
    stranger = Agent(shell, "claude-code", "stranger", cwd="/")
    late = Agent(shell, "claude-code", "late")
    for event in ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop", "SessionEnd"):
        assert stranger(event, tool_name="Edit", prompt="x") == SILENT
    assert late("PostToolUse", tool_name="Edit") == SILENT
    assert late("SessionEnd") == SILENT
    assert late("Notification") == SILENT
    assert failures(shell) == []


def test_the_folder_may_be_named_or_be_the_current_one(shell: Shell, workspace: Workspace) -> None:
    """An agent that does not say where it works was started there; -w holds whatever it says."""
    nowhere = {"hook_event_name": "SessionStart", "session_id": "nowhere"}
    elsewhere = {**nowhere, "session_id": "elsewhere", "cwd": "/"}
    assert hook("codex", json.dumps(nowhere).encode(), shell.folder / "stdin") == SILENT
    words = ["-w", str(shell.root)]
    assert hook("codex", json.dumps(elsewhere).encode(), shell.folder / "stdin", *words) == SILENT
    assert {"nowhere", "elsewhere"} <= {one.session for one in workspace.sessions().sessions}


@pytest.mark.parametrize("payload", [b"", b"garbage", b"{", b"\xff", b"[" * 100_000, b"x" * (17 << 20)])
def test_garbage_is_written_down_and_nothing_else(shell: Shell, payload: bytes) -> None:
    """Whoever wonders finds it in the log; the agent sees nothing."""
    assert hook("claude-code", payload, shell.folder / "stdin") == SILENT
    [told] = failures(shell)
    assert "payload" in told


def test_a_long_prompt_gives_a_title_of_whole_words(shell: Shell, workspace: Workspace) -> None:
    """Half of a key would not be recognised as one, and half a line is enough to know a conversation by."""
    agent = Agent(shell, "codex", "titled")
    agent("UserPromptSubmit", prompt="x" * 100)
    assert workspace.session("titled").show().title == ""
    agent("UserPromptSubmit", prompt=f"\n{'word ' * 16}{'x' * 100}\nmore")
    agent("UserPromptSubmit", prompt="another")
    assert workspace.session("titled").show().title == ("word " * 16).strip()


def test_half_a_character_is_read(shell: Shell, workspace: Workspace) -> None:
    """JavaScript writes it as an escape that stricter readers refuse."""
    Agent(shell, "codex", "half")("UserPromptSubmit", prompt="smile \ud83d")
    assert workspace.session("half").show().turns[0].prompt == "smile ?"


def test_what_goes_wrong_is_told_to_whoever_looks_for_it(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BACKTRAIL_DEBUG=1 shows what the log has; a log that has grown is moved away."""
    agent = Agent(shell, "claude-code", "x" * 300)
    assert agent("SessionStart") == SILENT
    monkeypatch.setenv("BACKTRAIL_DEBUG", "1")
    status, out, err = agent("UserPromptSubmit", prompt="my word is hunter2")
    assert (status, out) == (0, b"")
    assert "hunter2" not in err, "nothing of what was said"
    assert "A session's id has 1 to 200" in json.loads(err)["message"]
    assert len(failures(shell)) == 2
    log = shell.home / "data" / "hooks.log"
    log.write_bytes(b"x" * (2 << 20))
    agent("SessionStart")
    agent("SessionStart")
    assert log.stat().st_size < 2000
    assert log.with_suffix(".log.1").stat().st_size > 2 << 20
    assert log.stat().st_mode & 0o777 == 0o600
    failures(shell)


def test_a_name_that_is_no_agent_s_is_told_but_blocks_nobody(shell: Shell) -> None:
    """Some agents take exit code 2 for an order to stop; a typing error in their settings must not be one."""
    for words in (["claud"], [""], ["codex", "--bad"], ["codex", "more"]):
        status, out, err = hook(words[0], b"", shell.folder / "stdin", *words[1:])
        assert (status, out) == (0, b"")
        assert err.startswith("error: ")
    assert shell("hook", status=0).err.startswith("error: `backtrail hook` needs AGENT")


def started(shell: Shell, *words: str, **options: Any) -> "subprocess.Popen[bytes]":
    return shell.start("hook", *words, **{"stdin": subprocess.PIPE, **options})


def payload(shell: Shell, event: str, session: str = "process") -> bytes:
    return json.dumps({"session_id": session, "cwd": str(shell.root), "hook_event_name": event}).encode()


def test_a_daemon_that_does_not_answer_holds_nobody_up(shell: Shell) -> None:
    """All hooks of a session's end have about 1.5 s, then the agent is gone. Ctrl-C ends any hook, and well."""
    daemon = shell.daemon()
    assert daemon is not None
    with frozen(daemon):
        ending, interrupted = started(shell, "claude-code"), started(shell, "claude-code")
        give(interrupted, payload(shell, "Stop"))
        assert ending.communicate(payload(shell, "SessionEnd"), timeout=30) == (b"", b"")
        wait_for_connection(interrupted.pid)
        interrupted.send_signal(signal.SIGINT)
        assert interrupted.communicate(timeout=30) == (b"", b"")
    assert (ending.returncode, interrupted.returncode) == (0, 0)
    assert any("did not answer “session_end” within" in told for told in failures(shell))


def give(process: "subprocess.Popen[bytes]", content: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(content)
    process.stdin.close()
    process.stdin = None


def test_a_closed_stdout_and_an_open_stdin_are_no_failures(shell: Shell, workspace: Workspace) -> None:
    """Agents forget to close what they write to, and end without reading what their hooks say."""
    waiting = started(shell, "claude-code")
    assert waiting.stdin is not None
    waiting.stdin.write(payload(shell, "SessionStart", "open"))
    waiting.stdin.flush()  # and is not closed
    read, write = os.pipe()
    os.close(read)
    unheard = started(shell, "gemini", stdout=write)
    os.close(write)
    assert unheard.communicate(payload(shell, "SessionStart", "unheard"), timeout=30)[1] == b""
    assert unheard.returncode == 0
    assert waiting.wait(30) == 0
    waiting.communicate()
    assert {"open", "unheard"} <= {one.session for one in workspace.sessions().sessions}


def wait_for_connection(process: int) -> None:
    """Until a process has a socket: it talks to the daemon."""

    def sockets() -> bool:
        links = Path(f"/proc/{process}/fd")
        return any("socket" in os.readlink(link) for link in links.iterdir())

    eventually(sockets)


def test_no_daemon_is_started_for_an_end_or_a_tool_and_one_is_for_a_turn(shell: Shell) -> None:
    """The daemon was stopped: a tool must not wait for it each time, and a new turn needs it."""
    with Client(home=shell.home, autostart=False) as client:
        client.stop()
    eventually(lambda: shell.daemon() is None)
    agent = Agent(shell, "claude-code", "stopped")
    assert agent("SessionEnd") == SILENT
    assert agent("PostToolUse", tool_name="Edit") == SILENT
    assert shell.daemon() is None
    assert failures(shell) == ["No daemon is running."] * 2
    assert agent("UserPromptSubmit", prompt="go") == SILENT
    assert shell.daemon() is not None
    with Client(home=shell.home, autostart=False) as client:
        [turn] = client.workspace(shell.root).session("stopped").show().turns
    assert turn.before is not None


def test_without_a_place_for_backtrail_the_agent_goes_on(shell: Shell, tmp_path: Path) -> None:
    """A disk that is full or read-only is the user's trouble already."""
    (tmp_path / "file").write_text("")
    done = subprocess.run(
        [*COMMAND, "hook", "claude-code"],
        input=payload(shell, "UserPromptSubmit"),
        env={**shell.environment, "BACKTRAIL_HOME": str(tmp_path / "file" / "home")},
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_settings_name_a_command_that_works(shell: Shell, workspace: Workspace) -> None:
    """They are pasted, and nobody looks at them again."""
    printed = shell("hook", "claude", "--settings")
    assert ".claude/settings.json" in printed.err
    command = printed.json["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    environment = {**shell.environment, "PATH": "/usr/bin:/bin"}
    subprocess.run(
        ["/bin/sh", "-c", command],
        input=payload(shell, "SessionStart", "set-up"),
        env=environment,
        check=True,
    )
    assert workspace.session("set-up").show().agent == "claude-code"
    answer = shell("hook", "opencode", "--settings", "--json").json
    assert (answer["agent"], answer["file"]) == ("opencode", ".opencode/plugin/backtrail.ts")


def test_an_event_that_does_not_matter_costs_no_client(shell: Shell) -> None:
    """Agents call hooks for every tool; most of a hook's time is what it imports."""
    program = "import sys; from backtrail.cli.main import run; run(['hook', 'codex']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=payload(shell, "PreToolUse"),
        env=shell.environment,
        capture_output=True,
        check=True,
    )
    imported = set(done.stdout.decode().split())
    assert "backtrail.hooks" in imported
    assert not imported & {"zmq", "backtrail.client", "backtrail.cli.reporting", "json", "platformdirs"}

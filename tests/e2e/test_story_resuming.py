"""The story of an interrupted session: resumed with all of its context, rewound, forked, branched, told in order."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.commands import Shell, shell_in

# The agent: six turns, and in the seventh it is killed.
AGENT = """
import os, pathlib, signal, sys
from backtrail import Client
root = pathlib.Path(sys.argv[1])
with Client() as client:
    session = client.workspace(root).session("task-1", agent="builder", title="Build it", phase="planning")
    said = []
    for number in range(1, 8):
        if number == 4:
            session.update(phase="building")
        session.start_turn(f"step {number}", turn=number)
        (root / "work.txt").write_text(f"step {number}\\n")
        if number == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        session.tool_used("write_file", input={"path": "work.txt"})
        said += [{"role": "user", "content": f"step {number}"}, {"role": "assistant", "content": "done"}]
        session.save(f"after step {number}", turn=number, conversation=said)
"""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with shell_in(tmp_path) as found:
        found.write("work.txt", "nothing yet\n")
        git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        subprocess.run([*git, "init", "-q"], cwd=found.root, check=True)
        subprocess.run([*git, "commit", "-qm", "theirs", "--allow-empty"], cwd=found.root, check=True)
        found("watch")
        agent = subprocess.run(
            [sys.executable, "-c", AGENT, found.root], env=found.environment, capture_output=True, text=True
        )
        assert agent.returncode == -signal.SIGKILL, agent.stderr
        yield found


def said(turn: int) -> list[dict[str, str]]:
    pairs = (("user", f"step {number}") for number in range(1, turn + 1))
    return [
        {"role": role, "content": text}
        for _, prompt in pairs
        for role, text in (("user", prompt), ("assistant", "done"))
    ]


def timeline(shell: Shell, *words: str) -> list[dict[str, Any]]:
    return shell("timeline", "--json", "-n", "1000", *words).json["events"]


def test_an_interrupted_session_is_gone_on_with_and_told_in_order(shell: Shell, tmp_path: Path):
    """Whoever takes over knows what was asked, what was done, and what was left undone."""
    found = shell("resume", "task-1", "--json").json
    assert found["interrupted"] is True
    assert found["last_turn"]["turn"] == 7
    assert found["last_turn"]["prompt"] == "step 7"
    assert found["conversation"] == said(6)
    assert (found["session"]["agent"], found["session"]["phase"]) == ("builder", "building")
    assert found["modified_files"] == ["work.txt"]

    done = shell("rewind", "--session", "task-1", "--to-turn", "6", "--conversation", "--json", "--yes").json
    assert done["conversation"] == said(6)
    assert (shell.root / "work.txt").read_text() == "step 7\n"

    fork = tmp_path / "fork"
    forked = shell("fork", "task-1", str(fork), "--at-turn", "5", "--json").json
    assert (fork / "work.txt").read_text() == "step 5\n"
    assert forked["forked_from"] == "task-1"
    copied = shell("session", "show", forked["session"], "--json", "-w", str(fork)).json
    assert copied["forked_from"] == "task-1"
    history = shell("session", "history", forked["session"], "--json", "-w", str(fork)).json
    assert history["messages"] == said(5)
    shell("fork", "task-1", str(fork), status=None)  # refused: it is not empty
    assert (fork / "work.txt").read_text() == "step 5\n"

    after_second = next(turn for turn in found["session"]["turns"] if turn["turn"] == 2)["after"]
    before = refs(shell)
    branched = shell("branch", str(after_second), "second-step", "--json").json
    assert shown(shell, "second-step:work.txt") == "step 2\n"
    assert branched["branch"].endswith("second-step")
    assert {name: oid for name, oid in refs(shell).items() if "second-step" not in name} == before
    assert shell("branch", str(after_second), "second-step", status=None).status != 0

    told = timeline(shell)
    assert [event["seq"] for event in told] == sorted(event["seq"] for event in told)
    assert {event["type"] for event in told} >= {"task", "chat", "checkpoint", "phase"}
    subtypes = [event["subtype"] for event in told]
    for first, later in (
        ("session_started", "turn_started"),
        ("turn_started", "conversation_saved"),
        ("session_resumed", "conversation_rewound"),
        ("conversation_rewound", "session_forked"),
    ):
        assert subtypes.index(first) < len(subtypes) - 1 - subtypes[::-1].index(later), (
            first,
            later,
            subtypes,
        )
    assert all(event["session"] == "task-1" for event in timeline(shell, "--session", "task-1"))
    assert {event["type"] for event in timeline(shell, "--type", "phase")} == {"phase"}
    assert {event["path"] for event in timeline(shell, "--type", "file")} == {"work.txt"}
    building = timeline(shell, "--phase", "building", "--type", "chat")
    assert {event["turn"] for event in building if event["subtype"] == "turn_started"} == {4, 5, 6, 7}


def test_history_of_a_file_names_who_asked_for_each_change(shell: Shell):
    """`log`, `blame`, `search` and `show --explain` answer the same question from four sides: why is this so?"""
    versions = shell("log", "work.txt", "--json").json["versions"]
    assert {version["turn"] for version in versions if version.get("session") == "task-1"} >= {
        1,
        2,
        3,
        4,
        5,
        6,
    }
    assert "step 3" in {version.get("prompt") for version in versions}
    (line,) = shell("blame", "work.txt", "@~1", "--json").json["lines"]
    assert line["text"].startswith("step")
    hits = shell("search", "step 3", "--json").json["hits"]
    assert {hit["found"] for hit in hits} >= {"message", "prompt"}
    third = next(version for version in versions if version.get("turn") == 3)
    explained = shell("show", "--explain", str(third["checkpoint"])).text
    assert "step 3" in explained
    assert "write_file" in explained
    assert "work.txt" in explained


def refs(shell: Shell) -> dict[str, str]:
    listed = subprocess.run(
        ["git", "for-each-ref", "--format=%(refname) %(objectname)"],
        cwd=shell.root,
        capture_output=True,
        text=True,
    ).stdout
    return dict(line.split() for line in listed.splitlines())


def shown(shell: Shell, name: str) -> str:
    return subprocess.run(
        ["git", "show", name], cwd=shell.root, capture_output=True, text=True, check=True
    ).stdout

"""What the daemon tells about its work, to logs, events, other processes and in errors: never what is in a file."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.outside import Outside, outside, short_home
from support.wire import Wire

IN_FILE, IN_TALK, IN_PROMPT = "content-of-a-file-5e3f", "said-in-a-talk-77ab", "asked-in-a-prompt-91cd"
IN_TOOL, IN_ENVIRONMENT = "given-to-a-tool-c0de", "from-the-environment-d00d"
KEY = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
PLANTED = (IN_FILE, IN_TALK, IN_PROMPT, IN_TOOL, IN_ENVIRONMENT, KEY)


@dataclass(frozen=True)
class Day:
    """A daemon after a day's work: which workspace it was, and which errors were told."""

    daemon: Outside
    workspace: str
    errors: list[dict[str, Any]]


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    root = tmp_path_factory.mktemp("day") / "work"
    root.mkdir()
    with pytest.MonkeyPatch.context() as patch, short_home() as home:
        patch.setenv("SOME_VARIABLE", IN_ENVIRONMENT)
        with outside(home, "--verbose") as daemon, daemon.wire() as wire:
            yield Day(daemon, *work(wire, root))


def work(wire: Wire, root: Path) -> tuple[str, list[dict[str, Any]]]:
    """Nearly everything that can be done, and much that fails; the workspace, and the errors."""
    (root / "file.txt").write_text(f"{IN_FILE}\n{KEY}\n")
    name = wire.result("watch", path=str(root))["workspace"]
    of = {"workspace": name, "session": "s"}
    talk = {"messages": [{"role": "user", "content": f"{IN_TALK} password={KEY}"}]}
    wire.result("session_start", **of, agent="agent", title="a title")
    wire.result("turn_start", **of, turn=1, prompt=f"{IN_PROMPT} {KEY}")
    wire.result("tool_used", **of, tool={"name": "Write", "input": {"text": f"{IN_TOOL} {KEY}"}})
    (root / "file.txt").write_text(f"{IN_FILE}\n{KEY}\nchanged\n")
    wire.result("save", **of, turn=1, conversation=talk)
    (root / "file.txt").unlink()
    wire.result("save", workspace=name, allow_empty=True)
    wire.result("restore", workspace=name, checkpoint="1")
    wire.result("undo", workspace=name)
    for method, params in (
        ("diff", {"from": "1"}),
        ("blame", {"path": "file.txt", "checkpoint": "1"}),
        ("search", {"words": IN_TALK}),
        ("read", {"checkpoint": "1:file.txt"}),
        ("timeline", {}),
        ("verify", {}),
    ):
        wire.result(method, workspace=name, **params)
    return name, list(failures(wire, name, root))


def failures(wire: Wire, name: str, root: Path) -> Iterator[dict[str, Any]]:
    """Requests that are wrong, with what nobody shall read about anywhere in them."""
    broken = root.parent / "broken.jsonl"
    broken.write_text(f'{{"role": "user", "content": "{IN_TALK} {KEY}"')
    session = {"workspace": name, "session": "s"}
    yield wire.error("attach", **session, conversation={"path": str(broken.parent / "nowhere")})
    yield wire.error("attach", **session, conversation={"content": f"[{IN_TALK} {KEY}"}, turn=99)
    yield wire.error("attach", **session, conversation={"messages": [IN_TALK], "content": IN_TALK})
    yield wire.error("tool_used", **session, tool={"name": "Write", "input": IN_TOOL}, turn=99)
    yield wire.error("turn_start", **session, turn=10**12, prompt=f"{IN_PROMPT} {KEY}", role=7)
    yield wire.error("rewind", **session, to_turn=99)
    yield wire.error("mirror", workspace=name, remote=f"https://user:{KEY}@127.0.0.1:1/x.git")
    yield wire.raw(b'{"jsonrpc":"2.0","id":1,"method":"save","params":{"prompt":"%s"' % IN_PROMPT.encode())


def test_logs_events_errors_and_process_tell_nothing_of_contents(day: Day):
    """A log is sent to strangers for help, and an event to every subscriber."""
    daemon = day.daemon
    with daemon.wire() as wire:
        events = wire.result("events", since=0)
    told = {
        "errors": json.dumps(day.errors),
        "output": daemon.process.said(),
        "command line": Path(f"/proc/{daemon.pid}/cmdline").read_text(),
        "name": Path(f"/proc/{daemon.pid}/comm").read_text(),
        **{path.name: path.read_bytes().decode(errors="replace") for path in own_files(daemon.home)},
    }
    assert len(events["events"]) > 5
    told["events"] = json.dumps(events)
    found = {(place, mark) for place, text in told.items() for mark in PLANTED if mark in text}
    # The timeline shows how a prompt begins, and is made of events.
    assert {
        (place, mark) for place, mark in found if not (place.startswith("events") and mark == IN_PROMPT)
    } == set()
    assert "daemon.log" in told


def test_a_key_is_nowhere_in_what_is_kept_of_conversations(day: Day):
    """The words of a conversation are kept, and found again; what opens doors is taken out of them before."""
    of = {"workspace": day.workspace, "session": "s"}
    with day.daemon.wire() as wire:
        kept = [
            wire.result(method, **of) for method in ("conversation", "session_show", "resume", "timeline")
        ]
    told = json.dumps(kept)
    assert IN_TALK in told
    assert KEY not in told
    tables = b"".join(path.read_bytes() for path in (day.daemon.home / "data").rglob("*.db*"))
    assert KEY.encode() not in tables


def own_files(home: Path) -> Iterator[Path]:
    """All files of the daemon's own; not those below the workspaces, which hold what was captured."""
    for top, folders, names in os.walk(home):
        if Path(top) == home / "data":
            folders.remove("workspaces")
        yield from (path for name in names if (path := Path(top, name)).is_file())

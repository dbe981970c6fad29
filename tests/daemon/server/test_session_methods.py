"""Every method of conversations, asked over a real socket."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from backtrail import session_protocol, session_values
from support.answering import Bench, answering


class Talk(Bench):
    """A watched folder with one session in it."""

    def turn(self, number: int, content: str, **others: Any) -> dict[str, Any]:
        """One exchange: the agent writes a file, and the conversation has two messages more."""
        self.ask("turn_start", session="s", turn=number, prompt=f"make it {content}")
        (self.root / "a").write_text(content)
        said = {"messages": said_until(number)}
        return self.ask("save", session="s", turn=number, conversation=said, **others)


def said_until(turn: int) -> list[dict[str, str]]:
    """What was said after some turns."""
    roles = ("user", "assistant")
    return [{"role": role, "content": f"{role} {number}"} for number in range(1, turn + 1) for role in roles]


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Talk]:
    with answering(tmp_path, auto_checkpoint=False) as server, server.wire() as wire:
        yield Talk(server, wire)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    """One for all requests that change nothing."""
    folder = tmp_path_factory.mktemp("untouched")
    with answering(folder, auto_checkpoint=False) as server, server.wire() as wire:
        yield Talk(server, wire)


def test_a_session_is_begun_changed_listed_and_ended(talk: Talk):
    """What INTERFACE promises of a session, field by field."""
    begun = talk.ask(
        "session_start", session="s", agent="codex", title="Fix", phase="plan", metadata={"k": 1}
    )
    found = msgspec.convert(begun, session_values.SessionSummary)
    assert (found.session, found.agent, found.title, found.phase) == ("s", "codex", "Fix", "plan")
    assert (found.status, found.turn_count, found.metadata) == ("active", 0, {"k": 1})
    assert (found.parent, found.forked_from, found.forked_at) == (None, None, None)
    talk.ask("session_start", session="helper", parent="s")
    changed = talk.ask("session_update", session="s", phase="build", status="idle", metadata={"more": 2})
    assert (changed["phase"], changed["status"], changed["metadata"]) == (
        "build",
        "idle",
        {"k": 1, "more": 2},
    )
    assert talk.ask("session_end", session="helper", reason="done")["status"] == "ended"
    page = talk.ask("session_list", limit=1)
    assert [each["session"] for each in page["sessions"]] == ["helper"]
    rest = talk.ask("session_list", cursor=page["next"])
    assert [each["session"] for each in rest["sessions"]] == ["s"]
    assert "next" not in rest
    for filters, expected in (
        ({"status": "idle"}, "s"),
        ({"agent": "codex"}, "s"),
        ({"parent": "s"}, "helper"),
    ):
        assert [each["session"] for each in talk.ask("session_list", **filters)["sessions"]] == [expected]


def test_a_turn_has_its_tools_its_checkpoints_and_what_was_said(talk: Talk):
    """The whole exchange can be told afterwards, without opening a transcript."""
    (talk.root / "b").write_text("by hand")
    turn = msgspec.convert(
        talk.ask("turn_start", session="s", prompt="change a", metadata={"model": "x"}), session_values.Turn
    )
    assert (turn.turn, turn.ordinal, turn.role, turn.prompt) == (1, 1, "user", "change a")
    assert (turn.before, turn.after, turn.ended, turn.messages) == (2, None, None, None)
    assert talk.ask("get", checkpoint="2")["files_changed"][0]["path"] == "b"
    tool = {"name": "edit", "id": "t1", "input": {"path": "a"}, "started": "2026-11-16T08:00:00Z"}
    assert talk.ask("tool_used", session="s", tool=tool)["tools"] == [
        {**tool, "input": '{"path":"a"}', "started": "2026-11-16T08:00:00Z"}
    ]
    (talk.root / "a").write_text("changed")
    tools = [{**tool, "ended": "2026-11-16T08:00:01+00:00"}, {"name": "bash"}]
    saved = talk.ask(
        "save", session="s", turn=1, kind="agent", conversation={"messages": said_until(1)}, tools=tools
    )
    assert (saved["number"], saved["session"], saved["turn"]) == (3, "s", 1)
    assert "conversation_error" not in saved
    shown = msgspec.convert(talk.ask("session_show", session="s"), session_values.Session)
    (turn,), (snapshot,) = shown.turns, shown.snapshots
    assert (turn.before, turn.after, turn.messages, turn.interrupted) == (2, 3, 2, False)
    assert [(each.name, each.ended is not None) for each in turn.tools] == [("edit", True), ("bash", False)]
    assert turn.metadata == {"model": "x"}
    assert turn.ended is not None
    assert (snapshot.number, snapshot.generation, snapshot.type) == (1, 1, "checkpoint")
    assert (snapshot.message_count, snapshot.turn, snapshot.checkpoint) == (2, 1, 3)
    assert saved["conversation"] == snapshot.content_hash


def test_the_checkpoint_tells_of_its_conversation_when_it_is_looked_at_again(talk: Talk):
    """A list of checkpoints shows which of them one can talk on from."""
    saved = talk.turn(1, "changed")
    assert talk.ask("get", checkpoint="@")["conversation"] == saved["conversation"]


def test_a_conversation_is_read_in_pages_of_one_snapshot(talk: Talk):
    """What is said meanwhile must not get into the middle of what is being read."""
    talk.turn(1, "one")
    talk.turn(2, "two")
    page = talk.ask("conversation", session="s", limit=3)
    assert (page["start"], page["message_count"]) == (0, 4)
    assert page["messages"] == said_until(2)[:3]
    talk.ask("attach", session="s", conversation={"messages": ["all is different"]})
    rest = talk.ask("conversation", session="s", snapshot=page["snapshot"], start=3)
    assert rest["messages"] == said_until(2)[3:]
    assert talk.ask("conversation", session="s")["messages"] == ["all is different"]
    assert talk.ask("conversation", session="s", turn=1)["messages"] == said_until(1)
    last = talk.ask("conversation", session="s", turn=2, start=-1)
    assert (last["start"], last["messages"]) == (3, said_until(2)[3:])
    assert talk.ask("conversation", session="s", start=99)["messages"] == []


def test_a_session_in_which_nothing_was_recorded_has_an_empty_conversation(talk: Talk):
    """A program that shows it need not know that case."""
    talk.ask("session_start", session="s")
    page = talk.ask("conversation", session="s")
    assert (page["snapshot"], page["message_count"], page["messages"]) == (None, 0, [])


def test_a_page_of_long_messages_ends_early(talk: Talk):
    """Fifty megabytes in one answer would stop everybody else."""
    long = "x" * 1_000_000
    talk.ask("attach", session="s", conversation={"messages": [long] * 6})
    page = talk.ask("conversation", session="s")
    assert (len(page["messages"]), page["message_count"]) == (4, 6)
    rest = talk.ask("conversation", session="s", start=4)
    assert rest["messages"] == [long] * 2
    talk.ask("attach", session="s", conversation={"messages": [long * 5, 1]})
    assert talk.ask("conversation", session="s")["messages"] == [long * 5]
    assert session_protocol.MAX_MESSAGES_BYTES < 5_000_000


@pytest.mark.parametrize("form", ["lines", "array", "file", "messages"])
def test_a_conversation_comes_in_every_form(talk: Talk, tmp_path: Path, form: str):
    """Agents keep transcripts in files, programs have them in memory."""
    lines = "".join(json.dumps(each) + "\n" for each in said_until(2))
    (tmp_path / "talk.jsonl").write_text(lines + '{"not complete')
    given = {
        "lines": {"content": lines},
        "array": {"content": json.dumps(said_until(2), indent=1)},
        "file": {"path": str(tmp_path / "talk.jsonl")},
        "messages": {"messages": said_until(2)},
    }[form]
    attached = talk.ask("attach", session="s", conversation=given, type="auto", metadata={"k": 1})
    snapshot = msgspec.convert(attached, session_values.Attached).snapshot
    assert (snapshot.message_count, snapshot.type, snapshot.metadata) == (4, "auto", {"k": 1})
    assert snapshot.incomplete == (form == "file")
    assert talk.ask("conversation", session="s")["messages"] == said_until(2)


def test_messages_are_kept_as_they_were_written(talk: Talk):
    """A transcript that comes back with other numbers is not the agent's any more."""
    message = b'{"b": 1.50, "big": 123456789012345678901234567890,\n "a": "\\u00e9"}'
    request = b'{"jsonrpc":"2.0","id":1,"method":"attach","params":{"workspace":"%s","session":"s",' % (
        talk.id.encode()
    )
    answer = talk.wire.raw(request + b'"conversation":{"messages":[' + message + b"]}}}")
    assert "result" in answer, answer
    keeper = talk.server.service
    lines = keeper.ask(talk.id, lambda keeper: list(keeper.workspace.sessions.conversation("s")))
    assert lines == [b'{"b": 1.50, "big": 123456789012345678901234567890,"a": "\\u00e9"}']


def test_a_conversation_that_can_not_be_read_does_not_cost_the_checkpoint(talk: Talk, tmp_path: Path):
    """The files are what matters most; the rest can be handed in later."""
    (talk.root / "a").write_text("precious")
    missing = str(tmp_path / "missing.jsonl")
    saved = talk.ask("save", session="s", turn=1, conversation={"path": missing})
    assert saved["files_changed"][0]["path"] == "a"
    assert "missing.jsonl" in saved["conversation_error"]
    assert talk.fail("attach", session="s", conversation={"path": missing})[0] == "unreadable-transcript"
    later = talk.ask("attach", session="s", turn=1, checkpoint="@", conversation={"messages": said_until(1)})
    assert (later["snapshot"]["turn"], later["snapshot"]["checkpoint"]) == (1, saved["number"])
    assert talk.ask("session_show", session="s")["turns"][0]["messages"] == 2


def test_secrets_are_taken_out_and_counted(talk: Talk):
    """What an agent read from a file of secrets must not lie in a store for ever."""
    secret = "ghp_" + "Ab1" * 12
    attached = talk.ask("attach", session="s", conversation={"messages": [f"token {secret}"]})
    assert sum(attached["snapshot"]["redacted"].values()) == 1
    assert secret not in json.dumps(talk.ask("conversation", session="s"))


def test_a_rewind_is_planned_confirmed_and_undone(talk: Talk):
    """Seed 000: edit an earlier message, and files and conversation are as they were then."""
    for number, content in enumerate(("one", "two", "three"), 1):
        talk.turn(number, content)
    plan = msgspec.convert(
        talk.ask("rewind", session="s", before_turn=2, contents=True), session_values.RewindResult
    )
    assert plan.requires_confirmation
    assert (plan.turn, plan.scope, plan.written, plan.deleted) == (2, "both", ["a"], [])
    assert (plan.turns_rewound, plan.messages_removed, plan.message_count) == ([2, 3], 4, 2)
    assert plan.conversation == said_until(1)
    assert plan.prompt == "make it two"
    assert plan.safety_checkpoint is None
    assert [(each.path, each.content_base64) for each in plan.restorations or []] == [("a", "b25l")]
    assert (talk.root / "a").read_text() == "three"
    done = talk.ask("rewind", session="s", before_turn=2, confirm=True, plan=plan.plan, request="r")
    assert not done["requires_confirmation"]
    assert (talk.root / "a").read_text() == "one"
    assert done["checkpoint"]["number"] == plan.checkpoint.number
    assert "restorations" not in done
    again = talk.ask("rewind", session="s", before_turn=2, confirm=True, plan=plan.plan, request="r")
    assert again["result"] == done["result"]
    shown = talk.ask("session_show", session="s")["turns"]
    assert [(each["turn"], each["rewound"]) for each in shown] == [(1, False), (2, True), (3, True)]
    assert len(talk.ask("session_show", session="s", rewound=False)["turns"]) == 1
    assert talk.ask("conversation", session="s")["messages"] == said_until(1)
    talk.ask("undo")
    assert (talk.root / "a").read_text() == "three"
    assert len(talk.ask("session_show", session="s", rewound=False)["turns"]) == 3


def test_a_plan_that_no_longer_holds_is_not_carried_out(talk: Talk):
    """What was confirmed is done, or nothing."""
    talk.turn(1, "one")
    talk.turn(2, "two")
    plan = talk.ask("rewind", session="s", to_turn=1)["plan"]
    talk.save(b="changed meanwhile")
    code, sentence = talk.fail("rewind", session="s", to_turn=1, confirm=True, plan=plan)
    assert code == "plan-changed", sentence
    assert (talk.root / "a").read_text() == "two"


def test_a_restore_takes_the_conversation_along_if_wanted(talk: Talk):
    """`backtrail restore --both`."""
    first = talk.turn(1, "one")
    talk.turn(2, "two")
    result = talk.ask("restore", checkpoint=str(first["number"]), scope="both")
    assert result["written"] == ["a"]
    assert [each["turn"] for each in talk.ask("session_show", session="s", rewound=False)["turns"]] == [1]


def test_a_session_is_gone_on_with_in_full(talk: Talk):
    """Seed 003: the agent crashed, and another process goes on."""
    saved = talk.turn(1, "one")
    talk.ask("turn_start", session="s", prompt="go on")
    (talk.root / "a").write_text("half done")
    (talk.root / "new").write_text("")
    (talk.root / "b").unlink()
    found = msgspec.convert(talk.ask("resume", session="s"), session_values.Resumption)
    assert found.interrupted
    assert found.last_turn is not None
    assert (found.last_turn.turn, found.last_turn.prompt) == (2, "go on")
    assert found.checkpoint is not None
    assert found.checkpoint.number == saved["number"]
    assert (found.added_files, found.modified_files, found.deleted_files) == (["new"], ["a"], ["b"])
    assert (found.message_count, found.conversation) == (2, said_until(1))
    assert [turn.messages for turn in found.session.turns] == [2, None]


def test_subscribers_are_told_of_everything(talk: Talk):
    """An editor shows a conversation as it goes on, with the facts that PROTOCOL.md names."""
    last = talk.wire.result("ping")["seq"]
    talk.ask("session_start", session="s", agent="codex", title="Fix", phase="plan")
    talk.ask("turn_start", session="s", prompt="p" * 500)
    talk.ask("tool_used", session="s", tool={"name": "edit", "id": "t1", "started": "2026-11-16T08:00:00Z"})
    (talk.root / "a").write_text("changed")
    talk.ask("save", session="s", turn=1, conversation={"messages": said_until(1)}, phase="build")
    talk.ask("rewind", session="s", before_turn=1, confirm=True)
    talk.ask("session_end", session="s", reason="done")
    talk.ask("resume", session="s")
    talk.ask("session_delete", session="s")
    events = talk.wire.result("events", since=last)["events"]
    told = {event["type"]: event["data"] for event in events if event.get("session") == "s"}
    assert told["session_started"] == {"agent": "codex", "title": "Fix", "phase": "plan"}
    assert told["turn_started"] == {"turn": 1, "role": "user", "prompt": "p" * 200, "phase": "plan"}
    assert {"turn", "name", "id", "started"} <= told["tool_used"].keys()
    assert told["phase_changed"] == {"phase": "build", "before": "plan"}
    assert told["turn_ended"]["after"] == 2
    assert {"turn", "snapshot", "message_count", "appended", "redacted"} <= told["conversation_saved"].keys()
    assert told["session_ended"]["reason"] == "done"
    assert told.keys() >= {"conversation_rewound", "session_resumed", "session_deleted"}


def test_a_deleted_session_is_gone(talk: Talk):
    """What was said may be private."""
    number = talk.turn(1, "one")["number"]
    assert number in talk.ask("session_delete", session="s")["checkpoints"]
    assert talk.fail("session_show", session="s")[0] == "unknown-session"
    assert talk.ask("session_list")["sessions"] == []
    assert talk.ask("get", checkpoint=str(number))["number"] == number


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("session_show", {"session": "nobody"}, "unknown-session"),
        ("session_end", {"session": "nobody"}, "unknown-session"),
        ("session_update", {"session": "s", "status": "dead"}, "usage"),
        ("session_list", {"status": "dead"}, "usage"),
        ("session_list", {"limit": 0}, "usage"),
        ("session_list", {"cursor": "nowhere"}, "usage"),
        ("session_start", {"session": ""}, "usage"),
        ("session_start", {"session": "x" * 201}, "usage"),
        ("session_start", {"session": "s", "metadata": {"k": "x" * 100_000}}, "usage"),
        ("tool_used", {"session": "s", "tool": {"name": "x"}}, "unknown-turn"),
        ("turn_start", {"session": "s", "turn": -1}, "usage"),
        ("conversation", {"session": "s", "turn": 7}, "unknown-turn"),
        ("conversation", {"session": "s", "snapshot": 7}, "unknown-turn"),
        ("conversation", {"session": "s", "limit": 0}, "usage"),
        ("attach", {"session": "s", "conversation": {}}, "usage"),
        ("attach", {"session": "s", "conversation": {"content": "1", "messages": []}}, "usage"),
        ("attach", {"session": "s", "conversation": {"path": "talk.jsonl"}}, "usage"),
        ("attach", {"session": "s", "conversation": {"messages": [1]}, "type": "odd"}, "usage"),
        ("rewind", {"session": "s"}, "usage"),
        ("rewind", {"session": "s", "to_turn": 1, "before_turn": 1}, "usage"),
        ("rewind", {"session": "s", "to_turn": 1, "scope": "everything"}, "usage"),
        ("rewind", {"session": "s", "to_turn": 1}, "unknown-turn"),
        ("resume", {"session": "nobody"}, "unknown-session"),
        ("restore", {"checkpoint": "@", "scope": "everything"}, "usage"),
        ("save", {"conversation": {"messages": []}, "allow_empty": True}, "usage"),
        ("save", {"prompt": "whose?", "allow_empty": True}, "usage"),
        ("save", {"session": "s", "turn": -1}, "usage"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_code(
    untouched: Talk, method: str, params: dict[str, Any], code: str
):
    """A program decides by the code, and nothing has changed."""
    untouched.ask("session_start", session="s")
    assert untouched.fail(method, **params)[0] == code
    assert [each["number"] for each in untouched.ask("list")["checkpoints"]] == [1]

"""Taking a session elsewhere, and letting go of it."""

import base64
import json
from typing import Any

import pytest

from backtraild.sessions import ToolCall, session_key
from backtraild.transcripts import Lines
from support.conversing import BEGINNING, Desk, said
from support.git import fsck


def exported(desk: Desk, session: str) -> list[dict[str, Any]]:
    lines = b"".join(desk.sessions.export(session)).split(b"\n")
    assert lines.pop() == b""
    return [json.loads(line) for line in lines]


def test_an_export_holds_everything_and_can_be_read_by_anybody(desk: Desk) -> None:
    """A history is the user's; any program that knows JSON can take it over."""
    desk.sessions.start("s", agent="codex", title="T", phase="build", metadata={"a": 1})
    desk.sessions.begin_turn("s", prompt="one", before=1)
    desk.sessions.tool_used("s", 1, ToolCall("bash", "1", {"command": "ls"}, started=BEGINNING))
    desk.sessions.record_conversation("s", said("one", "eins"), turn=1, checkpoint=2)
    desk.sessions.end_turn("s", 1, after=2)
    desk.rewind("s", 0)
    desk.sessions.record_conversation("s", said("two"), turn=1)
    session, turn, first, second, *messages = exported(desk, "s")
    assert session["kind"] == "session"
    assert (session["format"], session["id"], session["agent"], session["title"]) == (1, "s", "codex", "T")
    assert session["moments"][0]["data"] == {"phase": "build", "before": ""}
    assert (turn["kind"], turn["number"], turn["rewound"], turn["prompt"]) == ("turn", 1, True, "one")
    assert turn["tools"][0]["input"] == '{"command":"ls"}'
    assert turn["tools"][0]["started"] == "2026-05-06T07:08:09.123456Z"
    assert [line["kind"] for line in (first, second)] == ["snapshot"] * 2
    assert (first["generation"], first["message_count"], second["generation"]) == (1, 2, 2)
    assert (first["type"], first["turn"], first["checkpoint"]) == ("auto", 1, 2)
    assert messages == [
        {"kind": "message", "generation": 1, "index": 0, "message": {"role": "user", "content": "one"}},
        {"kind": "message", "generation": 1, "index": 1, "message": {"role": "assistant", "content": "eins"}},
        {"kind": "message", "generation": 2, "index": 0, "message": {"role": "user", "content": "two"}},
    ]


def test_lines_that_are_no_json_are_exported_all_the_same(desk: Desk) -> None:
    """An agent's transcript may hold anything; an export is still JSON, line by line."""
    deep = b"[" * 5000 + b"]" * 5000
    lines = [b'{"a": 1}', b"plain text", b"caf\xe9", b"NaN", deep, b'{"n": 1e999999}']
    desk.sessions.record_conversation("s", Lines(b"\n".join(lines) + b"\n"))
    messages = [line for line in exported_shallow(desk) if line["kind"] == "message"]
    assert messages[0]["message"] == {"a": 1}
    assert messages[1]["text"] == "plain text"
    assert base64.b64decode(messages[2]["base64"]) == b"caf\xe9"
    assert messages[3]["text"] == "NaN"
    assert messages[4]["text"] == deep.decode()


def exported_shallow(desk: Desk) -> list[dict[str, Any]]:
    return [json.loads(line) for line in desk.sessions.export("s")]


def test_a_deleted_session_leaves_no_ref_no_row_and_no_hit(desk: Desk) -> None:
    """Deleted means that nobody finds it any more; the other sessions are as they were."""
    for name in ("kept", "gone"):
        desk.sessions.start(name, title=f"{name} title")
        desk.sessions.begin_turn(name, prompt=f"{name} prompt", before=1)
        desk.sessions.record_conversation(name, said(f"{name} message"), turn=1, checkpoint=7)
        desk.sessions.end_turn(name, 1, after=5)
        desk.sessions.begin_turn(name, before=5)
    before = desk.picture()
    assert desk.sessions.delete("gone") == {1, 5, 7}
    assert sorted(desk.refs()) == [
        f"refs/sessions/{session_key('kept')}",
        f"refs/transcripts/{session_key('kept')}",
    ]
    for table in ("sessions", "turns", "snapshots", "passages"):
        column = "key" if table == "sessions" else "session"
        rows = desk.database.connection.execute(f"SELECT DISTINCT {column} FROM {table}")  # noqa: S608
        assert list(rows) == [(session_key("kept"),)]
    assert desk.sessions.search("gone").hits == ()
    assert {hit.session for hit in desk.sessions.search("prompt").hits} == {"kept"}
    assert desk.picture() == {"kept": before["kept"]}
    again = desk.reopened(table=False)
    assert again.picture() == {"kept": before["kept"]}
    again.close()
    fsck(desk.git_dir)


def test_a_deleted_id_begins_anew(desk: Desk) -> None:
    """Nothing of the old session shows in the new one, also after the table was lost."""
    desk.sessions.begin_turn("s", prompt="old")
    desk.sessions.record_conversation("s", said("old", "old", "old"), turn=1)
    desk.sessions.delete("s")
    assert desk.sessions.begin_turn("s", prompt="new").number == 1
    desk.sessions.record_conversation("s", said("new"), turn=1)
    assert [turn.prompt for turn in desk.sessions.turns("s")] == ["new"]
    assert len(desk.sessions.search("new").hits) == 2
    assert desk.sessions.search("old").hits == ()


@pytest.mark.parametrize("taken_again", ["before", "after"])
def test_a_deletion_that_the_table_missed_is_caught_up_with(desk: Desk, taken_again: str) -> None:
    """The table could not be written when the session went, and its id was taken again at once."""
    desk.sessions.begin_turn("s", prompt="old")
    desk.sessions.begin_turn("s", prompt="old")
    ask = desk.database.connection.execute
    rows = {"sessions": list(ask("SELECT * FROM sessions")), "turns": list(ask("SELECT * FROM turns"))}
    desk.sessions.delete("s")
    if taken_again == "before":
        desk.sessions.begin_turn("s", prompt="new")
    with desk.database.transaction():
        for name, old in rows.items():
            marks = ", ".join("?" * len(old[0]))
            ask(f"DELETE FROM {name}")  # noqa: S608
            desk.database.connection.executemany(f"INSERT INTO {name} VALUES ({marks})", old)  # noqa: S608
    if taken_again == "after":
        desk.sessions.begin_turn("s", prompt="new")
    again = desk.reopened()
    assert [turn.prompt for turn in again.sessions.turns("s")] == ["new"]
    again.close()

"""Letting go of a session."""

import pytest

from backtraild.sessions import session_key
from support.conversing import Desk, said
from support.disk import fsck


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

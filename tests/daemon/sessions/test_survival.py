"""What is left after a crash, a lost table, damage and a full disk."""

import errno
import random
import shutil
import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from backtrail.errors import StoreDamaged, StoreFailed
from backtraild import durable
from backtraild.sessions import SessionStatus, ToolCall, session_key
from backtraild.store import pack
from backtraild.workspace import verify
from support import damage
from support.conversing import BEGINNING, Clock, Desk, said
from support.disk import fsck
from support.faults import FaultyOs, install
from support.git import git


def live(desk: Desk) -> None:
    """Two sessions and a sub-agent, with everything that can happen to them."""
    desk.sessions.start("main", agent="claude", title="The work", phase="plan", metadata={"a": [1]})
    desk.sessions.start("helper", agent="claude", parent="main")
    spoken: list[str] = []
    for number in range(1, 6):
        desk.sessions.begin_turn("main", prompt=f"question {number}", before=number)
        desk.sessions.begin_turn("helper", prompt=f"errand {number}")
        desk.sessions.tool_used("main", number, ToolCall("bash", "1", {"command": "make"}))
        spoken += [f"question {number}", f"answer {number}"]
        desk.sessions.record_conversation("main", said(*spoken), turn=number, checkpoint=number + 1)
        desk.sessions.end_turn("main", number, after=number + 1)
    desk.sessions.record_conversation("helper", said("errand", "run"))
    desk.sessions.update("main", phase="build")
    desk.rewind("main", 3)
    desk.sessions.record_conversation("main", said(*spoken[:6], "question 4, better"), turn=3)
    desk.sessions.begin_turn("main", prompt="question 4, better")
    desk.sessions.start("other", agent="codex", forked_from="main", forked_at="turn 3")
    desk.sessions.end("other", "done")


@pytest.fixture(scope="module")
def lively_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lively")
    desk = Desk(folder)
    live(desk)
    desk.close()
    return folder


@pytest.fixture
def lively(lively_folder: Path, tmp_path: Path) -> Iterator[Desk]:
    """A copy of a store in which much has happened."""
    opened = Desk(shutil.copytree(lively_folder, tmp_path / "lively"), Clock(BEGINNING + timedelta(days=1)))
    yield opened
    opened.close()


def found(desk: Desk, words: str) -> list[tuple[object, ...]]:
    hits = desk.sessions.search(words, limit=100).hits
    return [(h.found, h.session, h.turn, h.message, h.generation, h.snippet, h.time, h.rewound) for h in hits]


def test_git_alone_brings_everything_back(lively: Desk) -> None:
    """The process died and the table is gone: the next one knows all that was acknowledged."""
    before, words = lively.picture(), ("question", "errand", "better", '"answer 4"')
    hits = [found(lively, word) for word in words]
    assert all(hits)
    again = lively.reopened(table=False)
    assert again.picture() == before
    assert set(before) == {"main", "helper", "other"}
    assert [found(again, word) for word in words] == hits
    assert again.sessions.get("main").open_turn == 6, "the interrupted turn is seen as such"
    again.close()
    fsck(lively.git_dir)


def test_a_table_that_missed_the_last_records_catches_up(lively: Desk) -> None:
    """A crash fell between the ref and the table."""
    before = lively.picture()
    with lively.database.transaction():
        for change in (
            "UPDATE sessions SET tree = x'00' WHERE id = 'main'",
            "DELETE FROM turns WHERE ordinal > 3 AND session LIKE 'main-%'",
            "DELETE FROM sessions WHERE id = 'other'",
            "INSERT INTO sessions SELECT 'ghost', 'ghost', tree, status, agent, parent, 1, record, 0, 0"
            " FROM sessions WHERE id = 'helper'",
        ):
            lively.database.connection.execute(change)
    again = lively.reopened()
    assert len(again.sessions.list().sessions) == 3
    assert again.picture() == before
    again.close()


def test_rebuilding_changes_nothing_that_can_be_seen(lively: Desk) -> None:
    """`rebuild` is for tables that are not trusted, not for other answers."""
    before, hits = lively.picture(), found(lively, "question")
    lively.sessions.rebuild()
    assert lively.picture() == before
    assert found(lively, "question") == hits


def test_a_damaged_table_fails_no_call_and_is_made_again(lively: Desk) -> None:
    """A bad sector in state.db must cost time, not a turn. Others are told that their rows are gone."""
    before = lively.picture()
    lively = lively.reopened()
    lively.database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    lively.close()
    path = lively.folder / "state.db"
    content = bytearray(path.read_bytes())
    for start in range(0, len(content), 4096):
        if b'"ordinal":' in content[start : start + 4096]:  # where turns are
            content[start : start + 4096] = random.Random(start).randbytes(4096)
    path.write_bytes(content)
    again = Desk(lively.folder, lively.clock)
    assert again.picture() == before
    assert again.losses == 1
    turn = again.sessions.begin_turn("main", prompt="after the damage")
    assert again.sessions.turn("main", turn.number) == turn
    assert found(again, "damage")
    again.close()


def test_a_full_table_fails_no_turn(desk: Desk) -> None:
    """The disk is full for the table: the turn is in git, and the table catches up once it can."""
    desk.sessions.start("s")
    (pages,) = desk.database.connection.execute("PRAGMA page_count").fetchone()
    desk.database.connection.execute(f"PRAGMA max_page_count = {pages}")
    prompts = [f"prompt {number} " + "word " * 5000 for number in range(12)]
    for prompt in prompts:
        desk.sessions.begin_turn("s", prompt=prompt)
    desk.sessions.record_conversation("s", said("x " * 20000, "y " * 20000))
    with pytest.raises(StoreFailed):
        desk.sessions.turns("s")
    desk.database.connection.execute("PRAGMA max_page_count = 100000")
    assert [turn.prompt for turn in desk.sessions.turns("s")] == prompts
    assert len(desk.sessions.search("prompt").hits) == 12
    assert [hit.message for hit in desk.sessions.search("y").hits] == [1]


@pytest.mark.parametrize("nth", range(1, 6))
@pytest.mark.parametrize("call", ["fsync", "write", "replace"])
def test_a_failing_disk_acknowledges_nothing_and_loses_nothing(
    desk: Desk, call: str, nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Either the turn is there or an error said that it is not; what was there before stays."""
    desk.sessions.begin_turn("s", prompt="kept")
    faulty = FaultyOs(call, nth, errno.EIO, lasting=False)
    with monkeypatch.context() as patch:
        install(faulty, [durable, pack], patch)
        try:
            desk.sessions.begin_turn("s", prompt="perhaps")
            acknowledged = True
        except StoreFailed:
            acknowledged = False
    assert acknowledged is not faulty.failed
    prompts = [turn.prompt for turn in desk.sessions.turns("s")]
    assert prompts[0] == "kept"
    assert not acknowledged or prompts == ["kept", "perhaps"]
    desk.sessions.begin_turn("s", prompt="later")
    assert [turn.prompt for turn in desk.sessions.turns("s")] == [*prompts, "later"]
    again = desk.reopened(table=False)
    assert [turn.prompt for turn in again.sessions.turns("s")] == [*prompts, "later"]
    again.close()
    fsck(desk.git_dir)


def test_a_damaged_session_hides_no_other_and_can_be_deleted(desk: Desk) -> None:
    """One lost object must not take the list away."""
    desk.sessions.begin_turn("bad", prompt="x")
    desk.sessions.begin_turn("good", prompt="y")
    (desk.git_dir / "refs" / "sessions" / session_key("bad")).write_text("no id\n")
    again = desk.reopened(table=False)
    assert [session.id for session in again.sessions.list().sessions] == ["good"]
    with pytest.raises(StoreDamaged):
        again.sessions.get("bad")
    again.sessions.delete("bad")
    assert [session.id for session in again.sessions.list().sessions] == ["good"]
    again.sessions.start("bad", title="afresh")
    assert again.sessions.turns("bad") == []
    again.close()
    fsck(desk.git_dir)


def test_a_session_of_a_newer_format_is_not_guessed_at(desk: Desk) -> None:
    """An older Backtrail after a newer one says so."""
    desk.sessions.start("s")
    key = session_key("s")
    ref = f"refs/sessions/{key}"
    facts = git("cat-file", "blob", f"{ref}:session", git_dir=desk.git_dir)
    newer = git(
        "hash-object",
        "-w",
        "--stdin",
        git_dir=desk.git_dir,
        input=facts.replace(b'"format":1', b'"format":2'),
    ).strip()
    tree = git("mktree", git_dir=desk.git_dir, input=b"100644 blob " + newer + b"\tsession\n").strip()
    desk.store.named.publish(ref, desk.store.named.new_pack(), bytes.fromhex(tree.decode()), "newer")
    with pytest.raises(StoreDamaged, match="newer Backtrail"):
        desk.sessions.get("s")


def test_the_records_are_readable_with_git_alone(desk: Desk) -> None:
    """With the daemon gone, prompts and facts are plain JSON in plain git."""
    desk.sessions.begin_turn("s", prompt="what was asked")
    ref = f"refs/sessions/{session_key('s')}"
    assert b'"what was asked"' in git("cat-file", "blob", f"{ref}:turns/0000/01", git_dir=desk.git_dir)
    assert b'"id":"s"' in git("cat-file", "blob", f"{ref}:session", git_dir=desk.git_dir)
    parents = git("log", "-1", "--format=%P|%s", ref, git_dir=desk.git_dir)
    assert parents.strip() == b"|Session s"


def test_a_table_of_the_version_before_is_made_again(lively: Desk) -> None:
    """Upgrading Backtrail loses no session."""
    before = lively.picture()
    lively.close()
    connection = sqlite3.connect(Path(lively.folder) / "state.db")
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    again = Desk(lively.folder, lively.clock)
    assert again.picture() == before
    assert again.sessions.get("other").status is SessionStatus.ENDED
    again.close()


def spoilt(desk: Desk, path: str) -> None:
    """One record or folder of the session `s` is damaged on the disk."""
    oid = git("rev-parse", f"refs/sessions/{session_key('s')}:{path}", git_dir=desk.git_dir).strip()
    for index in (desk.git_dir / "objects" / "pack").glob("*.idx"):
        for line in git("verify-pack", "-v", index).splitlines():
            if line.startswith(oid):
                at = int(line.split()[4]) + int(line.split()[3]) // 2
                content = bytearray(index.with_suffix(".pack").read_bytes())
                content[at] ^= 0x55
                damage.put(str(index.with_suffix(".pack")), bytes(content))


@pytest.mark.parametrize("path", ["session", "turns", "turns/0000", "turns/0000/02"])
@pytest.mark.parametrize("table", [True, False])
def test_a_session_with_a_damaged_record_goes_on_with_all_the_others(
    desk: Desk, path: str, table: bool
) -> None:
    """An agent in the middle of its work must not be stopped by a flipped bit."""
    for number in (1, 2, 3):
        desk.sessions.begin_turn("s", number, prompt=f"prompt {number}")
    spoilt(desk, path)
    again = desk.reopened(table=table)
    again.sessions.begin_turn("s", 4, prompt="prompt 4")
    prompts = [turn.prompt for turn in again.sessions.turns("s")]
    left = {"session": [1, 2, 3, 4], "turns/0000/02": [1, 3, 4]}.get(path, [4])
    assert prompts == [f"prompt {number}" for number in ([1, 2, 3, 4] if table else left)]
    again.sessions.heal()
    assert verify(str(again.folder)).problems == ()
    assert [turn.prompt for turn in again.sessions.turns("s")] == prompts
    again.close()

"""What a turn costs does not depend on how many came before it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild.model import FILE_MODE, Change, Entry
from backtraild.sessions import Session, ToolCall, Turn, session_key
from backtraild.sessions.ledger import Ledger
from backtraild.sessions.rows import Rows
from support.conversing import BEGINNING, Desk, said
from support.disk import fsck

LONG = 4_999


@pytest.fixture(scope="module")
def long_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a session of thousands of turns, written in one step."""
    folder = tmp_path_factory.mktemp("long")
    desk = Desk(folder)
    turns = [
        Turn(at, at, BEGINNING, prompt=f"prompt {at}", ended=BEGINNING, before=at, after=at + 1)
        for at in range(1, LONG + 1)
    ]
    session = Session("s", BEGINNING, BEGINNING, turn_count=LONG, last_number=LONG)
    Ledger(desk.store).write(session_key("s"), None, session, turns)
    desk.sessions.reconcile()
    desk.close()
    return folder


@pytest.fixture
def long_desk(long_folder: Path, tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(shutil.copytree(long_folder, tmp_path / "long"))
    yield opened
    opened.close()


class Written:
    """Counts objects and bytes that reach the store."""

    def __init__(self, desk: Desk) -> None:
        self._folder = desk.git_dir / "objects" / "pack"
        self._known = set(self._folder.iterdir())

    def since(self) -> tuple[int, int]:
        new = set(self._folder.iterdir()) - self._known
        self._known |= new
        packs = [path.read_bytes() for path in new if path.suffix == ".pack"]
        return sum(int.from_bytes(pack[8:12]) for pack in packs), sum(map(len, packs))


def step(desk: Desk, written: Written) -> list[tuple[int, int]]:
    """One turn, and what each of its calls wrote."""
    costs = []
    for call in (
        lambda: desk.sessions.begin_turn("s", prompt="the next question"),
        lambda: desk.sessions.tool_used("s", None, ToolCall("bash", "1", {"command": "make"})),
        lambda: desk.sessions.end_turn("s", after=7),
        lambda: desk.sessions.record_conversation("s", said("a question", "an answer")),
    ):
        call()
        costs.append(written.since())
    return costs


def test_turn_5000_writes_as_much_as_turn_5(long_desk: Desk, tmp_path: Path) -> None:
    """A session that goes on for weeks stays as quick as on its first day."""
    (tmp_path / "short").mkdir()
    short_desk = Desk(tmp_path / "short")
    for _ in range(4):
        short_desk.sessions.begin_turn("s", prompt="earlier")
        short_desk.sessions.end_turn("s")
    early, late = step(short_desk, Written(short_desk)), step(long_desk, Written(long_desk))
    assert long_desk.sessions.get("s").last_number == 5000
    print(early, late)
    assert [objects for objects, _ in late] == [objects for objects, _ in early]
    # A full folder of 256 turns is a tree of about 8 kB; no more than that comes with any number of turns.
    assert all(
        bytes_late < bytes_early + 9_000
        for (_, bytes_late), (_, bytes_early) in zip(late, early, strict=True)
    )
    short_desk.close()
    fsck(long_desk.git_dir)


def test_thousands_of_turns_come_back_from_git(long_desk: Desk) -> None:
    """The table of a long session can be lost like any other."""
    before = long_desk.sessions.turns("s")
    again = long_desk.reopened(table=False)
    assert len(before) == LONG
    assert again.sessions.turns("s") == before
    assert again.sessions.turn("s", 4_321).prompt == "prompt 4321"
    assert [hit.turn for hit in again.sessions.search('"prompt 77"').hits] == [77]
    again.close()


def test_a_turn_reads_no_other_turns(long_desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists and lookups are the table's; what is changed is read from git by itself."""
    reads: list[bytes] = []
    read_blob = long_desk.store.objects.read_blob

    def counted(oid: bytes) -> bytes:
        reads.append(oid)
        return read_blob(oid)

    monkeypatch.setattr(long_desk.store.objects, "read_blob", counted)
    monkeypatch.setattr(Rows, "turns", None)
    step(long_desk, Written(long_desk))
    assert len(reads) < 30


def test_going_back_in_a_long_session_writes_what_is_hidden(long_desk: Desk) -> None:
    """One step, whatever its size: all of the later turns are hidden or none."""
    written = Written(long_desk)
    assert len(long_desk.rewind("s", LONG - 10)) == 10
    objects, _ = written.since()
    assert objects <= 10 + 6
    assert long_desk.sessions.get("s").last_number == LONG - 10


def test_damage_of_one_turn_costs_that_turn(desk: Desk) -> None:
    """The others of a long history are still worth having."""
    for number in range(3):  # the last one is still open
        desk.sessions.begin_turn("s", prompt=f"p{number}")
    ledger = Ledger(desk.store)
    tree = ledger.tree(session_key("s"))
    assert tree is not None
    pack = desk.store.named.new_pack()
    broken = Change(None, Entry(FILE_MODE, pack.add_blob(b"no record")))
    tree = desk.store.write_tree(pack, tree.hex(), {b"turns/0000/02": broken, b"turns/0000/03": broken})
    desk.store.named.publish(f"refs/sessions/{session_key('s')}", pack, tree, "broken")
    again = desk.reopened(table=False)
    assert [turn.prompt for turn in again.sessions.turns("s")] == ["p0"]
    again.sessions.begin_turn("s", prompt="next")
    again.sessions.end("s", "enough")
    assert [turn.prompt for turn in again.sessions.turns("s")] == ["p0", "next"]
    again.close()

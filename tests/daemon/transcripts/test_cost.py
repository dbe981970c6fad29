"""Cost follows what was said since the last time, counted in objects, bytes and reads."""

import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from backtraild.store import pack
from backtraild.transcripts import Lines, Recorded, TranscriptFile, layout
from backtraild.transcripts import reading as reading_module
from support.conversations import CountingOs, ReadsCounted, Room, jsonl, messages, numbered, open_room
from support.disk import fsck
from support.git import git

TURN = [b'{"role": "user", "content": "go on"}', b'{"role": "agent", "content": "%s"}' % (b"done " * 100)]


def cost_of_a_turn(folder: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int, int, int]:
    """Objects and bytes written, bytes of the file and objects read, to append two messages to so many."""
    room = open_room(folder)
    path = folder / "talk.jsonl"
    path.write_bytes(jsonl(numbered(count)))
    assert room.transcripts.record("talk", TranscriptFile(str(path))).message_count == count
    room = room.reopened()
    before = set(room.packs())
    with path.open("ab") as file:
        file.write(jsonl(TURN))
    system = CountingOs()
    with monkeypatch.context() as patch, ReadsCounted(room.store) as objects:
        patch.setattr(reading_module, "os", system)
        recorded = room.transcripts.record("talk", TranscriptFile(str(path)))
    assert (recorded.appended, recorded.message_count) == (2, count + 2)
    (new,) = set(room.packs()) - before
    written = git("show-index", input=new.with_suffix(".idx").read_bytes())
    return len(written.splitlines()), new.stat().st_size, system.bytes, len(objects.read)


def test_a_turn_costs_the_same_after_a_thousand_and_after_a_hundred_thousand_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session of weeks must not get slower with every turn."""
    small = cost_of_a_turn(tmp_path / "small", 1_000, monkeypatch)
    large = cost_of_a_turn(tmp_path / "large", 100_000, monkeypatch)
    for objects, written, from_file, read in (small, large):
        assert objects <= 6  # chunk, folder, about, generation, root, commit
        assert written < 15_000
        assert from_file <= 2 * 4096 + len(jsonl(TURN))
        assert read <= 6
    assert large[1] <= small[1] + 16_000


def test_one_message_of_many_is_found_without_reading_the_others(tmp_path: Path) -> None:
    """Showing message 50,000 must not unpack the conversation."""
    room = open_room(tmp_path / "store")
    lines = numbered(50_000)
    recorded = room.transcripts.record("talk", Lines(jsonl(lines)))
    for number in (0, 1, 25_000, 49_999):
        room = room.reopened()
        with ReadsCounted(room.store) as objects:
            assert list(room.transcripts.read("talk", 1, number, number + 1)) == [lines[number]]
        assert len(objects.read) <= 6  # commit, root, generation, about, folder, chunk
    with ReadsCounted(room.store) as objects:
        reader = room.transcripts.read("talk", 1, 0, recorded.message_count)
        next(reader)
    assert len(objects.read) <= 6


def test_a_folder_holds_few_chunks_and_only_the_one_that_is_needed_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a conversation of 500 MB, the list of all chunks would be as long as many a conversation."""
    monkeypatch.setattr(layout, "FAN_OUT", 4)
    room = open_room(tmp_path / "store")
    lines = numbered(15_000)
    recorded = room.transcripts.record("talk", Lines(jsonl(lines)))
    shown = git("ls-tree", "-r", "--name-only", "refs/transcripts/talk:000001", git_dir=room.git_dir).split()
    folders = Counter(path.split(b"/")[0] for path in shown if b"/" in path)
    assert len(folders) == -(-chunk_count(room, recorded) // 4) > 5
    room = room.reopened()
    with ReadsCounted(room.store) as objects:
        assert list(room.transcripts.read("talk", 1, 7_000, 7_001)) == [lines[7_000]]
    assert len(objects.read) <= 7  # as above, and perhaps the folder that follows


def test_a_rewind_and_a_changed_beginning_share_what_is_the_same(tmp_path: Path) -> None:
    """Each generation shows a whole conversation; the store must not hold it as many times."""
    room = open_room(tmp_path / "store")
    lines = messages(2, 20_000)
    room.transcripts.record("talk", Lines(jsonl(lines)))
    whole = size_of(room)
    rewound = room.transcripts.record("talk", Lines(jsonl(lines[:15_000])))
    assert rewound.generation == 2
    assert size_of(room) - whole < whole / 10
    summarized = room.transcripts.record("talk", Lines(jsonl([b'{"summary": 1}', *lines[500:15_000]])))
    assert summarized.generation == 3
    assert size_of(room) - whole < whole / 5
    assert room.lines(summarized) == [b'{"summary": 1}', *lines[500:15_000]]
    fsck(room.git_dir)


def test_a_long_transcript_is_never_in_memory_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a gigabyte of transcript must not become half a gigabyte of daemon."""
    monkeypatch.setattr(pack, "SPILL_SIZE", 256 * 1024)
    monkeypatch.setattr(reading_module, "PIECE", 256 * 1024)
    room = open_room(tmp_path / "store")
    path = tmp_path / "talk.jsonl"
    path.write_bytes(jsonl([line * 20 for line in numbered(4_000)]))
    assert path.stat().st_size > 25_000_000
    tracemalloc.start()
    try:
        recorded = room.transcripts.record("talk", TranscriptFile(str(path)))
        assert sum(1 for _ in room.transcripts.read("talk", 1)) == recorded.message_count
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


def size_of(room: Room) -> int:
    return sum(pack.stat().st_size for pack in room.packs())


def chunk_count(room: Room, recorded: Recorded) -> int:
    path = f"refs/transcripts/talk:{recorded.generation:06d}"
    return len(git("ls-tree", "-r", "--name-only", path, git_dir=room.git_dir).split()) - 1


def test_compaction_makes_few_chunks_of_many_and_changes_nothing_else(tmp_path: Path) -> None:
    """A conversation of many short turns is read as fast as one that was recorded at once."""
    room = open_room(tmp_path / "store")
    path = tmp_path / "talk.jsonl"
    lines = [b'{"n": %d, "text": "%s"}' % (number, b"word " * 3000) for number in range(60)]
    for line in lines:
        with path.open("ab") as file:
            file.write(line + b"\n")
        recorded = room.transcripts.record("talk", TranscriptFile(str(path)))
    many = chunk_count(room, recorded)
    assert room.transcripts.compact("talk") == [1]
    assert chunk_count(room, recorded) <= 2 + recorded.bytes // (32 * 1024) < many
    assert room.lines(recorded) == lines
    newest = room.transcripts.newest("talk")
    assert newest is not None
    assert newest.content_hash == recorded.content_hash
    packs = room.packs()
    assert room.transcripts.compact("talk") == []
    assert room.packs() == packs
    with path.open("ab") as file:
        file.write(b'"more"\n')
    assert room.transcripts.record("talk", TranscriptFile(str(path))).appended == 1
    fsck(room.git_dir)


def test_short_messages_one_by_one_do_not_become_as_many_chunks(tmp_path: Path) -> None:
    """Until maintenance comes, a thousand short turns must not be a thousand chunks."""
    room = open_room(tmp_path / "store")
    said = b""
    for line in messages(3, 80):
        said += line + b"\n"
        recorded = room.transcripts.record("talk", Lines(said))
    assert chunk_count(room, recorded) <= 3

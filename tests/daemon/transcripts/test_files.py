"""A transcript that an agent is writing: followed from where it was left, read again when in doubt."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from backtraild.transcripts import Messages, Recorded, TranscriptFile, UnreadableTranscript
from backtraild.transcripts import reading as reading_module
from support.conversations import Censor, CountingOs, Room, jsonl, messages, open_room


class Noting(Censor):
    """Remembers which lines it was given: those are the ones that were read from the file."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []
        self.at_each: Callable[[], None] = lambda: None

    def line(self, raw: bytes) -> tuple[bytes, Counter[str]]:
        self.seen.append(raw)
        self.at_each()
        return super().line(raw)


@pytest.fixture
def redactor() -> Noting:
    return Noting()


@pytest.fixture
def room(tmp_path: Path, redactor: Noting) -> Room:
    return open_room(tmp_path / "store", redactor)


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return tmp_path / "talk.jsonl"


def record(room: Room, transcript: Path) -> Recorded:
    return room.transcripts.record("talk", TranscriptFile(str(transcript)))


def append(transcript: Path, content: bytes) -> None:
    with transcript.open("ab") as file:
        file.write(content)


def test_a_file_that_grew_is_read_from_where_it_was_left(
    room: Room, redactor: Noting, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long transcript must not be gone through again for every turn."""
    lines = messages(1, 300)
    transcript.write_bytes(jsonl(lines[:100]))
    record(room, transcript)
    for end in (101, 150, 300):
        redactor.seen.clear()
        before = room.transcripts.newest("talk")
        assert before is not None
        append(transcript, jsonl(lines[before.message_count : end]))
        system = CountingOs()
        monkeypatch.setattr(reading_module, "os", system)
        recorded = record(room, transcript)
        assert system.bytes == 2 * 4096 + len(jsonl(lines[before.message_count : end]))
        assert redactor.seen == lines[before.message_count : end]
        assert (recorded.generation, recorded.message_count) == (1, end)
        assert recorded.appended == end - before.message_count
        assert room.lines(recorded) == lines[:end]


def test_the_next_daemon_goes_on_and_one_without_the_table_reads_all_again(
    room: Room, redactor: Noting, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is a shortcut: losing it costs a pass over the file, nothing else. What is the same in the store
    is not searched for secrets again."""
    lines = messages(2, 120)
    transcript.write_bytes(jsonl(lines[:100]))
    record(room, transcript)
    append(transcript, jsonl(lines[100:110]))
    room = room.reopened(redactor)
    redactor.seen.clear()
    record(room, transcript)
    assert redactor.seen == lines[100:110]
    for path in room.folder.glob("state.db*"):
        path.unlink()
    append(transcript, jsonl(lines[110:]))
    room = room.reopened(redactor)
    redactor.seen.clear()
    system = CountingOs()
    monkeypatch.setattr(reading_module, "os", system)
    recorded = record(room, transcript)
    assert system.bytes >= len(jsonl(lines))
    assert redactor.seen == lines[110:]
    assert (recorded.generation, recorded.appended) == (1, 10)
    assert room.lines(recorded) == lines


def test_a_table_that_fails_is_no_reason_to_fail(
    room: Room, transcript: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The conversation is in git; how far the file was read is only a convenience."""
    transcript.write_bytes(b"1\n2\n")
    room.database.connection.execute("DROP TABLE transcript_sources")
    assert record(room, transcript).message_count == 2
    append(transcript, b"3\n")
    assert record(room, transcript).appended == 1
    assert "transcript_sources" in caplog.text


@pytest.mark.parametrize("unfinished", [b'{"text": "not yet', b"12", b"tru", b'{"a":1} {'])
def test_a_line_that_is_still_being_written_waits_for_its_end(
    room: Room, transcript: Path, unfinished: bytes
) -> None:
    """Half a message is no message; 12 may become 123."""
    transcript.write_bytes(b'{"n": 1}\n' + unfinished)
    recorded = record(room, transcript)
    assert (room.lines(recorded), recorded.incomplete) == ([b'{"n": 1}'], True)
    append(transcript, b'3"}\n')
    recorded = record(room, transcript)
    assert (room.lines(recorded), recorded.incomplete) == ([b'{"n": 1}', unfinished + b'3"}'], False)
    assert recorded.generation == 1


def test_a_last_line_without_newline_is_taken_if_it_is_complete(
    room: Room, redactor: Noting, transcript: Path
) -> None:
    """Not every program ends its file with a newline; what follows still begins a message of its own."""
    transcript.write_bytes(b'{"n": 1}\n{"n": 2}')
    recorded = record(room, transcript)
    assert (room.lines(recorded), recorded.incomplete) == ([b'{"n": 1}', b'{"n": 2}'], False)
    append(transcript, b'\n{"n": 3}')
    redactor.seen.clear()
    recorded = record(room, transcript)
    assert redactor.seen == [b'{"n": 3}']
    assert recorded.generation == 1
    append(transcript, b" , and more\n")
    recorded = record(room, transcript)
    assert room.lines(recorded) == [b'{"n": 1}', b'{"n": 2}', b'{"n": 3} , and more']
    assert recorded.generation == 2


def test_a_file_that_grows_while_it_is_read_is_taken_up_to_the_length_it_had(
    room: Room, redactor: Noting, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that is faster than the daemon must not keep it reading for ever."""
    monkeypatch.setattr(reading_module, "PIECE", 64)
    lines = messages(3, 20)
    transcript.write_bytes(jsonl(lines))
    redactor.at_each = lambda: append(transcript, b'{"more": 1}\n{"and mo')
    recorded = record(room, transcript)
    assert (room.lines(recorded), recorded.incomplete) == (lines, False)
    redactor.at_each = lambda: None
    recorded = record(room, transcript)
    assert room.lines(recorded)[:21] == [*lines, b'{"more": 1}']
    assert (recorded.message_count, recorded.appended, recorded.incomplete) == (40, 20, True)


def test_a_file_that_shrinks_while_it_is_read_is_refused(
    room: Room, redactor: Noting, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read then is neither the old conversation nor the new one."""
    monkeypatch.setattr(reading_module, "PIECE", 64)
    transcript.write_bytes(jsonl(messages(4, 20)))
    redactor.at_each = lambda: os.truncate(transcript, 10)
    with pytest.raises(UnreadableTranscript, match="became shorter"):
        record(room, transcript)
    assert room.transcripts.newest("talk") is None


@pytest.mark.parametrize(
    "way", ["replaced", "replaced in the middle", "rewritten", "first line", "shorter", "last line"]
)
def test_a_file_that_did_more_than_grow_is_read_from_the_beginning(
    room: Room, transcript: Path, tmp_path: Path, way: str
) -> None:
    """An agent that compacts its conversation writes another one under the same name."""
    old, new = messages(5, 400), messages(6, 500)
    transcript.write_bytes(jsonl(old))
    first = record(room, transcript)
    lines = {
        "first line": [old[0].replace(b"text", b"TEXT"), *old[1:], *new],
        "last line": [*old[:-1], *new],
        "shorter": old[:300],
    }
    lines["replaced in the middle"] = [*old[:200], old[200].replace(b"text", b"TEXT"), *old[201:], *new]
    expected = lines.get(way, new)
    if way.startswith("replaced"):
        (tmp_path / "new").write_bytes(jsonl(expected))
        os.replace(tmp_path / "new", transcript)
    else:
        transcript.write_bytes(jsonl(expected))  # the same inode
    second = record(room, transcript)
    assert second.generation == 2
    assert room.lines(second) == expected
    assert room.lines(first) == old


def test_a_file_that_was_replaced_by_a_copy_goes_on_in_the_same_generation(
    room: Room, transcript: Path, tmp_path: Path
) -> None:
    """Some programs write a new file and rename it for every message."""
    lines = messages(7, 60)
    transcript.write_bytes(jsonl(lines[:50]))
    record(room, transcript)
    (tmp_path / "new").write_bytes(jsonl(lines))
    os.replace(tmp_path / "new", transcript)
    recorded = record(room, transcript)
    assert (recorded.generation, recorded.appended) == (1, 10)
    assert room.lines(recorded) == lines


def test_another_file_of_the_same_session_is_compared_and_not_trusted(
    room: Room, transcript: Path, tmp_path: Path
) -> None:
    """A resumed agent may write a new file that begins with the old conversation, or does not."""
    lines = messages(8, 30)
    transcript.write_bytes(jsonl(lines[:20]))
    record(room, transcript)
    (tmp_path / "resumed").write_bytes(jsonl(lines))
    recorded = record(room, tmp_path / "resumed")
    assert (recorded.generation, recorded.appended) == (1, 10)
    recorded = record(room, transcript)
    assert (recorded.generation, recorded.message_count) == (2, 20)
    assert room.lines(recorded) == lines[:20]


def test_a_conversation_that_came_another_way_in_between_is_compared(room: Room, transcript: Path) -> None:
    """Where the file was left says nothing about messages that were handed over since."""
    transcript.write_bytes(b"1\n")
    record(room, transcript)
    room.transcripts.record("talk", Messages([1, 2]))
    append(transcript, b"2\n3\n")
    recorded = record(room, transcript)
    assert (room.lines(recorded), recorded.generation, recorded.appended) == ([b"1", b"2", b"3"], 1, 1)

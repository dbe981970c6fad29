"""A conversation comes back as it was recorded, whatever form it came in."""

import itertools
import json
import os
import random
import string
import time
from collections import Counter
from pathlib import Path

import pytest

from backtrail.errors import StoreDamaged, UsageError
from backtraild.redaction import Redactor
from backtraild.transcripts import (
    Lines,
    Messages,
    TranscriptFile,
    UnknownConversation,
    UnreadableTranscript,
    splitting,
)
from backtraild.transcripts import reading as reading_module
from support.conversations import Censor, Room, jsonl, messages, open_room
from support.disk import fsck
from support.git import git


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return open_room(tmp_path / "store")


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return tmp_path / "talk.jsonl"


def test_messages_come_back_as_compact_lines_and_git_finds_nothing_wrong(room: Room) -> None:
    """The store stays plain git, readable with git alone when the daemon is gone."""
    recorded = room.transcripts.record("talk", Messages([{"role": "user", "content": "hé"}, "text", 3, None]))
    assert room.lines(recorded) == ['{"role":"user","content":"hé"}'.encode(), b'"text"', b"3", b"null"]
    assert (recorded.generation, recorded.message_count, recorded.appended) == (1, 4, 4)
    assert recorded.bytes == sum(len(line) + 1 for line in room.lines(recorded))
    shown = git("show", "refs/transcripts/talk:000001/000000000/000000000", git_dir=room.git_dir)
    assert shown == jsonl(room.lines(recorded))
    assert (
        git("log", "--format=%P%s", "refs/transcripts/talk", git_dir=room.git_dir) == b"Conversation talk\n"
    )
    fsck(room.git_dir)


def test_lines_of_a_transcript_are_kept_as_they_are(room: Room) -> None:
    """An agent reads its own transcript again: spaces, key order and numbers are its business."""
    lines = [b'{ "b": 1.50, "a": 2 }', b'{"big": 123456789012345678901234567890}', b'"tr\\u00e9s" \r']
    recorded = room.transcripts.record("talk", Lines(b"\n" + lines[0] + b"\n \n" + jsonl(lines[1:])))
    assert room.lines(recorded) == lines
    assert recorded.malformed == 0


def test_lines_that_are_not_json_are_kept_and_counted(room: Room) -> None:
    """Half a line from a crash, or bytes in another encoding, are still what was said."""
    lines = [b'{"ok": 1}', b"Traceback:", b'{"caf\xe9": 1}', b"\xff\xfe\x00", b'"\\ud83d half"', b"[" * 5000]
    recorded = room.transcripts.record("talk", Lines(jsonl(lines)))
    assert room.lines(recorded) == lines
    assert recorded.malformed == 4
    assert room.transcripts.record("talk", Lines(jsonl([*lines, b"more"]))).malformed == 5


def test_a_message_with_half_a_character_is_kept_as_an_escape(room: Room) -> None:
    """JavaScript cuts texts in the middle of an emoji; that must not cost the conversation."""
    recorded = room.transcripts.record("talk", Messages([{"text": "cut \ud83d"}]))
    assert [json.loads(line) for line in room.lines(recorded)] == [{"text": "cut \ud83d"}]


def test_what_is_no_json_value_is_refused_with_a_sentence(room: Room) -> None:
    """A caller of the library may hand over anything."""
    with pytest.raises(UsageError, match="can't be written as JSON"):
        room.transcripts.record("talk", Messages([object()]))
    assert room.transcripts.newest("talk") is None


@pytest.mark.parametrize("indent", [None, 2], ids=["compact", "indented"])
def test_a_json_array_is_taken_element_by_element(room: Room, transcript: Path, indent: int | None) -> None:
    """Some agents write one array; each element is a message all the same."""
    values = [{"text": "a\nb  c", "n": [1, {"x": None}]}, "two  words", [3]]
    transcript.write_text(json.dumps(values, indent=indent))
    for source in (TranscriptFile(str(transcript)), Lines(transcript.read_bytes())):
        recorded = room.transcripts.record("talk", source)
        assert [json.loads(line) for line in room.lines(recorded)] == values
        assert (recorded.generation, recorded.malformed) == (1, 0)
    transcript.write_text(json.dumps([*values, 4], indent=indent))
    assert room.transcripts.record("talk", TranscriptFile(str(transcript))).appended == 1


def test_an_array_with_half_a_character_is_taken_too(room: Room) -> None:
    """The stricter of two JSON readers must not have the last word."""
    recorded = room.transcripts.record("talk", Lines(b'[{"text": "\\ud83d"},\n 2]'))
    assert [json.loads(line) for line in room.lines(recorded)] == [{"text": "\ud83d"}, 2]


def test_lines_that_are_arrays_are_not_taken_for_one_array(room: Room, transcript: Path) -> None:
    """A message may be any JSON value, also an array."""
    transcript.write_bytes(b'["user", "hi"]\n["agent", "ho"]\n')
    recorded = room.transcripts.record("talk", TranscriptFile(str(transcript)))
    assert room.lines(recorded) == [b'["user", "hi"]', b'["agent", "ho"]']


def test_an_array_that_is_cut_off_or_too_long_is_refused(
    room: Room, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half an array is no conversation, and a very long one would have to be in memory at once."""
    transcript.write_bytes(b'[{"a": 1},\n {"b": ')
    with pytest.raises(UnreadableTranscript, match="not complete yet"):
        room.transcripts.record("talk", TranscriptFile(str(transcript)))
    for module in (splitting, reading_module):
        monkeypatch.setattr(module, "LONGEST_ARRAY", 1000)
    transcript.write_text(json.dumps(list(range(1000))))
    with pytest.raises(UnreadableTranscript, match="more than 1,000 bytes") as caught:
        room.transcripts.record("talk", TranscriptFile(str(transcript)))
    assert "JSONL" in caught.value.hint
    transcript.write_bytes(b"[1, 2]\n" * 1000)
    assert room.transcripts.record("talk", TranscriptFile(str(transcript))).message_count == 1000


def test_secrets_are_gone_before_anything_is_written(room: Room, transcript: Path) -> None:
    """What is in no object can't leak from one; the counts say that something was there."""
    transcript.write_bytes(b'{"a": "planted-1"}\n{"b": "planted-2 planted-3"}\n')
    room.transcripts.record("talk", TranscriptFile(str(transcript)))
    with transcript.open("ab") as file:
        file.write(b'{"c": "planted-4"}\n')
    recorded = room.transcripts.record("talk", TranscriptFile(str(transcript)))
    assert recorded.redacted == Counter(planted=4)
    everything = git("cat-file", "--batch", "--batch-all-objects", git_dir=room.git_dir)
    assert b"[REDACTED:planted]" in everything
    assert b"planted-" not in everything
    room.database.close()
    assert not any(b"planted-" in path.read_bytes() for path in room.folder.glob("state.db*"))


def test_the_redactor_of_the_daemon_fits(tmp_path: Path, transcript: Path) -> None:
    """What is tested here with a simple rule has to hold with the real ones."""
    source = random.Random(11)
    token = "gh" + "p_" + "".join(source.choices(string.ascii_letters + string.digits, k=36))
    said = [{"text": f"use {token} please"}, {"text": "nothing to see"}]
    transcript.write_text("".join(json.dumps(message) + "\n" for message in said))
    room = open_room(tmp_path / "store", Redactor())
    recorded = room.transcripts.record("talk", TranscriptFile(str(transcript)))
    assert sum(recorded.redacted.values()) == 1
    assert recorded.malformed == 0
    assert token.encode() not in git("cat-file", "--batch", "--batch-all-objects", git_dir=room.git_dir)
    again = room.transcripts.record("talk", Messages([json.loads(line) for line in room.lines(recorded)]))
    assert [json.loads(line) for line in room.lines(again)][1] == said[1]


def test_a_conversation_with_secrets_is_the_same_one_when_it_comes_again(room: Room) -> None:
    """The agent's own copy still has the secret; neither a new generation nor a leak may come of comparing it."""
    said = [b'"planted-1"', b'"b"', b'"c"']
    room.transcripts.record("talk", Lines(jsonl(said)))
    again = room.transcripts.record("talk", Lines(jsonl([*said, b'"d"'])))
    assert (again.generation, again.appended, again.redacted) == (1, 1, Counter(planted=1))
    changed = room.transcripts.record(
        "talk", Lines(jsonl([said[0], b'"not b but planted-2"', b'"planted-3"']))
    )
    assert (changed.generation, changed.redacted) == (2, Counter(planted=3))
    assert b"planted-" not in git("cat-file", "--batch", "--batch-all-objects", git_dir=room.git_dir)


def test_a_very_long_line_is_a_chunk_of_its_own(room: Room, transcript: Path) -> None:
    """A tool's output of 20 MB in one message must neither fail nor drag its neighbours along."""
    long = b'{"text": "' + os.urandom(10 * 1024 * 1024).hex().encode() + b'"}'
    lines = [b'{"n": 1}', long, b'{"n": 2}']
    transcript.write_bytes(jsonl(lines))
    recorded = room.transcripts.record("talk", TranscriptFile(str(transcript)))
    assert room.lines(recorded) == lines
    names = git("ls-tree", "--name-only", "refs/transcripts/talk:000001/000000000", git_dir=room.git_dir)
    assert names.split() == [b"000000000", b"000000001", b"000000002"]


def test_a_line_without_end_is_refused_and_not_swallowed(
    room: Room, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk image by mistake must not fill the daemon's memory."""
    monkeypatch.setattr(splitting, "LONGEST_LINE", 1000)
    transcript.write_bytes(b"x" * 2000)
    with pytest.raises(UnreadableTranscript, match="line of more than 1,000 bytes"):
        room.transcripts.record("talk", TranscriptFile(str(transcript)))


def test_only_regular_files_are_read(room: Room, tmp_path: Path) -> None:
    """A FIFO would keep the daemon waiting for ever; a symlink may lead to what the asker must not see."""
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "target").write_bytes(b"1\n")
    os.mkfifo(tmp_path / "fifo")
    for name, reason in [
        ("link", "can't be opened"),
        ("fifo", "not a regular file"),
        (".", "not a regular file"),
    ]:
        with pytest.raises(UnreadableTranscript, match=reason):
            room.transcripts.record("talk", TranscriptFile(str(tmp_path / name)))
    for path in (str(tmp_path / "nothing"), "with\0nul"):
        with pytest.raises(UnreadableTranscript, match="can't be opened"):
            room.transcripts.record("talk", TranscriptFile(path))
    assert room.transcripts.keys() == []


def test_an_empty_conversation_is_one(room: Room) -> None:
    """An agent that was started and said nothing has a conversation without messages."""
    recorded = room.transcripts.record("talk", Messages([]))
    assert (recorded.generation, recorded.message_count, recorded.bytes) == (1, 0, 0)
    assert room.lines(recorded) == []
    assert room.transcripts.record("talk", Messages([])).generation == 1
    assert room.transcripts.record("talk", Messages([1])).generation == 1
    fsck(room.git_dir)


def test_an_unchanged_conversation_costs_no_write(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks fire often; a turn without a message must not grow the store."""
    seconds = itertools.count(1_700_000_000)
    monkeypatch.setattr(time, "time", lambda: next(seconds))  # no two commits would be the same
    first = room.transcripts.record("talk", Lines(jsonl(messages(1, 50))))
    packs = room.packs()
    again = room.transcripts.record("talk", Lines(jsonl(messages(1, 50))))
    assert again.appended == 0
    assert (again.generation, again.content_hash) == (first.generation, first.content_hash)
    assert room.packs() == packs


def test_conversations_are_apart_and_deleting_one_leaves_the_others(room: Room, transcript: Path) -> None:
    """Several sessions share a store; letting go of one lets go of nothing else."""
    transcript.write_bytes(jsonl(messages(2, 10)))
    room.transcripts.record("a", TranscriptFile(str(transcript)))
    kept = room.transcripts.record("b", Lines(jsonl(messages(3, 10))))
    room.transcripts.delete("a")
    room.transcripts.delete("a")
    assert room.transcripts.keys() == ["b"]
    rows = room.database.connection.execute("SELECT session FROM transcript_sources").fetchall()
    assert rows == []
    assert room.transcripts.newest("a") is None
    with pytest.raises(UnknownConversation, match="no generation 1 of conversation a"):
        room.transcripts.read("a", 1)
    assert room.lines(kept, "b") == messages(3, 10)
    refs = git("for-each-ref", "--format=%(refname)", git_dir=room.git_dir)
    assert refs == b"refs/transcripts/b\n"
    assert room.transcripts.record("a", TranscriptFile(str(transcript))).appended == 10


def test_a_copy_carries_the_conversation_up_to_a_point_into_another_store(room: Room, tmp_path: Path) -> None:
    """A fork begins with what was said until then; nothing is redacted or counted a second time."""
    lines = [*messages(4, 2000), b'"planted-1"']
    whole = room.transcripts.record("talk", Lines(jsonl(lines)))
    other = open_room(tmp_path / "other", Refusing())
    part = other.transcripts.copy(str(room.git_dir), "talk", 1, 1234, "part")
    assert other.lines(part, "part") == lines[:1234]
    assert (part.message_count, part.appended, part.redacted) == (1234, 1234, Counter())
    copied = other.transcripts.copy(str(room.git_dir), "talk", 1, 2001, "whole", whole.content_hash)
    assert (copied.content_hash, copied.redacted) == (whole.content_hash, Counter(planted=1))
    with pytest.raises(StoreDamaged):
        other.transcripts.copy(str(room.git_dir), "talk", 1, 1234, "wrong", whole.content_hash)
    fsck(other.git_dir)


class Refusing(Censor):
    """What is in a store has been redacted."""

    def line(self, raw: bytes) -> tuple[bytes, Counter[str]]:
        raise AssertionError(f"redacted again: {raw!r}")

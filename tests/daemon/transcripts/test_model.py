"""Whatever is done to a conversation, every snapshot ever given out reads as a plain list would."""

import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backtraild.transcripts import Lines, Messages, Recorded, Source, TranscriptFile, chunks, layout
from support.conversations import Room, jsonl, open_room
from support.disk import fsck

LINES = st.integers(0, 40).map(lambda number: b'{"n":"%s"}' % (b"%d" % number * (1 + number % 7)))
STEPS = st.one_of(
    st.tuples(st.just("append"), st.lists(LINES, max_size=30), st.just(0)),
    st.tuples(st.just("rewrite"), st.lists(LINES, max_size=5), st.integers(0, 200)),
    st.tuples(st.just("truncate"), st.just([]), st.integers(0, 200)),
    st.tuples(st.just("again"), st.just([]), st.just(0)),
    st.tuples(st.just("compact"), st.just([]), st.just(0)),
    st.tuples(st.just("reopen"), st.just([]), st.just(0)),
)


@pytest.fixture
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes at which a few short lines fill chunks and folders."""
    monkeypatch.setattr(chunks, "SMALLEST", 60)
    monkeypatch.setattr(chunks, "LARGEST", 200)
    monkeypatch.setattr(chunks, "SPACING", 80)
    monkeypatch.setattr(layout, "SMALLEST", 60)
    monkeypatch.setattr(layout, "OPEN_UP_TO", 30)
    monkeypatch.setattr(layout, "FAN_OUT", 4)


@pytest.mark.usefixtures("_small_chunks")
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(STEPS, min_size=1, max_size=12),
    forms=st.lists(st.sampled_from(["file", "lines", "messages"]), min_size=1, max_size=4),
)
def test_all_snapshots_read_as_the_lists_they_were(
    tmp_path: Path, steps: list[tuple[str, list[bytes], int]], forms: list[str]
) -> None:
    """A rewind must find any earlier conversation, also after others grew over it."""
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        room = open_room(Path(folder))
        current: list[bytes] = []
        given_out: list[tuple[Recorded, list[bytes]]] = []
        for (step, lines, at), form in zip(steps, itertools.cycle(forms), strict=False):
            if step == "reopen":
                room = room.reopened()
            elif step == "compact":
                room.transcripts.compact("talk")
            else:
                current = changed(current, step, lines, at)
                given_out.append((recorded(room, current, given_out, form), current))
            for snapshot, expected in given_out:
                assert room.lines(snapshot) == expected
        check_parts(room, given_out)
        room.database.close()


def changed(current: list[bytes], step: str, lines: list[bytes], at: int) -> list[bytes]:
    if step == "append":
        return [*current, *lines]
    if step == "truncate":
        return current[: len(current) - at] if at < len(current) else []
    if step == "rewrite":
        at = min(at, len(current))
        return [*current[:at], *lines, *current[at + 1 :]]
    return current


def recorded(
    room: Room, current: list[bytes], given_out: list[tuple[Recorded, list[bytes]]], form: str
) -> Recorded:
    """Record, and check what is told about it against the list of the last time."""
    found = room.transcripts.record("talk", source(room, current, form))
    last, before = given_out[-1] if given_out else (None, [])
    common = sum(
        1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(before, current, strict=False))
    )
    extends = common == len(before)
    assert found.generation == (1 if last is None else last.generation + (not extends))
    assert found.appended == len(current) - common
    assert (found.message_count, found.bytes) == (len(current), len(jsonl(current)))
    return found


def source(room: Room, current: list[bytes], form: str) -> Source:
    if form == "messages":
        return Messages([{"n": line[6:-2].decode()} for line in current])
    if form == "lines":
        return Lines(jsonl(current))
    path = room.folder / "talk.jsonl"
    path.write_bytes(jsonl(current))
    return TranscriptFile(str(path))


def check_parts(room: Room, given_out: list[tuple[Recorded, list[bytes]]]) -> None:
    for snapshot, expected in given_out[-2:]:
        generation, count = snapshot.generation, len(expected)
        for start, stop in [
            (0, 1),
            (count // 2, count // 2 + 1),
            (count // 3, count),
            (count, count),
            (5, 3),
        ]:
            wanted = expected[start:stop]
            if stop <= count:
                assert list(room.transcripts.read("talk", generation, start, stop)) == wanted
    if given_out:
        fsck(room.git_dir)

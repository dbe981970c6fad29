"""Killed or failing at any call, a conversation is what it was before or what it was to become."""

import contextlib
import errno
import os
from pathlib import Path
from typing import Any

import pytest

from backtrail.errors import StoreFailed
from backtraild import blanks, durable
from backtraild.store import pack, refs
from backtraild.transcripts import Lines
from support import faults
from support.conversations import Room, jsonl, messages, open_room
from support.disk import fsck
from support.faults import FaultyOs

MODULES = [blanks, durable, pack, refs]
CALLS = ["open", "write", "fsync", "rename", "replace", "unlink", "close", "makedirs"]
NEW = messages(1, 700)
OLD = NEW[:600]
REWOUND = [*OLD[:400], b'"another way"']


class LethalOs:
    """`os`, but the process ends in place of the nth call that changes something on the disk."""

    def __init__(self, nth: int) -> None:
        self._left = nth

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return self._counted(real) if name in CALLS else real

    def _counted(self, real: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                os._exit(9)
            return real(*arguments, **named)

        return call


def killed_at(room: Room, nth: int, lines: list[bytes], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Record in a process of its own that dies at a call; False if it came to the end before."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            faults.install(LethalOs(nth), MODULES, monkeypatch)
            room.transcripts.record("talk", Lines(jsonl(lines)))
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFEXITED(status)
    assert os.WEXITSTATUS(status) in (0, 9)
    return os.WEXITSTATUS(status) == 9


@pytest.mark.parametrize("after", [NEW, REWOUND], ids=["append", "rewind"])
@pytest.mark.parametrize("spill_size", [1000, 4 * 1024 * 1024], ids=["spilled", "buffered"])
def test_killed_at_any_call_the_old_conversation_or_the_new_one_is_there(
    tmp_path: Path, after: list[bytes], spill_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash of the daemon costs at most the turn it was about to record."""
    monkeypatch.setattr(pack, "SPILL_SIZE", spill_size)
    room = open_room(tmp_path / "store")
    first = room.transcripts.record("talk", Lines(jsonl(OLD)))
    outcomes = []
    for nth in range(1, 100):
        if not killed_at(room, nth, after, monkeypatch):
            break
        room = room.reopened()
        newest = room.transcripts.newest("talk")
        assert newest is not None
        found = list(room.transcripts.read("talk", newest.number))
        assert found in (OLD, after), nth
        assert room.lines(first) == OLD
        outcomes.append(found == after)
        if found == after:
            break
    assert outcomes.count(False) >= 8
    fsck(room.git_dir)
    assert room.lines(room.transcripts.record("talk", Lines(jsonl(after)))) == after


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
def test_a_failing_disk_is_told_and_the_next_recording_works(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was not acknowledged may be missing; what was is there, and nothing is stuck."""
    room = open_room(tmp_path / "store")
    said = list(OLD[:300])
    room.transcripts.record("talk", Lines(jsonl(said)))
    failures = 0
    for name in CALLS:
        for nth in range(1, 30):
            said.append(b'"%s %d"' % (name.encode(), nth))
            faulty = FaultyOs(name, nth, number, lasting=False)
            with monkeypatch.context() as patch:
                faults.install(faulty, MODULES, patch)
                with contextlib.suppress(StoreFailed):
                    room.transcripts.record("talk", Lines(jsonl(said)))
                    failures -= 1
                failures += 1
            recorded = room.transcripts.record("talk", Lines(jsonl(said)))
            assert recorded.generation == 1
            assert room.lines(recorded) == said
            assert not list((room.git_dir / "objects/pack").glob("tmp_*"))
            if not faulty.failed:
                break
    assert failures >= 10
    fsck(room.git_dir)

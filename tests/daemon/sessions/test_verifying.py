"""`verify` reads what was said as well as what was saved."""

from pathlib import Path

import pytest

from backtraild.sessions import session_key
from backtraild.workspace import verify
from support.conversing import Desk, said


def talking(desk: Desk) -> None:
    """Two sessions with a message each."""
    for name in ("kept", "hurt"):
        desk.sessions.begin_turn(name, prompt=f"{name} prompt")
        desk.sessions.record_conversation(name, said(f"{name} message"), turn=1)


def packs(desk: Desk) -> set[Path]:
    return set((desk.git_dir / "objects" / "pack").glob("*.pack"))


def test_sessions_that_are_whole_are_read_and_told_to_be(desk: Desk):
    """Who asks whether everything is there means the conversations, too."""
    before = verify(str(desk.folder))
    talking(desk)
    after = verify(str(desk.folder))
    assert (after.problems, after.complete) == ((), True)
    assert after.objects > before.objects
    assert after.bytes > before.bytes


@pytest.mark.parametrize("folder", ["sessions", "transcripts"])
def test_a_damaged_conversation_is_found_and_named(desk: Desk, folder: str):
    """The other one can still be read, and its owner should know which is which."""
    talking(desk)
    ref = desk.git_dir / "refs" / folder / session_key("hurt")
    ref.write_bytes(b"")
    (problem,) = verify(str(desk.folder)).problems
    assert problem.checkpoints == ()
    assert f"refs/{folder}/{session_key('hurt')}" in problem.message


def test_lost_packs_of_a_conversation_are_found(desk: Desk):
    """What was said last lies in two of them."""
    talking(desk)
    before = packs(desk)
    desk.sessions.record_conversation("hurt", said("hurt message", "and one more"), turn=1)
    for pack in packs(desk) - before:
        pack.chmod(0o600)
        pack.write_bytes(pack.read_bytes()[:-40])
    found = verify(str(desk.folder))
    assert found.complete
    assert session_key("hurt") in " ".join(problem.message for problem in found.problems)
    assert session_key("kept") not in " ".join(problem.message for problem in found.problems)


def test_a_check_that_is_ended_early_says_so(desk: Desk):
    """Half a check must not pass for a whole one."""
    talking(desk)
    assert not verify(str(desk.folder), stop=lambda: True).complete

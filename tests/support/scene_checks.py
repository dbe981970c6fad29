"""What is special about a scene, looked at after the next start. Without an answer, it may have happened or not."""

import re
from pathlib import Path
from typing import Any

from backtrail.errors import MirrorFailed
from backtraild.formats import CURRENT
from backtraild.model import Kind
from backtraild.service import Service
from support.disk import fsck
from support.git import git

REMOTE = "remote.git"
_MOST_LOCKS = 20


def conversation(service: Service, workspace: str, answer: dict[str, Any] | None) -> None:
    """Whatever turn a session knows can be read; one that was answered without complaint is there."""
    view = service.session(workspace, "s")
    for turn in view.turns:
        if turn.snapshot is not None:
            assert service.conversation(workspace, "s", turn.number).lines, f"turn {turn.number} is empty"
    if answer is not None and answer["conversation_error"] is None:
        count = service.conversation(workspace, "s", 3).message_count
        assert count == 40, f"{count} of 40 messages are there"


def rewound(service: Service, workspace: str, answer: dict[str, Any] | None) -> None:
    """The files are those of the turn that the conversation is at."""
    turns = [turn.number for turn in service.session(workspace, "s", rewound=False).turns]
    restored = any(made.kind is Kind.RESTORE for made in service.list(workspace).checkpoints)
    assert turns == ([1] if restored else [1, 2]), f"turns {turns}, restored: {restored}"
    assert restored or answer is None, "a rewind that was answered is not there"


def pinned(service: Service, workspace: str, answer: dict[str, Any] | None) -> None:
    assert service.get(workspace, "1").pinned or answer is None, "the pin is gone"


def paused(service: Service, workspace: str, answer: dict[str, Any] | None) -> None:
    assert service.entry(workspace).paused or answer is None, "it is not paused any more"


def watched(service: Service, workspace: str, answer: dict[str, Any] | None) -> None:
    """What is watched is what was answered, and every watched folder has its baseline."""
    watched = {entry.id for entry in service.workspaces() if Path(entry.root).exists()}
    assert answer is None or set(answer["watched"]) == watched, f"{watched} are watched after {answer}"
    for each in watched:
        service.get(each, "1")


def unwatched(service: Service, workspace: str, answer: dict[str, Any] | None) -> None:
    """The judge watches it again where it was not, and finds the checkpoints it had."""
    service.get(workspace, "1")


def fork(service: Service, workspace: str, answer: dict[str, Any] | None) -> None:
    watched(service, workspace, answer)
    if answer is not None:
        forked = next(each for each in answer["watched"] if each != workspace)
        count = service.conversation(forked, "t").message_count
        assert count == 2, f"{count} of 2 messages came along"


def migrated(service: Service, workspace: str, answer: dict[str, Any] | None) -> None:
    versions = [new for _, _, new in service.migrate()]
    assert versions == [CURRENT] * len(versions), versions


def mirrored(service: Service, workspace: str, answer: dict[str, Any] | None) -> None:
    """All of the store's refs came to be there, or none; it goes through now."""
    remote = Path(service.entry(workspace).root).parent / REMOTE
    fsck(remote)
    # Git can't remove its locks from a disk that fails for good; whoever owns the repository is told which they are.
    for _ in range(_MOST_LOCKS):
        try:
            service.mirror(workspace, str(remote))
            break
        except MirrorFailed as error:
            locked = re.search(r"is locked: (.*\.lock) is there", error.message)
            if locked is None:
                raise
            Path(locked[1]).unlink()
    fsck(remote)
    assert git("for-each-ref", "refs/checkpoints", git_dir=remote), "nothing was mirrored"

"""Answers as a daemon gives them, with only what a test is about said, and screens to show them on."""

from datetime import UTC, datetime, timedelta
from typing import Any

from backtrail.cli.terminal import Screen
from backtrail.values import Checkpoint, CheckpointDiff, CheckpointEvent, CheckpointSummary, FileChange

NOW = datetime(2026, 11, 16, 14, 30, tzinfo=UTC)


def screen(width: int = 80, **others: Any) -> Screen:
    """A terminal at a fixed time."""
    return Screen(
        **{"now": NOW, "zone": UTC, "width": width, "terminal": True, "home": "/home/ann", **others}
    )


def change(path: str, status: str = "modified", **others: Any) -> FileChange:
    return FileChange(**{"path": path, "status": status, "size": 100, **others})


def summary(number: int, **others: Any) -> CheckpointSummary:
    return CheckpointSummary(**{"files_changed": 1, **_known(number), **others})


def checkpoint(number: int, *files: FileChange, **others: Any) -> Checkpoint:
    counted = {"files_changed_count": len(files)}
    return Checkpoint(**{**_known(number), **counted, "files_changed": list(files), **others})


def diff(content: str, *files: FileChange) -> CheckpointDiff:
    return CheckpointDiff(
        from_id="1" * 40,
        to_id=None,
        added_files=[],
        modified_files=[],
        deleted_files=[],
        renamed_files=[],
        insertions=sum(file.insertions or 0 for file in files),
        deletions=sum(file.deletions or 0 for file in files),
        diff_content=content,
        files=list(files),
    )


def event(type_: str, checkpoint: int | None = None, /, **data: Any) -> CheckpointEvent:
    return CheckpointEvent(
        epoch="e",
        seq=7,
        type=type_,
        workspace="project-1a2b",
        root="/home/ann/project",
        timestamp=NOW - timedelta(seconds=30),
        checkpoint=checkpoint,
        data=data,
    )


def _known(number: int) -> dict[str, Any]:
    return {
        "number": number,
        "id": f"{number:040x}",
        "tree": "0" * 40,
        "kind": "auto",
        "message": "src/app.py changed",
        "timestamp": NOW - timedelta(minutes=2),
        "files_changed_count": 1,
        "insertions": 3,
        "deletions": 1,
        "metadata": {},
        "skipped": [],
        "pinned": False,
        "parent": None,
    }

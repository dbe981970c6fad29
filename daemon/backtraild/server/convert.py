"""The daemon's values as those of the wire. Pure."""

import os
from base64 import b64encode
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from backtrail import values
from backtrail.pathtext import to_text
from backtraild.model import (
    EXECUTABLE_MODE,
    FILE_MODE,
    SYMLINK_MODE,
    TREE_MODE,
    Checkpoint,
    Diff,
    Event,
    FileChange,
    Progress,
    Skipped,
    Status,
)
from backtraild.restore import Conflict
from backtraild.status import WorkspaceStatus
from backtraild.workspace import Page, Piece, PruneResult, RestoreResult, Verification

# A page with the lists of changes ends early rather than becoming too large for one message.
MAX_PAGE_FILES = 20_000

_KINDS = {
    FILE_MODE: "file",
    EXECUTABLE_MODE: "executable",
    SYMLINK_MODE: "symlink",
    TREE_MODE: "folder",
}


def checkpoint(found: Checkpoint) -> values.Checkpoint:
    """A checkpoint with its changes."""
    return values.Checkpoint(files_changed=_changes(found.files_changed), **_fields(found))


def summary(found: Checkpoint) -> values.CheckpointSummary:
    """A checkpoint without its changes."""
    return values.CheckpointSummary(files_changed=found.files_changed_count, **_fields(found))


def summary_of(found: Checkpoint | None) -> values.CheckpointSummary | None:
    """The same where there may be none."""
    return None if found is None else summary(found)


def _fields(found: Checkpoint) -> dict[str, Any]:
    """What both have."""
    return {
        "number": found.number,
        "id": found.id,
        "tree": found.tree,
        "kind": found.kind.value,
        "message": found.message,
        "timestamp": found.timestamp,
        "files_changed_count": found.files_changed_count,
        "insertions": found.insertions,
        "deletions": found.deletions,
        "metadata": dict(found.metadata),
        "skipped": _skipped(found.skipped),
        "pinned": found.pinned,
        "parent": found.parent,
        "session": found.session,
        "turn": found.turn,
        "conversation": found.conversation,
        "conversation_error": found.conversation_error,
    }


def page(found: Page) -> values.CheckpointPage:
    """Checkpoints with their changes."""
    shown: list[values.Checkpoint] = []
    files = 0
    for number, each in enumerate(found.checkpoints):
        files += len(each.files_changed)
        if number and files > MAX_PAGE_FILES:
            return values.CheckpointPage(checkpoints=shown, next=shown[-1].number)
        shown.append(checkpoint(each))
    return values.CheckpointPage(checkpoints=shown, next=found.next)


def summaries(found: Page) -> values.SummaryPage:
    """Checkpoints without their changes."""
    return values.SummaryPage(checkpoints=[summary(each) for each in found.checkpoints], next=found.next)


def deleted(found: Iterable[Checkpoint]) -> values.DeletedCheckpoints:
    """Checkpoints that are gone."""
    return values.DeletedCheckpoints(deleted=[summary(each) for each in found])


def diff(found: Diff) -> values.CheckpointDiff:
    """How two states differ."""
    by_status = {status: [file for file in found.files if file.status is status] for status in Status}
    changed = by_status[Status.MODIFIED] + by_status[Status.MODE]
    return values.CheckpointDiff(
        from_id=found.from_id,
        to_id=found.to_id,
        added_files=_paths(by_status[Status.ADDED]),
        modified_files=sorted(_paths(changed)),
        deleted_files=_paths(by_status[Status.DELETED]),
        renamed_files=[
            values.RenamedFile(old_path=to_text(file.old_path or b""), path=to_text(file.path))
            for file in by_status[Status.RENAMED]
        ],
        insertions=found.insertions,
        deletions=found.deletions,
        diff_content=found.text,
        files=_changes(found.files),
    )


def restored(found: RestoreResult) -> values.RestoreResult:
    """What a restore did."""
    return values.RestoreResult(
        checkpoint=summary(found.checkpoint),
        safety_checkpoint=summary_of(found.safety_checkpoint),
        result=summary_of(found.result),
        written=[to_text(path) for path in found.written],
        deleted=[to_text(path) for path in found.deleted],
        unchanged=found.unchanged,
        conflicts=conflicts(found.conflicts),
        dry_run=found.dry_run,
    )


def conflicts(found: Iterable[Conflict]) -> list[values.Conflict]:
    """Paths that are left alone."""
    return [values.Conflict(path=to_text(each.path), reason=str(each.reason)) for each in found]


def content(found: Piece) -> values.Content:
    """A part of a file, or a folder."""
    return values.Content(
        path=to_text(found.path),
        kind=_KINDS[found.mode],
        size=found.size,
        offset=found.offset,
        content_base64=b64encode(found.content).decode(),
        entries=[values.FolderEntry(name=to_text(name), kind=_KINDS[mode]) for name, mode in found.entries],
    )


def pruned(found: PruneResult) -> values.PruneResult:
    """What retention let go."""
    return values.PruneResult(
        dropped=[values.PrunedCheckpoint(number=each.number, reason=each.reason) for each in found.dropped],
        kept=found.kept,
        kept_reasons=dict(found.kept_because),
        kept_numbers={reason: list(numbers) for reason, numbers in found.kept_numbers.items()},
        excess=found.excess,
        dry_run=found.dry_run,
    )


def verified(workspace: str, found: Verification) -> values.VerifyResult:
    """What a check found; problems beyond those that are listed are counted in a last one."""
    damage = [
        values.Damage(
            checkpoints=list(each.checkpoints),
            problem=each.message,
            path=None if each.path is None else to_text(each.path),
        )
        for each in found.problems
    ]
    if found.unlisted:
        damage.append(values.Damage(checkpoints=[], problem=f"There are {found.unlisted:,} more problems."))
    return values.VerifyResult(
        workspace=workspace,
        checkpoints=len(found.whole) + len(found.damaged),
        objects=found.objects,
        bytes=found.bytes,
        whole=list(found.whole),
        damage=damage,
        healed=list(found.healed),
    )


def status(found: WorkspaceStatus, store: Path) -> values.WorkspaceStatus:
    """How a workspace is doing."""
    return values.WorkspaceStatus(
        workspace=found.workspace,
        root=to_text(found.root),
        state=found.state,
        reasons=list(found.reasons),
        files=found.files,
        bytes=found.bytes,
        pending=found.pending,
        last_checkpoint=summary_of(found.last_checkpoint),
        store_bytes=found.store_bytes,
        max_store_bytes=found.max_store_bytes,
        free_bytes=found.space.free,
        min_free_bytes=found.space.floor,
        store=local(store),
        checkpoints=found.checkpoints,
        skipped=_skipped(found.skipped.first),
        skipped_count=found.skipped.count,
        watcher=found.watcher,
        overlaps=list(found.overlaps),
        notices=list(found.notices),
    )


def event(found: Event) -> values.CheckpointEvent:
    """Something that happened."""
    return values.CheckpointEvent(
        epoch=found.epoch,
        seq=found.seq,
        type=found.type,
        workspace=found.workspace,
        root=found.root,
        timestamp=found.timestamp,
        data=dict(found.data),
        checkpoint=found.checkpoint,
        session=found.session,
    )


def progress(found: Progress, epoch: str, seq: int, moment: datetime) -> values.CheckpointEvent:
    """How far long work is, as an event that is in no log."""
    return values.CheckpointEvent(
        epoch=epoch,
        seq=seq,
        type="progress",
        workspace=found.workspace,
        root=found.root,
        timestamp=moment,
        data={
            "job": found.job,
            "phase": found.phase,
            "done": found.done,
            "total": found.total,
            "unit": "files",
        },
    )


def local(path: str | Path) -> str:
    """A path of this machine, as Python's own calls want it, in the form of the wire."""
    return to_text(os.fsencode(path))


def _changes(files: Iterable[FileChange]) -> list[values.FileChange]:
    return [
        values.FileChange(
            path=to_text(file.path),
            status=file.status.value,
            size=file.size,
            old_path=None if file.old_path is None else to_text(file.old_path),
            insertions=file.insertions,
            deletions=file.deletions,
        )
        for file in files
    ]


def _skipped(files: Iterable[Skipped]) -> list[values.SkippedFile]:
    return [
        values.SkippedFile(path=to_text(file.path), size=file.size, reason=file.reason.value)
        for file in files
    ]


def _paths(files: Iterable[FileChange]) -> list[str]:
    return [to_text(file.path) for file in files]

"""Answers of the daemon as text for people: every function gives whole lines, each with its end, or nothing."""

from backtrail.cli.render.checkpoints import checkpoint, checkpoint_list, deleted, folder, pinned, saved
from backtrail.cli.render.diffs import diff, diff_stat, name_status
from backtrail.cli.render.events import event
from backtrail.cli.render.health import Check, daemon_status, doctor, failure
from backtrail.cli.render.restores import restore_done, restore_plan
from backtrail.cli.render.stores import mirrored, prune, verify
from backtrail.cli.render.workspaces import status, unwatched, watched, workspaces

__all__ = [
    "Check",
    "checkpoint",
    "checkpoint_list",
    "daemon_status",
    "deleted",
    "diff",
    "diff_stat",
    "doctor",
    "event",
    "failure",
    "folder",
    "mirrored",
    "name_status",
    "pinned",
    "prune",
    "restore_done",
    "restore_plan",
    "saved",
    "status",
    "unwatched",
    "verify",
    "watched",
    "workspaces",
]

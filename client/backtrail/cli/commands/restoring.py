"""`restore` and `undo`: files as they were. A person sees the plan before anything is changed."""

import sys
from argparse import ArgumentParser

import msgspec

from backtrail.cli import render, typed
from backtrail.cli.characters import visible
from backtrail.cli.command import CHECKPOINT, FILE, OF_CHECKPOINT, OF_WORKSPACE, Argument, Command
from backtrail.cli.confirming import confirm
from backtrail.cli.invocation import Invocation, tell
from backtrail.cli.scope import add_scope_options
from backtrail.cli.terminal import Screen, can_ask
from backtrail.cli.words import count
from backtrail.errors import UsageError
from backtrail.protocol import RESTORE, STATUS, UNDO, OfWorkspace, Restore, Undo
from backtrail.values import RestoreResult


def _restore(invocation: Invocation) -> int:
    options = invocation.options
    workspace = typed.workspace(options.workspace)
    name, paths = _wanted(invocation, workspace)
    params = Restore(workspace=workspace, checkpoint=name, paths=paths, scope=_scope(options.scope, paths))
    if not options.yes or options.dry_run:
        plan = _plan(invocation, msgspec.structs.replace(params, dry_run=True))
        if options.dry_run or not (plan.written or plan.deleted or params.scope != "files"):
            invocation.give(plan, lambda screen: _plan_text(plan, params.scope, screen))
            return 0
        _confirm(invocation, plan, params.scope)
        # `@~1` may mean another one by now: what was agreed to is restored.
        params = msgspec.structs.replace(params, checkpoint=plan.checkpoint.id)
    _done(invocation, invocation.ask_patiently(RESTORE, params, "Restoring"))
    return 0


def _undo(invocation: Invocation) -> int:
    params = Undo(workspace=typed.workspace(invocation.options.workspace))
    _done(invocation, invocation.ask_patiently(UNDO, params, "Undoing"))
    return 0


def _wanted(invocation: Invocation, workspace: str) -> tuple[str, list[str]]:
    """The checkpoint, and the paths in the workspace; the root is asked for only where a path needs it."""
    name, path = typed.split_name(invocation.options.checkpoint)
    given = invocation.options.paths
    if path is not None and given:
        raise UsageError(
            f"“{typed.name(invocation.options.checkpoint)}” names a path, and more paths follow it.",
            f"Give all of them after the name: `backtrail restore {name} PATH PATH`.",
        )
    if path is not None:
        return name, typed.paths_from_root(path)
    if not given:
        return name, []
    root = invocation.ask(STATUS, OfWorkspace(workspace=workspace)).root
    return name, typed.paths_in(root, given)


def _scope(given: str | None, paths: list[str]) -> str:
    if given in ("conversation", "both") and paths:
        raise UsageError(
            f"--{given} takes the whole of a session back, and can't be limited to paths.",
            "Restore the paths by themselves, without it.",
        )
    return given or "files"


def _plan(invocation: Invocation, params: Restore) -> RestoreResult:
    return invocation.ask_patiently(RESTORE, params, "Looking")


def _plan_text(plan: RestoreResult, scope: str, screen: Screen) -> str:
    return render.restore_plan(plan, screen, with_conversation=scope != "files")


def _confirm(invocation: Invocation, plan: RestoreResult, scope: str) -> None:
    """The plan goes to stderr, with the question: it is not the result."""
    if not invocation.json and can_ask():
        screen = Screen.of(sys.stderr, invocation.options.colour)
        tell(_plan_text(plan, scope, screen))
    written, deleted = count(len(plan.written), "file"), count(len(plan.deleted), "file")
    target = f"checkpoint {plan.checkpoint.number}"
    talk = "" if scope == "files" else " The conversation would go back, too."
    confirm(
        invocation,
        f"Go back to {target}{' with the conversation' * bool(talk)}?",
        f"Going back to {target} would write {written} and delete {deleted}.{talk}",
    )


def _done(invocation: Invocation, result: RestoreResult) -> None:
    """What was left alone is a warning, and goes to stderr; JSON has it with the rest."""
    done = msgspec.structs.replace(result, conflicts=[])
    invocation.give(result, lambda screen: render.restore_done(done, screen))
    for conflict in () if invocation.json else result.conflicts:
        invocation.note(f"warning: {visible(conflict.path)} was left alone: {visible(conflict.reason)}")


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would be written and deleted")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    add_scope_options(parser, "files")


COMMANDS = {
    "restore": Command(
        _restore,
        "Make the workspace, or some paths of it, what a checkpoint holds. Shows its plan and asks first, unless\n"
        "--yes is given. The state before is saved as a checkpoint, so that `backtrail undo` takes it back.\n"
        "What no checkpoint holds is never overwritten or deleted: such paths are named and left alone.\n"
        "With --conversation or --both, the session whose turn ended with the checkpoint goes back to it as well.",
        "backtrail restore 42 src/app.py\nbacktrail restore '@{10 minutes ago}' --dry-run",
        (*OF_CHECKPOINT, 13),
        (
            Argument("checkpoint", "ID[:PATH]", "a checkpoint, or one path in it", "1", CHECKPOINT),
            Argument("paths", "PATH", "only these files and folders (default: everything)", "*", FILE),
        ),
        _options,
    ),
    "undo": Command(
        _undo,
        "Take the last restore back. It asks nothing, because it can be undone itself.",
        "backtrail undo",
        (*OF_WORKSPACE, 3),
    ),
}

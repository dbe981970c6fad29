"""`diff`: what changed between two checkpoints, or since one."""

from argparse import ArgumentParser

from backtrail.cli import render, typed
from backtrail.cli.command import CHECKPOINT, OF_CHECKPOINT, Argument, Command
from backtrail.cli.invocation import Invocation
from backtrail.cli.terminal import Screen
from backtrail.protocol import DIFF, STATUS, Diff, OfWorkspace
from backtrail.values import CheckpointDiff


def _diff(invocation: Invocation) -> int:
    options = invocation.options
    workspace = typed.workspace(options.workspace)
    params = Diff(
        workspace=workspace,
        from_="@" if options.older is None else typed.name(options.older),
        to=None if options.newer is None else typed.name(options.newer),
        paths=_paths(invocation, workspace),
        # JSON has all fields, whatever a person would be shown.
        content=invocation.json or not (options.stat or options.name_status),
    )
    found = invocation.ask_patiently(DIFF, params, "Comparing")
    invocation.give_long(found, lambda screen: _text(invocation, found, screen))
    return 0


def _paths(invocation: Invocation, workspace: str) -> list[str]:
    if not invocation.options.paths:
        return []
    root = invocation.ask(STATUS, OfWorkspace(workspace=workspace)).root
    return typed.paths_in(root, invocation.options.paths)


def _text(invocation: Invocation, found: CheckpointDiff, screen: Screen) -> str:
    if invocation.options.name_status:
        return render.name_status(found, screen)
    return render.diff_stat(found, screen) if invocation.options.stat else render.diff(found, screen)


def _options(parser: ArgumentParser) -> None:
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--stat", action="store_true", help="only how many lines changed in each file")
    how.add_argument("--name-status", action="store_true", help="only what became of each file")


COMMANDS = {
    "diff": Command(
        _diff,
        "Show what changed from one checkpoint to another. Without TO, to the workspace as it is now; without\n"
        "FROM, since the newest checkpoint. Paths come after `--`.",
        "backtrail diff 41 42 -- src\nbacktrail diff '@{yesterday}' --stat",
        OF_CHECKPOINT,
        (
            Argument("older", "FROM", "a checkpoint (default: @, the newest)", "?", CHECKPOINT),
            Argument("newer", "TO", "a checkpoint (default: the workspace now)", "?", CHECKPOINT),
        ),
        _options,
        paths_after_dashes=True,
    )
}

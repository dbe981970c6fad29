"""`pin`, `unpin`, `delete`, `prune`: which checkpoints are kept."""

from argparse import ArgumentParser

from backtrail.cli import render, typed
from backtrail.cli.command import CHECKPOINT, OF_CHECKPOINT, Argument, Command
from backtrail.cli.invocation import Invocation
from backtrail.protocol import DELETE, PIN, PRUNE, UNPIN, Delete, Method, OfCheckpoint, Prune
from backtrail.values import Checkpoint


def _pin(invocation: Invocation) -> int:
    return _change_pin(invocation, PIN)


def _unpin(invocation: Invocation) -> int:
    return _change_pin(invocation, UNPIN)


def _change_pin(invocation: Invocation, method: Method[OfCheckpoint, Checkpoint]) -> int:
    workspace, name = typed.workspace(invocation.options.workspace), typed.name(invocation.options.checkpoint)
    found = invocation.ask(method, OfCheckpoint(workspace=workspace, checkpoint=name))
    invocation.give(found, lambda screen: render.pinned(found, screen))
    return 0


def _delete(invocation: Invocation) -> int:
    names = [typed.name(word) for word in invocation.options.checkpoints]
    workspace = typed.workspace(invocation.options.workspace)
    gone = invocation.ask(DELETE, Delete(workspace=workspace, checkpoints=names))
    invocation.give(gone, lambda screen: render.deleted(gone, screen))
    return 0


def _prune(invocation: Invocation) -> int:
    params = Prune(
        workspace=typed.workspace(invocation.options.workspace), dry_run=invocation.options.dry_run
    )
    result = invocation.ask_patiently(PRUNE, params, "Letting go")
    invocation.give(result, lambda screen: render.prune(result, screen))
    return 0


def _prune_options(parser: ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would be let go, and why")


_ONE = (Argument("checkpoint", "ID", "a checkpoint", "1", CHECKPOINT),)

COMMANDS = {
    "pin": Command(
        _pin,
        "Keep a checkpoint until it is unpinned or deleted, whatever retention says.",
        "backtrail pin 42",
        OF_CHECKPOINT,
        _ONE,
    ),
    "unpin": Command(
        _unpin, "Leave a checkpoint to retention again.", "backtrail unpin 42", OF_CHECKPOINT, _ONE
    ),
    "delete": Command(
        _delete,
        "Let go of checkpoints: of all that are named, or of none if one of them is unknown. Their numbers are\n"
        "not used again.",
        "backtrail delete 41 42",
        OF_CHECKPOINT,
        (Argument("checkpoints", "ID", "the checkpoints", "+", CHECKPOINT),),
    ),
    "prune": Command(
        _prune,
        "Let go of what retention does not keep, and free the room it takes. This happens by itself from time to\n"
        "time.",
        "backtrail prune --dry-run",
        options=_prune_options,
    ),
}

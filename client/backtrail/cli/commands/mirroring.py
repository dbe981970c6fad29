"""`mirror`: a copy of all checkpoints and conversations in a git repository elsewhere."""

from argparse import ArgumentParser

import msgspec

from backtrail.cli import render, typed
from backtrail.cli.command import FILE, OF_WORKSPACE, Argument, Command
from backtrail.cli.confirming import confirm
from backtrail.cli.invocation import Invocation
from backtrail.cli.words import count
from backtrail.protocol import MIRROR, Mirror


def _mirror(invocation: Invocation) -> int:
    options = invocation.options
    params = Mirror(
        workspace=typed.workspace(options.workspace),
        remote=typed.remote(options.remote),
        dry_run=options.dry_run,
        delete=options.delete,
    )
    if params.delete and not (params.dry_run or options.yes):
        _confirm(invocation, params)
    done = invocation.ask_patiently(MIRROR, params, "Mirroring")
    invocation.give(done, lambda screen: render.mirrored(done, screen))
    return 0


def _confirm(invocation: Invocation, params: Mirror) -> None:
    """What is deleted there may be nowhere else."""
    plan = invocation.ask_patiently(MIRROR, msgspec.structs.replace(params, dry_run=True), "Comparing")
    if plan.deleted:
        gone = f"{count(len(plan.deleted), 'ref')} at {plan.remote}"
        confirm(invocation, f"Delete {gone}?", f"This would delete {gone}, which may be nowhere else.")


def _options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--dry-run", action="store_true", help="only say what would be written and deleted there")
    add("--delete", action="store_true", help="also delete there what is gone from here")
    add("-y", "--yes", action="store_true", help="do not ask before something is deleted")


COMMANDS = {
    "mirror": Command(
        _mirror,
        "Copy all checkpoints and conversations of a workspace to a git repository elsewhere: a path, https://…,\n"
        "ssh://… or user@host:path. `git init --bare PATH` makes one. Plain git reads them there. Its branches and\n"
        "tags are not touched, and what you delete here stays there without --delete. Checkpoints hold what your\n"
        "files hold, secrets included: whoever may read the repository may read them. Git runs in the daemon and\n"
        "can't ask for a password; a key, an ssh agent or a credential helper has to do.",
        "backtrail mirror /backup/project.git\nbacktrail mirror git@example.org:project.git --dry-run",
        (*OF_WORKSPACE, 13),
        (Argument("remote", "REMOTE", "the path or address of a git repository", "1", FILE),),
        _options,
    )
}

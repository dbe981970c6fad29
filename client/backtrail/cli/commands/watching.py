"""`watch`, `unwatch`, `workspaces`: which folders are watched."""

from argparse import ArgumentParser

from backtrail.cli import render, typed
from backtrail.cli.command import FILE, OF_DAEMON, OF_WORKSPACE, WORKSPACE, Argument, Command
from backtrail.cli.confirming import confirm
from backtrail.cli.invocation import Invocation
from backtrail.cli.parser import amount, number
from backtrail.cli.words import count
from backtrail.protocol import STATUS, UNWATCH, WATCH, WORKSPACES, OfWorkspace, Unwatch, Watch, Workspaces


def _watch(invocation: Invocation) -> int:
    options = invocation.options
    path = typed.absolute(options.path or options.workspace or "")
    params = Watch(
        path=path,
        force=options.force,
        wait=not options.no_wait,
        store=None if options.store is None else typed.absolute(options.store),
        exclude_patterns=[typed.text(pattern) for pattern in options.exclude] or None,
        max_checkpoints=options.max_checkpoints,
        max_store_bytes=options.max_store,
        min_free_bytes=options.min_free,
    )
    watched = invocation.ask_patiently(WATCH, params, "Taking the baseline")
    if invocation.json:
        invocation.give(watched, lambda _: "")
        return 0
    status = invocation.ask(STATUS, OfWorkspace(workspace=watched.workspace))
    invocation.write(render.watched(watched, status, invocation.screen))
    return 0


def _watch_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--exclude", metavar="PATTERN", action="append", default=[], help="leave this out, as in .gitignore")
    add("--max-checkpoints", metavar="N", type=number(1), help="keep so many at most")
    add("--max-store", metavar="SIZE", type=amount, help="let them take so much of the disk, such as 20G")
    add("--min-free", metavar="SIZE", type=amount, help="leave so much of the disk free, such as 500M")
    add("--force", action="store_true", help="also if the folder is larger than the limits")
    add("--no-wait", action="store_true", help="do not wait for the baseline checkpoint")
    add("--store", metavar="DIR", help="keep the checkpoints in this folder")


def _unwatch(invocation: Invocation) -> int:
    options = invocation.options
    workspace = typed.workspace(options.path or options.workspace)
    if options.purge and not options.yes:
        status = invocation.ask(STATUS, OfWorkspace(workspace=workspace))
        workspace = status.workspace
        what = f"{count(status.checkpoints, 'checkpoint')} of {status.root}"
        confirm(invocation, f"Delete {what} for ever?", f"This would delete {what} for ever.")
    done = invocation.ask_patiently(UNWATCH, Unwatch(workspace=workspace, purge=options.purge), "Stopping")
    invocation.give(done, lambda screen: render.unwatched(done, screen))
    return 0


def _unwatch_options(parser: ArgumentParser) -> None:
    parser.add_argument("--purge", action="store_true", help="delete the checkpoints as well")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask before they are deleted")


def _workspaces(invocation: Invocation) -> int:
    found = invocation.ask(WORKSPACES, Workspaces())
    invocation.give(found, lambda screen: render.workspaces(found, screen))
    return 0


COMMANDS = {
    "watch": Command(
        _watch,
        "Keep every settled state of a folder from now on. Waits for the baseline, the first checkpoint with all\n"
        "that is there. Watching a folder again is harmless; new patterns and limits replace the earlier ones.",
        "backtrail watch ~/project --exclude '*.log'",
        OF_DAEMON,
        (Argument("path", "PATH", "the folder (default: the current one)", "?", FILE),),
        _watch_options,
    ),
    "unwatch": Command(
        _unwatch,
        "Watch a folder no more. Its checkpoints stay, and are found again when it is watched again, unless\n"
        "--purge deletes them.",
        "backtrail unwatch ~/project --purge",
        (*OF_WORKSPACE, 13),
        (
            Argument(
                "path", "PATH", "the folder, or any path in it (default: the current one)", "?", WORKSPACE
            ),
        ),
        _unwatch_options,
    ),
    "workspaces": Command(_workspaces, "List what is watched.", "backtrail workspaces", OF_DAEMON),
}

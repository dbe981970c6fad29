"""`verify`: every stored byte, of one workspace or of all."""

from argparse import ArgumentParser

from backtrail.cli import render, typed
from backtrail.cli.characters import visible
from backtrail.cli.command import Command
from backtrail.cli.invocation import Invocation
from backtrail.cli.terminal import Screen
from backtrail.protocol import VERIFY, WORKSPACES, Verify, Workspaces
from backtrail.values import VerifyResult


def _verify(invocation: Invocation) -> int:
    results = [_look(invocation, workspace) for workspace in _workspaces(invocation)]
    invocation.give({"workspaces": results}, lambda screen: _text(results, screen))
    return 1 if any(result.damage for result in results) else 0


def _workspaces(invocation: Invocation) -> list[str]:
    given = invocation.options.workspace
    if given is not None:
        return [typed.workspace(given)]
    return [found.workspace for found in invocation.ask(WORKSPACES, Workspaces()).workspaces]


def _look(invocation: Invocation, workspace: str) -> VerifyResult:
    params = Verify(workspace=workspace, heal=not invocation.options.no_heal)
    return invocation.ask_patiently(VERIFY, params, "Verifying")


def _text(results: list[VerifyResult], screen: Screen) -> str:
    if not results:
        return "No folder is watched, so there is nothing to verify."
    return "".join(
        f"{screen.paint(visible(result.workspace), 'bold')}\n{render.verify(result, screen)}"
        for result in results
    )


def _options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--no-heal", action="store_true", help="only tell what is damaged, and change nothing"
    )


COMMANDS = {
    "verify": Command(
        _verify,
        "Read every stored byte and check that it is what was stored, in all workspaces or in the one that -w\n"
        "names. Damage is listed with the checkpoints that need what is damaged (exit code 1). What the folder\n"
        "still has is then stored again, and the checkpoints that are whole again because of that are named.",
        "backtrail verify -w ~/project",
        options=_options,
    )
}

"""What a command is: how it is called, what its help says, and the function that carries it out."""

from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from backtrail.cli.invocation import Invocation

EXITS: Mapping[int, str] = {
    0: "done",
    1: "failed",
    2: "usage",
    3: "nothing to do",
    10: "daemon unreachable",
    11: "unknown workspace",
    12: "unknown checkpoint",
    13: "confirmation needed",
    70: "a bug",
    130: "interrupted",
}
# What every command that asks the daemon about a workspace may end with.
OF_WORKSPACE = (0, 1, 2, 10, 11)
OF_CHECKPOINT = (*OF_WORKSPACE, 12)
OF_DAEMON = (0, 1, 2, 10)
# Of a command that never ends otherwise, whatever is wrong: another program would take that for an order.
ALWAYS_DONE = (0,)

# What an argument names, so that a shell can complete it.
CHECKPOINT, WORKSPACE, FILE, COMMAND = "checkpoint", "workspace", "file", "command"
SESSION, SESSION_OR_CHECKPOINT = "session", "session or checkpoint"


class Argument(NamedTuple):
    """A word that is given by its place. `times` is 1, ?, * or + as in regular expressions."""

    name: str
    metavar: str
    explained: str
    times: str = "1"
    names: str = ""
    choices: tuple[str, ...] = ()


def no_options(_: ArgumentParser) -> None:
    """For a command that has none of its own."""


class Command(NamedTuple):
    """One command. `run` gives the exit status; whatever fails is raised."""

    run: "Callable[[Invocation], int]"
    description: str
    example: str
    exits: tuple[int, ...] = OF_WORKSPACE
    arguments: tuple[Argument, ...] = ()
    options: Callable[[ArgumentParser], None] = no_options
    # Arguments after `--` are paths and go to `options.paths`; those before it are not.
    paths_after_dashes: bool = False

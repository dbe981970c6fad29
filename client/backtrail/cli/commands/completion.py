"""`completion`: the script that lets a shell complete what is typed."""

from backtrail.cli.command import Argument, Command
from backtrail.cli.completion import SHELLS, script
from backtrail.cli.invocation import Invocation


def _completion(invocation: Invocation) -> int:
    shell = invocation.options.shell
    text = script(shell)
    invocation.give({"shell": shell, "script": text}, lambda _: text)
    return 0


COMMANDS = {
    "completion": Command(
        _completion,
        "Print the script that lets a shell complete commands, options, checkpoints and workspaces.",
        "source <(backtrail completion bash)",
        (0, 2),
        (Argument("shell", "SHELL", "bash, zsh or fish", "1", choices=SHELLS),),
    )
}

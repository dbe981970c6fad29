"""The scripts that let a shell complete commands, options, checkpoints and folders.

They know no command themselves: they ask `backtrail __complete WORD…`, whose last word is the one to be completed,
and which prints a candidate a line, with a tab and a description after it. No candidates mean file names.
"""

import os

SHELLS = ("bash", "zsh", "fish")


def script(shell: str) -> str:
    """The script of one of the SHELLS."""
    path = os.path.join(os.path.dirname(__file__), f"backtrail.{shell}")
    with open(path, encoding="utf-8") as file:
        return file.read()

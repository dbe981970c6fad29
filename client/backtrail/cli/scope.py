"""The options that say what goes back: files, the conversation, or both."""

from argparse import ArgumentParser


def add_scope_options(parser: ArgumentParser, default: str) -> None:
    """One of the three at most; `scope` is None where nothing was said."""
    group = parser.add_mutually_exclusive_group()
    explained = {
        "files": "the files alone",
        "conversation": "the conversation alone",
        "both": "files and conversation",
    }
    for scope, told in explained.items():
        shown = f"{told} (the default)" if scope == default else told
        group.add_argument(f"--{scope}", dest="scope", action="store_const", const=scope, help=shown)

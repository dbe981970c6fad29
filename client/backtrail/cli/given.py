"""A conversation as it is given on the command line: a file's name, or `-` for what comes in."""

import sys

from backtrail.amounts import size
from backtrail.cli import typed
from backtrail.errors import UsageError
from backtrail.protocol import MAX_REQUEST_BYTES, Conversation

# A text grows in a request: every quotation mark and every backslash is escaped there.
_MOST = MAX_REQUEST_BYTES // 2


def conversation(word: str) -> Conversation:
    """The daemon reads a file by itself, however long it is; what comes in is sent to it."""
    if word != "-":
        return Conversation(path=typed.absolute(word))
    content = sys.stdin.buffer.read()
    if len(content) > _MOST:
        raise UsageError(
            f"The conversation on stdin has {size(len(content))}, which is more than fits into a request.",
            "Write it to a file and give its name.",
        )
    return Conversation(content=content.decode("utf-8", "replace"))

"""`show`: a checkpoint with what it changed, or the bytes of one file in it."""

from argparse import ArgumentParser
from base64 import b64decode, b64encode
from collections.abc import Iterator

import msgspec

from backtrail.cli import render, typed
from backtrail.cli.command import CHECKPOINT, OF_CHECKPOINT, Argument, Command
from backtrail.cli.invocation import Invocation
from backtrail.errors import UsageError
from backtrail.protocol import GET, READ, OfCheckpoint, Read
from backtrail.values import Content


def _show(invocation: Invocation) -> int:
    workspace = typed.workspace(invocation.options.workspace)
    name, path = typed.split_name(invocation.options.checkpoint)
    if invocation.options.explain:
        return _explain(invocation, workspace, name, path)
    if path is not None:
        return _show_file(invocation, workspace, name, path)
    found = invocation.ask(GET, OfCheckpoint(workspace=workspace, checkpoint=name))
    invocation.give_long(found, lambda screen: render.checkpoint(found, screen))
    return 0


def _explain(invocation: Invocation, workspace: str, name: str, path: str | None) -> int:
    from backtrail.cli.explaining import explain  # few ask for it
    from backtrail.cli.render.explanations import explanation

    if path is not None:
        raise UsageError(
            "`backtrail show --explain` explains a checkpoint as a whole.",
            f"`backtrail log {path}` tells what each change of a file was for.",
        )
    found = explain(invocation, workspace, name)
    invocation.give_long(found, lambda screen: explanation(found, screen))
    return 0


def _show_file(invocation: Invocation, workspace: str, name: str, path: str) -> int:
    """Raw bytes, piece by piece: a large file is never in memory as a whole, except as JSON."""
    params = Read(workspace=workspace, checkpoint=f"{name}:{path}")
    first = invocation.ask(READ, params)
    if first.kind == "folder":
        invocation.give(first, lambda screen: render.folder(first, screen))
        return 0
    if len(first.content_base64) * 3 // 4 < first.size:
        # `@` may be another checkpoint by the time the next piece is read: from here on it has its number.
        found = invocation.ask(GET, OfCheckpoint(workspace=workspace, checkpoint=name))
        params = Read(workspace=workspace, checkpoint=f"{found.number}:{path}")
        first = invocation.ask(READ, params)
    pieces = _pieces(invocation, params, first)
    if invocation.json:
        invocation.give(msgspec.structs.replace(first, content_base64=_joined(pieces)), lambda _: "")
        return 0
    for piece in pieces:
        invocation.write_bytes(piece)
    return 0


def _pieces(invocation: Invocation, params: Read, first: Content) -> Iterator[bytes]:
    content, end = b64decode(first.content_base64), 0
    while content:
        yield content
        end += len(content)
        if end >= first.size:
            return
        piece = invocation.ask(READ, msgspec.structs.replace(params, offset=end))
        content = b64decode(piece.content_base64)


def _joined(pieces: Iterator[bytes]) -> str:
    return b64encode(b"".join(pieces)).decode()


def _options(parser: ArgumentParser) -> None:
    explained = "tell what was asked, what was done, and which files changed"
    parser.add_argument("--explain", action="store_true", help=explained)


COMMANDS = {
    "show": Command(
        _show,
        "Show a checkpoint with the files it changed. With a path after a colon, write the bytes of that file as\n"
        "they were; of a folder, the names in it. With --explain, tell which turns of which sessions led to it.",
        "backtrail show 42\nbacktrail show 42:src/app.py > app.py.old\nbacktrail show '@{10 minutes ago}:src'",
        OF_CHECKPOINT,
        (Argument("checkpoint", "ID[:PATH]", "a checkpoint, or a file in it", "1", CHECKPOINT),),
        _options,
    )
}

"""Every parameter of every method that could name a file: none of them leads out of the workspace."""

import base64
import json
import os
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from backtrail import protocol
from backtrail.methods import methods
from support.answering import Answering, answering
from support.git import git
from support.project import full_stat
from support.wire import Wire

MARK = "only-outside-the-workspace"
SECRETS = (MARK, base64.b64encode(f'"{MARK}'.encode()).decode()[:30])
# Where somebody may name a place of his own: what is absolute is his decision there, all else is refused.
OWN_PLACES = {
    ("watch", "path"),
    ("watch", "store"),
    ("fork", "folder"),
    ("mirror", "remote"),
    ("save", "conversation"),
    ("attach", "conversation"),
}
REQUIRED: dict[str, Any] = {
    "checkpoint": "@",
    "session": "s",
    "words": "word",
    "path": "a",
    "name": "a-branch",
    "folder": "relative",
    "remote": "relative",
    "checkpoints": ["999"],
    "tool": {"name": "t"},
    "conversation": {"content": "[]"},
    "since": 0,
}
_NEVER = ("stop",)


def hostile(outside: Path) -> dict[str, list[str]]:
    """What may be tried in the place of a path or of a name."""
    relative = [
        "../outside/secret",
        "a/../../outside/secret",
        "@:../outside/secret",
        '"\\056\\056/outside/secret"',
        "a\0b",
        "x" * 5000,
    ]
    return {"relative": relative, "absolute": [str(outside / "secret"), f"@:{outside}/secret"]}


def fields(method: protocol.Method[Any, Any]) -> Iterator[tuple[str, Any]]:
    """The parameters that hold text, and how a value is put into them."""
    for field in msgspec.structs.fields(method.params):
        kinds = {field.type, *typing.get_args(field.type)}
        if protocol.Conversation in kinds:
            yield field.encode_name, lambda text: {"path": text}
        elif list[str] in kinds:
            yield field.encode_name, lambda text: [text]
        elif str in kinds and typing.get_origin(field.type) is not list:
            yield field.encode_name, lambda text: text


def tries(outside: Path) -> Iterator[tuple[str, str, Any]]:
    values = hostile(outside)
    for method in sorted(methods(), key=lambda method: method.name):
        for name, shaped in fields(method):
            own = (method.name, name) in OWN_PLACES
            for text in values["relative"] + ([] if own else values["absolute"]):
                if method.name not in _NEVER:
                    yield method.name, name, shaped(text)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Answering]:
    with answering(tmp_path / "in", auto_checkpoint=False) as found:
        yield found


def test_no_parameter_of_any_method_reads_or_writes_outside(server: Answering, tmp_path: Path):
    """A program that passes on what a model wrote must not open a way to other files."""
    outside = server.folder / "outside"
    outside.mkdir()
    (outside / "secret").write_text(f'"{MARK}"\n')  # fit to be taken for a conversation
    git("init", "-q", cwd=server.folder_with(a="one\n"))
    workspace = server.watch()
    with server.wire() as wire:
        wire.result("save", workspace=workspace, session="s", turn=1, allow_empty=True)
        before = full_stat(outside), sorted(os.listdir(server.folder)), sorted(os.listdir(tmp_path))
        asked = 0
        for method, name, value in tries(outside):
            answer = asked_with(wire, method, {"workspace": workspace, name: value})
            assert answer.get("error", {}).get("code") != protocol.INTERNAL_ERROR, (method, name, value)
            told = json.dumps(answer)
            assert not any(secret in told for secret in SECRETS), (method, name, value)
            asked += 1
        assert asked > 500
        assert wire.result("workspaces")["workspaces"][0]["workspace"] == workspace
        after = full_stat(outside), sorted(os.listdir(server.folder)), sorted(os.listdir(tmp_path))
    assert after == before
    held = git(
        "cat-file", "--batch", "--batch-all-objects", git_dir=server.service.store(workspace) / "repo.git"
    )
    assert MARK.encode() not in held


def asked_with(wire: Wire, method: str, given: dict[str, Any]) -> dict[str, Any]:
    """The answer to a method with all that it needs, and one parameter that is hostile."""
    known = {found.name: found for found in methods()}[method]
    wanted = {field.encode_name: field for field in msgspec.structs.fields(known.params)}
    needed = {name for name, field in wanted.items() if field.required or name == "session"}
    params = {name: REQUIRED[name] for name in needed & REQUIRED.keys()}
    params |= {name: value for name, value in given.items() if name in wanted}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return wire.raw(json.dumps(message).encode())

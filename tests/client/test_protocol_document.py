"""PROTOCOL.md is what programs in other languages are written from: it lists exactly what exists."""

import re
import types
import typing
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from backtrail import errors, protocol, session_protocol, session_values, values
from backtrail.errors import BacktrailError
from backtrail.methods import methods
from support.sources import daemon_sources

DOCUMENT = (Path(__file__).parents[2] / "client" / "PROTOCOL.md").read_text()
PLAIN = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "boolean",
    datetime: "time",
    type(None): "null",
    Any: "any JSON",
    msgspec.Raw: "any JSON",
}
METHODS = {method.name: method for method in methods()}
NOT_ANSWERS = (values.Value, values.CheckpointConfig)
# Errors that only a client raises, because no answer came.
NOT_ON_THE_WIRE = {"failed", "daemon-unreachable", "daemon-silent", "untrusted-daemon", "protocol-mismatch"}


def section(heading: str) -> str:
    """The text under a heading, up to the next one of its level or above."""
    level = heading.split(" ")[0]
    found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^#{{2,{len(level)}}} |\Z)", DOCUMENT, re.M | re.S)
    assert found, f"PROTOCOL.md has no heading “{heading}”"
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The cells of the tables in a text, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row, after in zip(cells, [*lines, ""][1:], strict=True) if "---" not in row[0] + after]


def named(kind: Any) -> str:
    """A type in the document's words."""
    if isinstance(kind, types.UnionType):
        return " or ".join(map(named, kind.__args__))
    if typing.get_origin(kind) is list:
        return f"list of {named(typing.get_args(kind)[0])}"
    if typing.get_origin(kind) is dict:
        return "object"
    if typing.get_origin(kind) is tuple:
        return f"[{', '.join(map(named, typing.get_args(kind)))}]"
    return PLAIN.get(kind) or kind.__name__


def default(field: msgspec.structs.FieldInfo) -> str:
    """What the daemon takes where a parameter is not given."""
    if field.required:
        return "required"
    value = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    return f"`{msgspec.json.encode(value).decode()}`"


def answers() -> Iterator[type[values.Value]]:
    """The values that can come from the daemon, and those that parameters are made of."""
    yield from (protocol.Tool, protocol.Conversation)
    for found in {**vars(values), **vars(session_values)}.values():
        is_value = isinstance(found, type) and issubclass(found, values.Value)
        if is_value and not found.__name__.startswith("_") and found not in NOT_ANSWERS:
            yield found


def test_the_methods_of_the_document_are_those_of_the_wire():
    """A method that is not written down can't be used by anyone who has only the document."""
    assert re.findall(r"^### `(\w+)`$", section("## Methods"), re.M) == list(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_the_parameters_and_the_answer_of_a_method_are_written_down(name: str):
    """A wrong type in the document costs its reader an afternoon."""
    method = METHODS[name]
    fields = msgspec.structs.fields(method.params)
    expected = [[f"`{field.encode_name}`", named(field.type), default(field)] for field in fields]
    assert rows(section(f"### `{name}`")) == expected
    assert f"Answer: {method.result.__name__}" in section(f"### `{name}`")


def test_the_fields_of_every_value_are_written_down():
    """What an answer holds is half of the protocol."""
    expected = {}
    for value in answers():
        fields = msgspec.structs.fields(value)
        told = (f"`{field.encode_name}`{'?' * (not field.required)} {named(field.type)}" for field in fields)
        expected[value.__name__] = ", ".join(told) or "none"
    assert {row[0]: row[1] for row in rows(section("## Values"))} == expected


def test_the_codes_of_errors_are_written_down():
    """A program decides by the code; the sentence is for people."""
    found = {
        error.code
        for error in vars(errors).values()
        if isinstance(error, type) and issubclass(error, BacktrailError)
    }
    written = {row[0].strip("`") for row in rows(section("## Errors"))}
    assert {code for code in written if not code.startswith("-")} == found - NOT_ON_THE_WIRE
    numbers = {
        value for name, value in vars(protocol).items() if name.isupper() and value in range(-33000, -31000)
    }
    assert {int(code) for code in written if code.startswith("-")} == numbers


def test_the_types_of_events_are_written_down():
    """An editor that does not know of a type can't show it."""
    told = {row[0].strip("`") for row in rows(section("## Events"))}
    emitted = set(re.findall(r'(?:append|tell|tell_done)\(\s*"(\w+)"', daemon_sources()))
    subjects = "checkpoints?|workspace|session|turn|conversation|tool|phase"
    emitted |= set(re.findall(rf'"((?:{subjects})_(?:\w+ed|rewound))"', daemon_sources()))
    assert told == emitted | {"progress", "degraded", "recovered"}


def test_the_limits_are_written_down():
    """Whoever sends too much should have been told."""
    assert f"{protocol.MAX_READ_BYTES:,} " in section("### `read`").replace(")", " ")
    requests = section("## Requests")
    assert f"{protocol.MAX_REQUEST_BYTES // 2**20} MiB" in requests
    assert f"{protocol.MAX_FRAME_BYTES // 2**20} MiB" in requests
    assert f"at most {protocol.MAX_LIST:,}" in section("### `list`")
    conversation = section("### `conversation`")
    assert f"at most {session_protocol.MAX_MESSAGES:,} messages" in conversation
    assert f"{session_protocol.MAX_MESSAGES_BYTES // 2**20} MiB" in conversation
    assert f"Every {protocol.HEARTBEAT_SECONDS:g} seconds" in section("## Events")
    assert f"version {protocol.VERSION}" in DOCUMENT

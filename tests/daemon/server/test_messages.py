"""What a transcript may hold and a client must be able to read."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backtraild.server import messages

_DEEP = b"[" * 950 + b"]" * 950


def _read(line: bytes) -> object:
    return msgspec.json.decode(bytes(messages.shown(line)))


@pytest.mark.parametrize(
    "line", [b'{"b": 1.50, "a":"\\u00e9"}', b"null", b"-0.0", b'"\xc3\xa9"', b'{"a":1,"a":2}']
)
def test_json_is_given_as_it_was_written(line: bytes):
    """Numbers, the order of keys and escapes are the agent's own."""
    assert bytes(messages.shown(line)) == line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"not JSON", "not JSON"),
        (b'{"half":', '{"half":'),
        (b"caf\xe9", "caf\ufffd"),
        (b'{"a": NaN}', '{"a": NaN}'),
        (b"1e999", "1e999"),
        (_DEEP, _DEEP.decode()),
        (b"", ""),
    ],
)
def test_what_no_client_can_read_is_given_as_text(line: bytes, expected: str):
    """One broken line must not make the whole page unreadable."""
    assert _read(line) == expected


def test_half_of_a_character_costs_that_character_alone():
    """JavaScript cuts texts in the middle of an emoji, and the message around it is still wanted."""
    assert _read(b'{"role":"user","content":"cut \\ud83d here"}') == {"role": "user", "content": "cut ? here"}


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: json.dumps(text).encode()))
def test_every_line_becomes_json(line: bytes):
    """Transcripts are written by others."""
    assert _read(line) is not None or line.strip() == b"null"

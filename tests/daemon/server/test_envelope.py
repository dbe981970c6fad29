"""Bytes in, a request or the error that answers them out."""

import json

import pytest

from backtrail import protocol
from backtrail.errors import UnknownCheckpoint
from backtrail.values import Done, WorkspaceInfo
from backtraild.server import envelope
from backtraild.server.envelope import Refusal


def test_a_request_is_read_with_its_parameters():
    """What every client sends all day."""
    request = envelope.read(
        b'{"jsonrpc":"2.0","id":7,"method":"get","params":{"workspace":"w","checkpoint":"@"}}'
    )
    assert (request.id, request.method) == (7, "get")
    params = envelope.decode_params(request, protocol.OfCheckpoint)
    assert params == protocol.OfCheckpoint(workspace="w", checkpoint="@")


def test_what_is_not_known_is_ignored():
    """A newer client may say more than this daemon understands."""
    request = envelope.read(b'{"jsonrpc":"2.0","id":"a","method":"ping","params":{"new":1},"trace":[1]}')
    assert envelope.decode_params(request, protocol.Ping) == protocol.Ping()


@pytest.mark.parametrize(
    ("payload", "code", "identity"),
    [
        (b"", protocol.PARSE_ERROR, None),
        (b"{", protocol.PARSE_ERROR, None),
        (b"\xff\xfe", protocol.PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"p\xff"}', protocol.PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', protocol.PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"} x', protocol.PARSE_ERROR, None),
        (b"[" * 100_000, protocol.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 100_000, protocol.PARSE_ERROR, None),
        (b'{"a":' * 100_000, protocol.PARSE_ERROR, None),
        (b"[]", protocol.INVALID_REQUEST, None),
        (b"null", protocol.INVALID_REQUEST, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', protocol.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","method":"ping"}', protocol.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', protocol.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', protocol.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', protocol.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 30 + b',"method":"ping"}', protocol.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":"' + b"x" * 201 + b'","method":"ping"}', protocol.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":5}', protocol.INVALID_REQUEST, 5),
        (b'{"jsonrpc":"2.0","id":"five","method":5}', protocol.INVALID_REQUEST, "five"),
        (b'{"jsonrpc":"1.0","id":5,"method":"ping"}', protocol.INVALID_REQUEST, 5),
        (b'{"id":5,"method":"ping"}', protocol.INVALID_REQUEST, 5),
        (b" " * (protocol.MAX_REQUEST_BYTES + 1), protocol.INVALID_REQUEST, None),
    ],
)
def test_what_is_no_request_is_answered_with_an_error(payload: bytes, code: int, identity: object):
    """Whoever writes a client in another language learns what is wrong, and with which request."""
    with pytest.raises(Refusal) as refusal:
        envelope.read(payload)
    answer = json.loads(refusal.value.encode())
    assert answer["id"] == identity
    assert answer["error"]["code"] == code
    assert answer["error"]["data"]["code"] == "usage"
    assert answer["error"]["message"].endswith(".")


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (b"[]", "Expected `object`, got `array`"),
        (b"{}", "workspace"),
        (b'{"workspace":1}', "workspace"),
        (b'{"workspace":"w","limit":"many"}', "limit"),
        (b'{"workspace":"w","limit":' + b"9" * 30 + b"}", "limit"),
        (b'{"workspace":"w","cursor":-' + b"9" * 30 + b"}", "cursor"),
        (b'{"workspace":"\\udfff"}', "surrogate"),
    ],
)
def test_parameters_of_the_wrong_kind_are_named(params: bytes, said: str):
    """`limit` as text is a mistake in a program, and the message leads to it."""
    payload = b'{"jsonrpc":"2.0","id":1,"method":"list","params":' + params + b"}"
    with pytest.raises(Refusal, match=said):
        envelope.decode_params(envelope.read(payload), protocol.List)


def test_an_error_on_purpose_carries_its_code_and_hint():
    """The command line shows both, and programs act on the code."""
    answer = json.loads(envelope.failure("a", UnknownCheckpoint("There is no checkpoint 9.", "List them.")))
    assert answer == {
        "jsonrpc": "2.0",
        "id": "a",
        "error": {
            "code": protocol.FAILED,
            "message": "There is no checkpoint 9.",
            "data": {"code": "unknown-checkpoint", "hint": "List them."},
        },
    }


def test_a_bug_tells_its_kind_and_nothing_of_its_inside():
    """A traceback may show what is in a file; it belongs into the log."""
    answer = json.loads(envelope.failure(1, KeyError("secret")))
    assert answer["error"]["code"] == protocol.INTERNAL_ERROR
    assert answer["error"]["data"]["code"] == "bug"
    assert "KeyError" in answer["error"]["message"]
    assert "secret" not in json.dumps(answer)


def test_a_sentence_that_names_a_file_that_is_not_utf_8_can_be_sent():
    """Python carries such names as text that no JSON can hold."""
    root = b"/caf\xe9".decode(errors="surrogateescape")
    info = WorkspaceInfo(workspace="w", root=root, state="degraded", paused=False, checkpoints=0, store="/s")
    assert json.loads(envelope.success(1, info))["result"]["root"] == "/caf\\udce9"
    failed = json.loads(envelope.failure(1, UnknownCheckpoint(f"{root} is gone.")))
    assert failed["error"]["message"] == "/caf\\udce9 is gone."
    assert json.loads(envelope.success(1, Done()))["result"] == {}

"""What goes around requests and answers: bytes become a request or the error that answers them. Pure."""

from typing import Any

import msgspec

from backtrail import protocol
from backtrail.errors import BacktrailError, DaemonBusy
from backtrail.pathtext import sendable
from backtrail.protocol import ErrorObject, Problem, Request, RequestId, Response
from backtrail.values import Value

MAX_ID_CHARACTERS = 200
MAX_SENTENCE = 4_000
# What both sides of the wire and SQLite can hold.
MAX_INTEGER = 2**63 - 1

_HINT = "client/PROTOCOL.md describes requests."

_requests = msgspec.json.Decoder(Request)
_encoder = msgspec.json.Encoder()


class _Identified(msgspec.Struct):
    id: RequestId


class Refusal(Exception):
    """A request that goes no further; the id is None where it could not be read."""

    def __init__(self, identity: RequestId | None, code: int, message: str) -> None:
        super().__init__(message)
        self.id, self.code, self.message = identity, code, message

    def encode(self) -> bytes:
        """The answer."""
        return _failure(self.id, self.code, self.message, Problem("usage", _HINT))


def read(payload: bytes) -> Request:
    """The request in a message. Raises Refusal where there is none."""
    if len(payload) > protocol.MAX_REQUEST_BYTES:
        raise Refusal(
            None,
            protocol.INVALID_REQUEST,
            f"The request has {len(payload):,} bytes; {protocol.MAX_REQUEST_BYTES:,} are allowed.",
        )
    try:
        request = _requests.decode(payload)
    except msgspec.ValidationError as error:
        raise Refusal(_id_of(payload), protocol.INVALID_REQUEST, f"This is no request: {error}.") from None
    except RecursionError:
        raise Refusal(None, protocol.PARSE_ERROR, "The request is nested too deeply.") from None
    except (msgspec.DecodeError, ValueError) as error:
        raise Refusal(None, protocol.PARSE_ERROR, f"The request is not JSON: {error}.") from None
    _check(request)
    return request


def decode_params(request: Request, kind: type[Value]) -> Value:
    """The parameters as the method wants them. Raises Refusal."""
    try:
        params = msgspec.json.decode(request.params, type=kind)
    except RecursionError:
        raise _bad_params(request, "they are nested too deeply") from None
    except (msgspec.DecodeError, ValueError) as error:
        raise _bad_params(request, str(error)) from None
    for name in params.__struct_fields__:
        value = getattr(params, name)
        if isinstance(value, int) and abs(value) > MAX_INTEGER:
            raise _bad_params(request, f"`{name}` is out of range")
    return params


def success(request: RequestId, result: Value) -> bytes:
    """The answer that holds a result."""
    return _encoder.encode(Response("2.0", request, msgspec.Raw(encode(result))))


def encode(value: Value) -> bytes:
    """A value as JSON. Sentences may name files that are not UTF-8: these are escaped."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_cleaned(msgspec.to_builtins(value, builtin_types=(msgspec.Raw,))))


def failure(request: RequestId | None, error: BaseException) -> bytes:
    """The answer that says what went wrong; of a bug, only that it is one."""
    if isinstance(error, Refusal):
        return error.encode()
    if isinstance(error, BacktrailError):
        problem = Problem(error.code, _shown(error.hint))
        return _failure(request, protocol.FAILED, error.message, problem)
    message = f"The daemon failed because of a bug ({type(error).__name__})."
    hint = "Its log, which `backtrail daemon logs` shows, has more."
    return _failure(request, protocol.INTERNAL_ERROR, message, Problem("bug", hint))


def busy(payload: bytes) -> bytes:
    """The answer to a request for which there is no room."""
    try:
        request = read(payload)
    except Refusal as refusal:
        return refusal.encode()
    return failure(
        request.id, DaemonBusy("Too many requests are waiting.", "Wait for the answers to some of them.")
    )


def unread(request: Request) -> bytes:
    """The answer to a request whose own answer there is no memory for."""
    return failure(
        request.id, DaemonBusy("Too many answers wait to be read.", "Read them, then ask for this one again.")
    )


def unknown_method(request: Request) -> Refusal:
    """Nobody knows how to do that."""
    shown = request.method if len(request.method) <= 60 else request.method[:59] + "…"
    return Refusal(request.id, protocol.METHOD_NOT_FOUND, f"There is no method {shown!r}.")


def _check(request: Request) -> None:
    if request.jsonrpc != "2.0":
        raise Refusal(request.id, protocol.INVALID_REQUEST, '`jsonrpc` must be "2.0".')
    if not _is_fit(request.id):
        raise Refusal(None, protocol.INVALID_REQUEST, "The request's id is too long or too large.")


def _is_fit(identity: RequestId) -> bool:
    """An answer repeats the id, so it must be one that can be written again."""
    if isinstance(identity, int):
        return abs(identity) <= MAX_INTEGER
    return len(identity) <= MAX_ID_CHARACTERS


def _id_of(payload: bytes) -> RequestId | None:
    """The id of what is otherwise no request, so that its sender knows which one it was."""
    try:
        identity = msgspec.json.decode(payload, type=_Identified).id
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return identity if _is_fit(identity) else None


def _bad_params(request: Request, reason: str) -> Refusal:
    message = f"The parameters of {request.method} can't be used: {reason}."
    return Refusal(request.id, protocol.INVALID_PARAMS, message)


def _failure(request: RequestId | None, code: int, message: str, problem: Problem) -> bytes:
    return _encoder.encode(Response("2.0", request, error=ErrorObject(code, _shown(message), problem)))


def _shown(sentence: str) -> str:
    """A sentence may repeat what was sent, which may be megabytes."""
    return sendable(sentence if len(sentence) <= MAX_SENTENCE else sentence[: MAX_SENTENCE - 1] + "…")


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return sendable(value)
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(each) for key, each in value.items()}
    return value

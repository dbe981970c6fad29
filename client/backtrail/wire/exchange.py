"""One request and what becomes of it, decided without any socket: both clients share it."""

import os
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from backtrail.errors import (
    BacktrailError,
    Bug,
    DaemonSilent,
    DaemonStopping,
    DaemonUnreachable,
    UsageError,
    error_from,
)
from backtrail.protocol import MAX_REQUEST_BYTES, Method, Response, encode_request
from backtrail.values import CheckpointEvent, Value

_Params = TypeVar("_Params", bound=Value)
_Result = TypeVar("_Result", bound=Value)

# Told how far a request is while it is worked on.
OnProgress = Callable[[CheckpointEvent], None]

# What reading raises where something is no JSON, no text, not what was wanted, or nested too deeply.
UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
# A request that takes the daemon down each time must not be sent for ever.
MAX_LOSSES = 3
# A daemon that is just being killed may still seem to listen, so that more attempts than these find nobody.
MAX_MISSES = 10
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.5


class Lost(Exception):
    """A connection ended before the answer came; `sent` says whether the daemon may have seen the request."""

    def __init__(self, *, sent: bool, denied: bool = False) -> None:
        super().__init__()
        self.sent = sent
        self.denied = denied


class Silent(Exception):
    """The deadline passed before the answer came."""


class Exchange(Generic[_Params, _Result]):
    """A request that may be sent more than once, on one connection after the other, and is done only once."""

    def __init__(self, method: Method[_Params, _Result], params: _Params) -> None:
        self._method = method
        self._losses = 0
        self._misses = 0
        self.id = os.urandom(16).hex()  # what a UUID is made of, without the time its module takes to import
        self.payload = encode_request(self.id, method.name, _marked(params, self.id))
        _check_size(len(self.payload), method)

    def lost(self, loss: Lost) -> None:
        """Take note of a lost connection; raises where sending the request again is no use, or no good."""
        self._losses += loss.sent
        self._misses += not loss.sent
        if loss.denied:
            raise _denied()
        too_often = self._losses > MAX_LOSSES or self._misses > MAX_MISSES
        if too_often or (loss.sent and not self._method.repeatable):
            raise self.given_up(DaemonUnreachable("The daemon ended before it answered."))

    def pause(self) -> float:
        """Seconds to wait before the next attempt: none at first, then twice as long each time nobody was found."""
        return min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** (self._misses - 2)) if self._misses > 1 else 0.0

    def was_seen(self) -> bool:
        """Whether a daemon may have begun to carry it out."""
        return self._losses > 0

    def given_up(self, error: BacktrailError) -> BacktrailError:
        """An error that ends the attempts, with what is known about the request."""
        return _uncertain(error, self._method.name) if self.was_seen() and self._matters() else error

    def silent(self, seconds: float | None) -> BacktrailError:
        """What to say when the deadline has passed."""
        return DaemonSilent(
            f"The daemon did not answer “{self._method.name}” within {seconds or 0:g} s. "
            "What it was asked for may still be done.",
            "`backtrail status` shows whether it is busy; a longer timeout lets it finish.",
        )

    def result(self, response: Response) -> _Result:
        """What the daemon answered, or the error that it answered with."""
        if response.error is not None:
            problem = response.error.data
            if problem is None:
                raise Bug(f"The daemon refused the request: {response.error.message}")
            raise error_from(problem.code, response.error.message, problem.hint)
        try:
            return msgspec.json.decode(response.result, type=self._method.result)
        except UNREADABLE as error:
            raise Bug(
                f"The daemon's answer to “{self._method.name}” is not what the protocol says: {error}."
            ) from error

    def _matters(self) -> bool:
        """Whether it makes a difference if it was carried out: nothing is lost with a list that nobody saw."""
        return not self._method.repeatable or _is_marked(self._method.params)


def response_of(frames: list[bytes]) -> Response | None:
    """An answer as it came over the wire; None if it is not one."""
    try:
        return msgspec.json.decode(frames[-1], type=Response)
    except UNREADABLE:
        return None


def check_begun(response: Response) -> None:
    """A daemon that is ending did not begin with the request: the next one will do it."""
    problem = None if response.error is None else response.error.data
    if problem is not None and problem.code == DaemonStopping.code:
        raise Lost(sent=False)


def _check_size(size: int, method: Method[Any, Any]) -> None:
    """The daemon would refuse it without having read whose it is."""
    if size > MAX_REQUEST_BYTES:
        talks = "conversation" in method.params.__struct_fields__
        hint = "Write a long conversation to a file and give its path: pathlib.Path(…)." if talks else ""
        message = f"The request “{method.name}” has {size:,} bytes; {MAX_REQUEST_BYTES:,} are allowed."
        raise UsageError(message, hint)


def _marked(params: _Params, mark: str) -> _Params:
    """With a mark that only this request has, where the method knows one: by it the daemon tells a repetition."""
    if not _is_marked(type(params)):
        return params
    marked: Any = params
    return params if marked.request else msgspec.structs.replace(params, request=mark)


def _is_marked(params: type[Value]) -> bool:
    return "request" in params.__struct_fields__


def _uncertain(error: BacktrailError, name: str) -> BacktrailError:
    known = {
        "save": "the checkpoint was made",
        "restore": "the files were restored",
        "rewind": "the session was rewound",
        "undo": "it was undone",
    }
    what = known.get(name, f"“{name}” was carried out")
    error.args = (f"{error.message} It is not known whether {what}.",)
    error.message = error.args[0]
    error.hint = f"{error.hint} `backtrail list` shows it.".strip()
    return error


def _denied() -> DaemonUnreachable:
    return DaemonUnreachable(
        "The daemon does not let this client in.",
        "Its key is not known there, or the daemon belongs to another user. `backtrail daemon keys` makes keys.",
    )

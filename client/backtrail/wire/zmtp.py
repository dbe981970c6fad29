"""ZMTP 3, ZeroMQ's own protocol, as far as one local DEALER needs it: bytes in, messages out. Nothing is sent here."""

from collections.abc import Iterator
from typing import NamedTuple

_MORE, _LONG, _COMMAND = 1, 2, 4
_SHORT_BYTES = 255
_GREETING_BYTES = 64
# What a greeting has where: its two marks, the first version that has frames like these, and no encryption.
_BEGIN, _MARK = (0, b"\xff"), (9, b"\x7f")
_MECHANISM = (12, b"NULL".ljust(20, b"\0"))
_MAJOR_AT, _MAJOR = 10, 3
# The kinds of socket that a DEALER may talk to.
_PARTNERS = (b"ROUTER", b"DEALER", b"REP")
_KIND = b"socket-type"
# Commands are a few dozen bytes; no peer may fill the memory with one before it is known.
MAX_COMMAND_BYTES = 64 * 1024
# Of what a PING says, this much is given back.
_MAX_CONTEXT_BYTES = 16
_TTL_BYTES = 2


class Violation(Exception):
    """What came is not what the protocol allows: there is no telling what the rest would mean."""


class Denied(Exception):
    """The peer says that it does not talk to us."""


class Frame(NamedTuple):
    """One piece of what a peer says."""

    content: bytes
    is_command: bool = False
    has_more: bool = False


def encode(frame: Frame) -> bytes:
    """A frame as it is sent."""
    flags, size = _MORE * frame.has_more | _COMMAND * frame.is_command, len(frame.content)
    if size <= _SHORT_BYTES:
        return bytes((flags, size)) + frame.content
    return bytes((flags | _LONG,)) + size.to_bytes(8, "big") + frame.content


def message(content: bytes) -> bytes:
    """A message of one frame."""
    return encode(Frame(content))


def command(name: bytes, data: bytes) -> bytes:
    """A command, which is between the two libraries and reaches no program."""
    return encode(Frame(bytes((len(name),)) + name + data, is_command=True))


def ready(kind: bytes) -> bytes:
    """The command that tells what kind of socket speaks."""
    return command(b"READY", b"\x0bSocket-Type" + len(kind).to_bytes(4, "big") + kind)


GREETING = b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + _MECHANISM[1] + bytes(32)
# Both at once: of the other side's greeting, nothing changes what we have to say.
INTRODUCTION = GREETING + ready(b"DEALER")


class Decoder:
    """Frames out of bytes that come in any pieces, after the greeting with which they begin."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._said = bytearray()
        self._is_greeted = False

    def take(self, data: bytes) -> Iterator[Frame]:
        """The frames that are whole by now. Memory is taken by what has come, never by what is announced."""
        self._said += data
        if not self._is_greeted:
            _check_greeting(bytes(self._said[:_GREETING_BYTES]))
            if len(self._said) < _GREETING_BYTES:
                return
            del self._said[:_GREETING_BYTES]
            self._is_greeted = True
        while (frame := self._next()) is not None:
            yield frame

    def _next(self) -> Frame | None:
        said = self._said
        if not said:
            return None
        flags = said[0]
        if flags > _COMMAND | _LONG or (flags & _COMMAND and flags & _MORE):
            raise Violation
        begin = 9 if flags & _LONG else 2
        if len(said) < begin:
            return None
        end = begin + int.from_bytes(said[1:begin], "big")
        if end - begin > (MAX_COMMAND_BYTES if flags & _COMMAND else self._most):
            raise Violation
        if len(said) < end:
            return None
        with memoryview(said) as view:  # a slice of the bytes themselves would copy them twice
            content = bytes(view[begin:end])
        del said[:end]
        return Frame(content, bool(flags & _COMMAND), bool(flags & _MORE))


class Peer:
    """The other side, as far as it has spoken: whether it is ready, what it said, and what it wants to hear."""

    def __init__(self, most: int) -> None:
        self._decoder = Decoder(most)
        self._replies = bytearray()
        self.is_ready = False

    def hear(self, data: bytes) -> Iterator[bytes]:
        """The messages that are whole by now; of several frames the last, which is the one that counts."""
        for frame in self._decoder.take(data):
            if frame.is_command:
                self._obey(*_parted(frame.content))
            elif not self.is_ready:
                raise Violation
            elif not frame.has_more:
                yield frame.content

    def replies(self) -> bytes:
        """What has to be sent because of what was heard."""
        due, self._replies = bytes(self._replies), bytearray()
        return due

    def _obey(self, name: bytes, data: bytes) -> None:
        if name == b"ERROR":
            raise Denied
        if not self.is_ready:
            if name != b"READY" or _properties(data).get(_KIND) not in _PARTNERS:
                raise Violation
            self.is_ready = True
        elif name == b"PING":
            self._replies += command(b"PONG", data[_TTL_BYTES:][:_MAX_CONTEXT_BYTES])


def _check_greeting(said: bytes) -> None:
    """As much of a greeting as there is; who is no ZeroMQ at all is known by the first byte."""
    for at, wanted in (_BEGIN, _MARK, _MECHANISM):
        if not wanted.startswith(said[at : at + len(wanted)]):
            raise Violation
    if len(said) > _MAJOR_AT and said[_MAJOR_AT] < _MAJOR:
        raise Violation


def _parted(content: bytes) -> tuple[bytes, bytes]:
    """A command's name and what it says."""
    end = 1 + content[0] if content else 1
    if len(content) < end:
        raise Violation
    return content[1:end], content[end:]


def _properties(data: bytes) -> dict[bytes, bytes]:
    """What a READY tells of its sender; capitals make no difference in names."""
    found, at = {}, 0
    while at < len(data):
        value_at = at + 1 + data[at] + 4
        end = value_at + int.from_bytes(data[value_at - 4 : value_at], "big")
        if end > len(data):
            raise Violation
        found[data[at + 1 : value_at - 4].lower()] = data[value_at:end]
        at = end
    return found

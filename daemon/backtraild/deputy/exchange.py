"""What goes between the daemon and its deputy: names with an open folder one way, what came of them the other."""

import os
import socket
import struct
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from backtraild.scan import Answer

LONGEST_ORDER = 64 * 1024  # names have 255 bytes at most, and a batch has 64 of them

_LENGTH = struct.Struct("<I")
_SEPARATOR = b"/"  # in no name

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Answer)


class Order(NamedTuple):
    """Files to be read, and the folder that they are in: open, and the receiver's to close."""

    folder: int
    names: list[bytes]


def send_order(channel: socket.socket, folder: int, names: Sequence[bytes]) -> None:
    """Have these files read. Never waits; an OSError if the deputy is gone, or has very much to do."""
    socket.send_fds(channel, [_SEPARATOR.join(names)], [folder], socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)


def receive_order(channel: socket.socket) -> Order | None:
    """The next order; None when there will be no more."""
    message, descriptors, _, _ = socket.recv_fds(channel, LONGEST_ORDER, 1, socket.MSG_CMSG_CLOEXEC)
    return Order(descriptors[0], message.split(_SEPARATOR)) if descriptors else None


def send_answer(pipe: int, answer: Answer) -> None:
    """Tell what came of an order."""
    told = _encoder.encode(answer)
    with memoryview(_LENGTH.pack(len(told)) + told) as whole:
        sent = 0
        while sent < len(whole):
            sent += os.write(pipe, whole[sent:])


def receive_answer(pipe: int) -> Answer:
    """What came of the oldest order; waits for it. EOFError if the deputy is gone."""
    (length,) = _LENGTH.unpack(_received(pipe, _LENGTH.size))
    return _decoder.decode(_received(pipe, length))


def _received(pipe: int, length: int) -> bytes:
    pieces: list[bytes] = []
    while length:
        piece = os.read(pipe, length)
        if not piece:
            raise EOFError
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)

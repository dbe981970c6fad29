"""Orders and answers arrive as they were sent, whatever is in them."""

import os
import socket
from pathlib import Path

import pytest

from backtraild.deputy.exchange import receive_answer, receive_order, send_answer, send_order
from backtraild.model import Packed
from backtraild.scan.capture import Captured
from backtraild.scan.delegation import MOST_FILES


def test_an_order_brings_the_longest_names_and_a_way_into_the_folder(tmp_path: Path):
    """A path could lead elsewhere by the time it is opened; a descriptor leads to what was listed."""
    (tmp_path / "here").write_bytes(b"")
    names = [b"\xff%03d" % number + b"\n" * 251 for number in range(MOST_FILES)]
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    folder = os.open(tmp_path, os.O_RDONLY)
    with ours, theirs:
        send_order(ours, folder, names)
        os.close(folder)
        order = receive_order(theirs)
        assert order is not None
        assert (order.names, os.listdir(order.folder)) == (names, ["here"])
        os.close(order.folder)
        ours.close()
        assert receive_order(theirs) is None, "nobody is left who gives orders"


def test_an_answer_brings_the_strangest_numbers_there_are():
    """Times before 1970, inodes of 64 bits, contents without lines."""
    answer = [
        Captured(False, -(2**63), 2**63 - 1, 2**64 - 1, Packed(b"\0" * 20, 2**40, None, 2**32 - 1, b"\xff")),
        None,
        Captured(True, 0, -1, 1, Packed(b"i" * 20, 0, 0, 0, b"x" * 50_000)),
    ]
    reading, writing = os.pipe()
    try:
        send_answer(writing, answer)
        assert receive_answer(reading) == answer
        os.write(writing, b"\x07\0")
        os.close(writing)
        with pytest.raises(EOFError):
            receive_answer(reading)
    finally:
        os.close(reading)

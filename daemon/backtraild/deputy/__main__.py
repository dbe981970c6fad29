"""`python -m backtraild.deputy`: orders come in through standard input, which is a socket; answers go out."""

import contextlib
import os
import socket
import sys
import time

from backtraild.deputy.exchange import Order, receive_order, send_answer
from backtraild.scan import Answer, capture_plain
from backtraild.store import pack_blob


def main() -> int:
    """Carry out orders until there are no more, or nobody is left who wants to know."""
    with socket.socket(fileno=sys.stdin.fileno()) as orders, contextlib.suppress(BrokenPipeError):
        while (order := receive_order(orders)) is not None:
            send_answer(sys.stdout.fileno(), _carried_out(order))
    return 0


def _carried_out(order: Order) -> Answer:
    try:
        return [capture_plain(name, order.folder, pack_blob, time.time_ns) for name in order.names]
    finally:
        os.close(order.folder)


if __name__ == "__main__":
    sys.exit(main())

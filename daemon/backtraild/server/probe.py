"""A look at the server from outside: a real request through a real socket."""

import zmq

from backtrail import protocol

_PING = protocol.encode_request("probe", protocol.PING.name, protocol.Ping())


def is_answering(endpoint: str, seconds: float) -> bool:
    """Does somebody answer a ping in time? Any answer will do: a busy daemon works."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.connect(endpoint)
        socket.send(_PING)
        return bool(socket.poll(int(seconds * 1000)))

"""Whether anybody listens at an endpoint: asked by connecting, and by nothing else."""

import socket
from contextlib import suppress

_PROBE_SECONDS = 3.0


def is_listening(endpoint: str) -> bool:
    """Whether anybody accepts connections there; a socket file alone may be what a killed daemon left."""
    kind, _, address = endpoint.partition("://")
    if kind != "ipc":
        host, _, port = address.rpartition(":")
        with suppress(OSError), socket.create_connection((host.strip("[]"), int(port)), _PROBE_SECONDS):
            return True
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(address)
        except BlockingIOError:  # the queue is full of others: somebody has to be there
            return True
        except OSError:
            return False
    return True

"""How far the daemon is with a request, told while its answer is waited for."""

import socket

import msgspec
import zmq

from backtrail.protocol import ConnectionFile
from backtrail.values import CheckpointEvent
from backtrail.wire.deadline import Deadline
from backtrail.wire.exchange import UNREADABLE, OnProgress
from backtrail.wire.links import Link

_PROGRESS = b"/progress"


class Progress:
    """What the daemon tells about one request while it works on it."""

    def __init__(self, where: ConnectionFile, request: str, tell: OnProgress) -> None:
        self._link = Link(zmq.SUB, where.events, where)
        self._request = request
        self._tell = tell
        self.socket = self._link.socket

    def wait_until_up(self, deadline: Deadline) -> None:
        """Until the daemon can know that somebody listens. That it does not come up is the request's to find out."""
        self._link.monitor.poll(deadline.milliseconds())
        self._link.fate()

    def tell(self) -> None:
        """Hand on what has come."""
        while True:
            try:
                message = self.socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            event = progress_of(message, self._request)
            if event is not None:
                self._tell(event)

    def tell_until_heard(self, answers: socket.socket, deadline: Deadline) -> bool:
        """Hand on what comes until there is something to read from `answers`; False if the deadline comes first."""
        poller = zmq.Poller()
        poller.register(self.socket, zmq.POLLIN)
        poller.register(answers, zmq.POLLIN)
        while ready := dict(poller.poll(deadline.milliseconds())):
            self.tell()
            if answers.fileno() in ready:
                return True
        return False

    def close(self) -> None:
        """Listen no more."""
        self._link.close()


def progress_of(message: list[bytes], request: str) -> CheckpointEvent | None:
    """The event in a published message, if it is about the progress of a request."""
    if len(message) != 2 or not message[0].endswith(_PROGRESS):
        return None
    try:
        event = msgspec.json.decode(message[1], type=CheckpointEvent)
    except UNREADABLE:
        return None
    return event if event.data.get("job") == request else None

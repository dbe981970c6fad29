"""Events on their way to subscribers: numbered ones in the order of the log, progress and heartbeats between them."""

import functools
from datetime import UTC, datetime

import zmq

from backtrail import protocol, values
from backtrail.values import Value
from backtraild.model import Event, Progress
from backtraild.server import convert, envelope
from backtraild.server.outbox import Outbox


class Bulletin:
    """Filled by any thread, sent by the loop's. A subscriber that does not read never holds it up."""

    def __init__(self, outbox: Outbox, socket: "zmq.Socket[bytes]") -> None:
        self._outbox = outbox
        self._socket = socket
        self._epoch = ""
        # The last number that was sent. Progress and heartbeats repeat it, so they never run ahead of events.
        self._seq = 0
        self._next_heartbeat = 0.0

    def begin(self, epoch: str, seq: int) -> None:
        """Before the loop runs: where the log stands."""
        self._epoch, self._seq = epoch, max(seq, self._seq)

    def event(self, event: Event) -> None:
        """Tell subscribers of an event. Called with the log's lock held: it only puts it in the queue."""
        self._outbox.post(functools.partial(self._send_event, event))

    def progress(self, progress: Progress) -> None:
        """Tell subscribers how far something is."""
        self._outbox.post(functools.partial(self._send_progress, progress, datetime.now(UTC)))

    def heartbeat(self, now: float) -> float:
        """Say that the daemon lives, if it is time; seconds until it is again."""
        if now >= self._next_heartbeat:
            self._next_heartbeat = now + protocol.HEARTBEAT_SECONDS
            self._send(protocol.HEARTBEAT_TOPIC, values.Heartbeat(epoch=self._epoch, seq=self._seq))
        return self._next_heartbeat - now

    def _send_event(self, event: Event) -> None:
        self._seq = event.seq
        self._send(f"{event.workspace}/{event.type}", convert.event(event))

    def _send_progress(self, progress: Progress, moment: datetime) -> None:
        shown = convert.progress(progress, self._epoch, self._seq, moment)
        self._send(f"{progress.workspace}/{shown.type}", shown)

    def _send(self, topic: str, value: Value) -> None:
        self._socket.send_multipart([topic.encode(), envelope.encode(value)], zmq.DONTWAIT)

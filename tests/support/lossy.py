"""Between a daemon and its followers: hands its events on, except for those that it loses or repeats."""

import random
import threading
from pathlib import Path

import msgspec
import zmq

from backtrail.protocol import ConnectionFile


class Lossy:
    """A relay of events with a connection file of its own; requests go to the daemon directly."""

    def __init__(self, daemon: Path, folder: Path, seed: int) -> None:
        where = msgspec.json.decode(daemon.read_bytes(), type=ConnectionFile)
        self._chance = random.Random(seed)
        self._context = zmq.Context()
        self._from, self._to = self._context.socket(zmq.SUB), self._context.socket(zmq.PUB)
        self._from.subscribe(b"")
        self._from.connect(where.events)
        self._to.bind("ipc://*")
        endpoint = self._to.getsockopt_string(zmq.LAST_ENDPOINT)
        self.file = folder / "lossy.json"
        self.file.write_bytes(msgspec.json.encode(msgspec.structs.replace(where, events=endpoint)))
        self.file.chmod(0o600)
        self.is_faithful = False
        self.is_deaf = False
        self.dropped = self.repeated = 0
        self._is_ending = False
        self._thread = threading.Thread(target=self._relay)

    def __enter__(self) -> "Lossy":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_ending = True
        self._thread.join()
        self._context.destroy(linger=0)

    def _relay(self) -> None:
        while not self._is_ending:
            if not self._from.poll(50):
                continue
            message = self._from.recv_multipart()
            if self.is_deaf:
                continue
            times = 1 if self.is_faithful else self._chance.choice([0, 0, 0, 1, 2])
            self.dropped += times == 0
            self.repeated += times == 2
            for _ in range(times):
                self._to.send_multipart(message)

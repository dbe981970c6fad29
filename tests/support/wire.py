"""The daemon's sockets spoken to as any program would: frames and JSON, nothing of Backtrail's own client."""

import json
import uuid
from pathlib import Path
from typing import Any

import zmq

SECONDS = 30.0


class Wire:
    """A connection for requests."""

    def __init__(self, endpoint: str, kind: int = zmq.DEALER, **options: Any) -> None:
        self._context = zmq.Context()
        self.socket = self._context.socket(kind)
        self.socket.linger = 0
        for name, value in options.items():
            setattr(self.socket, name, value)
        self.socket.connect(endpoint)

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self._context.destroy(linger=0)

    def send(self, method: str, **params: Any) -> str:
        """Ask for something; the id of the request."""
        request = uuid.uuid4().hex
        message = {"jsonrpc": "2.0", "id": request, "method": method, "params": params}
        self.socket.send(json.dumps(message).encode())
        return request

    def receive(self, seconds: float = SECONDS) -> dict[str, Any]:
        """The next answer."""
        assert self.socket.poll(seconds * 1000), f"no answer within {seconds} s"
        answer = json.loads(self.socket.recv_multipart()[-1])
        assert answer["jsonrpc"] == "2.0"
        assert ("result" in answer) != ("error" in answer), answer
        return answer

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask and wait for the answer."""
        request = self.send(method, **params)
        answer = self.receive()
        assert answer["id"] == request
        return answer

    def result(self, method: str, **params: Any) -> dict[str, Any]:
        """What is answered if all is well."""
        answer = self.ask(method, **params)
        assert "result" in answer, str(answer)[:1000]
        return answer["result"]

    def error(self, method: str, **params: Any) -> dict[str, Any]:
        """What is answered if something is wrong: code and message, and the code and hint for programs."""
        answer = self.ask(method, **params)
        assert "error" in answer, str(answer)[:1000]
        return answer["error"]

    def raw(self, *frames: bytes) -> dict[str, Any]:
        """The answer to a message of these frames."""
        self.socket.send_multipart(frames)
        return self.receive()

    def is_silent(self, seconds: float) -> bool:
        """Does nothing come for so long?"""
        return not self.socket.poll(seconds * 1000)


class Subscription:
    """A connection for events."""

    def __init__(self, endpoint: str, topic: str = "", **options: Any) -> None:
        self._context = zmq.Context()
        self.socket = self._context.socket(zmq.SUB)
        for name, value in options.items():
            setattr(self.socket, name, value)
        self.socket.subscribe(topic)
        self.socket.connect(endpoint)

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(self, *_: object) -> None:
        self._context.destroy(linger=0)

    def next(self, seconds: float = SECONDS) -> tuple[str, dict[str, Any]]:
        """The next message: its topic and its content."""
        assert self.socket.poll(seconds * 1000), f"no event within {seconds} s"
        topic, content = self.socket.recv_multipart()
        return topic.decode(), json.loads(content)

    def next_of(self, kind: str, seconds: float = SECONDS) -> dict[str, Any]:
        """The next event of one kind; others are passed over."""
        while True:
            topic, event = self.next(seconds)
            if topic.rpartition("/")[2] == kind:
                return event


def connection_of(home: Path) -> dict[str, Any]:
    """What the daemon of this home says about itself; raises FileNotFoundError if none says anything."""
    return json.loads((home / "run" / "daemon.json").read_bytes())

"""Many short programs without the cost of starting them: one process has everything imported, and forks for each.

Run as a module it is that process. A program is a function of a module of the tests; it gets a `Cue`, through which
it hears from whoever started it and tells what it did, and the folder that it works in.
"""

import atexit
import contextlib
import functools
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

from support.tracing import Tracer, await_tracer

_TESTS = Path(__file__).parent.parent


class Cue:
    """The program's end: lines of JSON in both directions."""

    def __init__(self, channel: socket.socket) -> None:
        self._lines = _Lines(channel)

    def tell(self, **what: Any) -> None:
        """Something was done; once this returns, the other side can know it."""
        self._lines.write(what)

    def wait(self) -> dict[str, Any]:
        """What the other side says; ends the program where there is no other side any more."""
        heard = self._lines.read(None)
        if heard is None:
            os._exit(0)
        return heard


class Actor:
    """A program that runs, seen from outside. It ends with the block."""

    def __init__(self, channel: socket.socket, tracer: Tracer | None = None) -> None:
        self._channel = channel
        self.pid = _pid(channel) if tracer is None else tracer.follow(channel)
        self.tracer = tracer
        self._lines = _Lines(channel)

    def __enter__(self) -> "Actor":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.await_end()
        self._channel.close()

    def say(self, **what: Any) -> None:
        """Tell the program something, if it still is there."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._lines.write(what)

    def hear(self, seconds: float = 60.0) -> dict[str, Any] | None:
        """What the program tells next; None if it has ended."""
        return self._lines.read(seconds)

    def await_end(self) -> None:
        """Until it is gone, with all its threads and the processes that it started."""
        while self._lines.read(60.0) is not None:
            pass
        if self.tracer is not None:
            self.tracer.join()


class Stage:
    """The process that forks."""

    def __init__(self) -> None:
        self._channel, theirs = socket.socketpair()
        path = os.pathsep.join([str(_TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.stage", str(theirs.fileno())],
            env={**os.environ, "PYTHONPATH": path},
            pass_fds=[theirs.fileno()],
        )
        theirs.close()

    def enter(self, program: str, folder: Path, *more: str, tracer: Tracer | None = None) -> Actor:
        """Start `module:function`, under the eyes of a tracer if one is given."""
        ours, theirs = socket.socketpair()
        request = json.dumps({"program": program, "folder": str(folder), "more": more}).encode()
        socket.send_fds(self._channel, [request], [theirs.fileno()])
        theirs.close()
        try:
            return Actor(ours, tracer)
        except BaseException:
            ours.close()
            raise

    def close(self) -> None:
        """End the process."""
        self._channel.close()
        self._process.wait(60)


def the_stage() -> Stage:
    """The one of this process, started when it is first needed and ended with this process."""
    return _stage_of(os.getpid())


@functools.cache
def _stage_of(_: int) -> Stage:
    stage = Stage()
    atexit.register(stage.close)
    return stage


class _Lines:
    """JSON objects, one a line, over a socket."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._rest = b""

    def write(self, what: dict[str, Any]) -> None:
        self._channel.sendall(json.dumps(what).encode() + b"\n")

    def read(self, seconds: float | None) -> dict[str, Any] | None:
        self._channel.settimeout(seconds)
        with contextlib.suppress(ConnectionResetError):
            while b"\n" not in self._rest:
                piece = self._channel.recv(65536)
                if not piece:
                    return None
                self._rest += piece
            line, _, self._rest = self._rest.partition(b"\n")
            found: dict[str, Any] = json.loads(line)
            return found
        return None


def _pid(channel: socket.socket) -> int:
    line = channel.makefile("rb", buffering=0).readline()
    channel.sendall(b"-")  # nobody traces it
    return int(line)


def _serve(channel: socket.socket) -> None:
    for module in ("backtraild.app", "backtraild.service", "support.scenes"):
        importlib.import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that nobody has to wait for those who have ended
    while True:
        request, descriptors, _, _ = socket.recv_fds(channel, 65536, 1)
        if not request:
            return
        if os.fork() == 0:
            channel.close()
            _perform(socket.socket(fileno=descriptors[0]), **json.loads(request))
        os.close(descriptors[0])


def _perform(channel: socket.socket, program: str, folder: str, more: list[str]) -> None:
    """In the forked process, which does not come back."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ["HOME"] = folder
    module, _, name = program.partition(":")
    status = 1
    try:
        await_tracer(channel)
        getattr(importlib.import_module(module), name)(Cue(channel), Path(folder), *more)
        status = 0
    except BaseException:
        with contextlib.suppress(OSError):
            Cue(channel).tell(crashed=traceback.format_exc())
    finally:
        os._exit(status)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))

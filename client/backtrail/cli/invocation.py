"""One call of the command line: what it was asked, whom it asks, and where its answer goes.

Results go to stdout, everything else to stderr. Text is made only where no JSON is wanted.
"""

import contextlib
import errno
import io
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import msgspec

from backtrail.cli.terminal import Screen
from backtrail.errors import BacktrailError
from backtrail.protocol import Method
from backtrail.values import Value

if TYPE_CHECKING:
    from backtrail.client import Client

_Params = TypeVar("_Params", bound=Value)
_Result = TypeVar("_Result", bound=Value)


class OutputFailed(BacktrailError):
    """What was found out could not be written to where it should go."""

    code = "output-failed"


class Invocation:
    """Everything that a command needs to do its work."""

    def __init__(self, name: str, options: Namespace) -> None:
        self.name = name
        self.options = options
        self.json: bool = options.json
        self.quiet: bool = options.quiet

    @cached_property
    def client(self) -> "Client":
        """The client, which starts the daemon if that is allowed."""
        from backtrail.client import Client

        return Client(autostart=not self.options.no_autostart)

    @cached_property
    def screen(self) -> Screen:
        """Where results are read."""
        return Screen.of(sys.stdout, self.options.colour)

    def close(self) -> None:
        """Let go of the connections, if there are any."""
        if "client" in self.__dict__:
            self.client.close()

    def ask(self, method: Method[_Params, _Result], params: _Params) -> _Result:
        """What the daemon answers, soon."""
        return self.client.call(method, params)

    def ask_patiently(self, method: Method[_Params, _Result], params: _Params, label: str) -> _Result:
        """What the daemon answers after work that takes as long as it takes; a terminal sees how far it is."""
        if self.quiet or not sys.stderr.isatty():
            return self.client.call(method, params, timeout=None)
        from backtrail.cli.progress import ProgressBar

        with ProgressBar(sys.stderr, label) as bar:
            return self.client.call(method, params, timeout=None, on_progress=bar)

    def give(self, value: object, text: Callable[[Screen], str]) -> None:
        """The result, in the form that was asked for."""
        if self.json:
            self.write_bytes(msgspec.json.encode(value) + b"\n")
        else:
            self.write(text(self.screen))

    def give_long(self, value: object, text: Callable[[Screen], str]) -> None:
        """The same; on a terminal, a long text goes through a pager."""
        if self.json or not sys.stdout.isatty():
            self.give(value, text)
            return
        from backtrail.cli.pager import show

        show(_ended(text(self.screen)))

    def write(self, text: str) -> None:
        """A text that is a result; what the stream's character set lacks is replaced."""
        self.write_bytes(_ended(text).encode(sys.stdout.encoding or "utf-8", "replace"))

    def write_bytes(self, content: bytes) -> None:
        """Bytes that are a result, as they are. With PYTHONUNBUFFERED set, a write may take only some of them."""
        left = memoryview(content)
        with _written():
            while left:
                taken = sys.stdout.buffer.write(left)
                if taken is None:
                    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
                left = left[taken:]
            sys.stdout.buffer.flush()

    def note(self, text: str) -> None:
        """Something beside the result, for whoever reads along."""
        if not self.quiet:
            tell(_ended(text))


def tell(text: str) -> None:
    """Say something on stderr; nobody may be listening."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def is_debugged() -> bool:
    """Does somebody want to see where something went wrong?"""
    return os.environ.get("BACKTRAIL_DEBUG", "0") not in ("", "0")


def open_streams() -> None:
    """Make the standard streams usable where the caller closed them, or set them to an old character set."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - open as long as the process lives
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def drop_output() -> None:
    """Send whatever is still unwritten nowhere, so that the end of the process does not fail on it again."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


@contextlib.contextmanager
def _written() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(
            f"The result could not be written: {error.strerror or error}.",
            "Whatever was asked for is done; only telling it failed.",
        ) from error


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"

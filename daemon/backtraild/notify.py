"""What the daemon tells the service manager that started it; without one, nothing."""

import contextlib
import os
import socket

# The manager reads its socket all the time. If it does not, the daemon has better things to do than to wait.
SECONDS = 2.0


def ready(status: str) -> None:
    """Requests are answered from now on."""
    _tell("READY=1", _status(status))


def stopping() -> None:
    """The daemon is about to end. To be told first: the watchdog stops then, however long the last saves take."""
    _tell("STOPPING=1")


def status(text: str) -> None:
    """One line for a person who asks the manager how the daemon is doing."""
    _tell(_status(text))


def alive() -> None:
    """The daemon still works: the manager's watchdog may wait for another turn."""
    _tell("WATCHDOG=1")


def _status(text: str) -> str:
    # A line break would end the status and begin an assignment of its own.
    return "STATUS=" + " ".join(text.splitlines())


def _tell(*assignments: str) -> None:
    """Send them in one message. Nobody in the daemon can do anything about a manager that does not listen."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    message = "\n".join(assignments).encode("utf-8", "backslashreplace")
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.settimeout(SECONDS)
        channel.sendto(message, _name(address))


def _name(address: str) -> bytes:
    """The socket's name as the kernel has it: abstract ones begin with a zero byte, written as @."""
    name = os.fsencode(address)
    return b"\0" + name[1:] if name.startswith(b"@") else name

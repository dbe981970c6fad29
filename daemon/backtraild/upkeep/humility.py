"""A process that is in nobody's way: after all others at the processor and at the disk, and gone with its parent."""

import contextlib
import ctypes
import os
import platform
import signal
import sys
import threading

_NICE = 19
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_IDLE_CLASS = 3 << 13
_THIS_PROCESS = 1
# ioprio_set has no function of its own in C's library.
_IOPRIO_SET = {"x86_64": 251, "aarch64": 30, "arm64": 30, "i686": 289, "armv7l": 314, "riscv64": 30}


def step_back() -> None:
    """Let all others go first. What the system does not allow is left: it is a courtesy, not a need."""
    with contextlib.suppress(OSError):
        os.nice(_NICE)


def wait_for_idleness() -> None:
    """Work only when nobody else does, which on a busy machine may take very long."""
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    number = _IOPRIO_SET.get(platform.machine())
    if sys.platform == "linux" and number is not None:
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).syscall(number, _THIS_PROCESS, 0, _IDLE_CLASS)


def end_with_parent(parent: int) -> None:
    """Be killed when the parent ends, by the kernel where it can, else when standard input closes."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the kernel was asked
        os._exit(1)
    threading.Thread(target=_await_end, name="parent", daemon=True).start()


def _await_end() -> None:
    # Not through `sys.stdin`, whose lock would be held when the interpreter ends.
    while os.read(0, 4096):
        pass
    os._exit(1)

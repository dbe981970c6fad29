"""The kernel's way of stopping a process at its system calls: numbers, registers, and the filter that picks them."""

import contextlib
import ctypes
import errno
import os
import platform
import signal
import struct
from dataclasses import dataclass

CONT, SYSCALL, GETREGSET, SETREGSET, SEIZE, LISTEN = 7, 24, 0x4204, 0x4205, 0x4206, 0x4208
EVENT_EXEC, EVENT_SECCOMP, EVENT_STOP = 4, 7, 128
_TRACE_FORK, _TRACE_VFORK, _TRACE_CLONE, _TRACE_EXEC, _TRACE_SECCOMP = 2, 4, 8, 16, 128
_SYSGOOD, _EXITKILL = 1, 0x100000
OPTIONS = _SYSGOOD | _TRACE_FORK | _TRACE_VFORK | _TRACE_CLONE | _TRACE_EXEC | _TRACE_SECCOMP | _EXITKILL

WALL, NO_THREAD = 0x40000000, 0x20000000  # of waitpid: threads as well; only what this thread traces

_PRSTATUS, _ARM_SYSTEM_CALL = 1, 0x404
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_RET_TRACE, _RET_ALLOW = 0x7FF00000, 0x7FFF0000
_LOAD, _EQUALS, _HAS_BITS, _RETURN = 0x20, 0x15, 0x45, 0x06  # of the packet filter's language
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


class Gone(Exception):
    """The process, or the thread, was killed: there is nothing left to be traced."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a system call is about: which arguments are descriptors, and which are paths below a descriptor."""

    kind: str
    descriptors: tuple[int, ...] = ()
    # Argument with the folder's descriptor, argument with the path.
    paths: tuple[tuple[int | None, int], ...] = ()
    flags: int | None = None  # the argument that says whether a file is opened for writing


_OPENING = Shape("open", paths=((0, 1),), flags=2)

SHAPES: dict[str, Shape] = {
    **dict.fromkeys(("write", "pwrite64", "writev", "pwritev", "pwritev2"), Shape("write", (0,))),
    **dict.fromkeys(("ftruncate", "fallocate"), Shape("write", (0,))),
    **dict.fromkeys(("sendfile", "splice"), Shape("write", (0,))),
    "copy_file_range": Shape("write", (2,)),
    "truncate": Shape("write", paths=((None, 0),)),
    **dict.fromkeys(("fsync", "fdatasync", "syncfs", "sync_file_range"), Shape("sync", (0,))),
    "open": Shape("open", paths=((None, 0),), flags=1),
    "creat": Shape("open", paths=((None, 0),)),
    "openat": _OPENING,
    **dict.fromkeys(("rename", "link"), Shape("rename", paths=((None, 0), (None, 1)))),
    **dict.fromkeys(("renameat", "renameat2", "linkat"), Shape("rename", paths=((0, 1), (2, 3)))),
    "symlink": Shape("make", paths=((None, 1),)),
    "symlinkat": Shape("make", paths=((1, 2),)),
    "mkdir": Shape("make", paths=((None, 0),)),
    **dict.fromkeys(("mkdirat", "mknodat"), Shape("make", paths=((0, 1),))),
    **dict.fromkeys(("unlink", "rmdir"), Shape("remove", paths=((None, 0),))),
    "unlinkat": Shape("remove", paths=((0, 1),)),
    **dict.fromkeys(("chmod", "chown"), Shape("mode", paths=((None, 0),))),
    **dict.fromkeys(("fchmod", "fchown"), Shape("mode", (0,))),
    **dict.fromkeys(("fchmodat", "fchownat", "utimensat"), Shape("mode", paths=((0, 1),))),
}
"""Every system call that changes a file system, as far as programs without io_uring and writable mappings use them."""


@dataclass(frozen=True, slots=True)
class Machine:
    """How one kind of processor numbers its system calls, and where their arguments and results are."""

    audit: int
    numbers: dict[str, int]
    registers: int  # how many there are, eight bytes each
    number_at: int
    arguments_at: tuple[int, ...]
    result_at: int


def _numbered(table: str) -> dict[str, int]:
    words = table.split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


_X86_64 = Machine(
    0xC000003E,
    _numbered(
        "write 1 pwrite64 18 writev 20 pwritev 296 pwritev2 328 ftruncate 77 fallocate 285 truncate 76 "
        "copy_file_range 326 sendfile 40 splice 275 fsync 74 fdatasync 75 syncfs 306 sync_file_range 277 "
        "open 2 creat 85 openat 257 rename 82 renameat 264 renameat2 316 link 86 linkat 265 symlink 88 "
        "symlinkat 266 mkdir 83 mkdirat 258 mknodat 259 unlink 87 unlinkat 263 rmdir 84 chmod 90 "
        "fchmod 91 fchmodat 268 chown 92 fchown 93 fchownat 260 utimensat 280"
    ),
    27,
    15,
    (14, 13, 12, 7, 9, 8),
    10,
)
_AARCH64 = Machine(
    0xC00000B7,
    _numbered(
        "write 64 pwrite64 68 writev 66 pwritev 70 pwritev2 287 ftruncate 46 fallocate 47 truncate 45 "
        "copy_file_range 285 sendfile 71 splice 76 fsync 82 fdatasync 83 syncfs 267 sync_file_range 84 "
        "openat 56 renameat 38 renameat2 276 linkat 37 symlinkat 36 mkdirat 34 mknodat 33 unlinkat 35 "
        "fchmod 52 fchmodat 53 fchown 55 fchownat 54 utimensat 88"
    ),
    34,
    8,
    (0, 1, 2, 3, 4, 5),
    0,
)

MACHINE: Machine | None = {"x86_64": _X86_64, "aarch64": _AARCH64}.get(platform.machine())


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class Registers:
    """Those of a thread that stands at a system call."""

    def __init__(self, thread: int, machine: Machine) -> None:
        self._thread, self._machine = thread, machine
        self._values = (ctypes.c_uint64 * machine.registers)()
        _registers(GETREGSET, thread, _PRSTATUS, self._values)

    @property
    def number(self) -> int:
        """Which system call it is."""
        return int(self._values[self._machine.number_at])

    def argument(self, at: int) -> int:
        """One of the six arguments."""
        return int(self._values[self._machine.arguments_at[at]])

    def change(self, at: int, value: int) -> None:
        """Let the call be made with another argument."""
        self._values[self._machine.arguments_at[at]] = value
        _registers(SETREGSET, self._thread, _PRSTATUS, self._values)

    def fail(self, number: int) -> None:
        """Let the call not be made, and give this error instead."""
        self._values[self._machine.result_at] = -number & 0xFFFFFFFFFFFFFFFF
        if self._machine is _AARCH64:
            _registers(SETREGSET, self._thread, _ARM_SYSTEM_CALL, (ctypes.c_int * 1)(-1))
        else:
            self._values[self._machine.number_at] = 0xFFFFFFFFFFFFFFFF
        _registers(SETREGSET, self._thread, _PRSTATUS, self._values)


def _registers(request: int, thread: int, which: int, values: ctypes.Array) -> None:
    vector = _Vector(ctypes.addressof(values), ctypes.sizeof(values))
    control(request, thread, which, ctypes.addressof(vector))


def control(request: int, thread: int, address: int = 0, data: int = 0) -> None:
    """One request about a thread that is traced, or shall be."""
    if _libc.ptrace(request, thread, address, data) == -1:
        number = ctypes.get_errno()
        raise Gone if number == errno.ESRCH else OSError(number, os.strerror(number))


def text_at(memory: int, address: int) -> bytes:
    """The string at an address of a process, whose memory is open; nothing where none can be read."""
    found = b""
    with contextlib.suppress(OSError):
        while b"\0" not in found and len(found) < 4096:
            at = address + len(found)
            found += os.pread(memory, 4096 - at % 4096, at)
    return found.partition(b"\0")[0]


def stop_at_changes(machine: Machine, *, reads: bool = False) -> None:
    """Have this process, and all that come of it, stop for its tracer at every call that changes files.

    With `reads`, also where a file is opened only to be read. All other calls run as fast as ever. Who has no
    tracer is told that there are no such calls.
    """
    program = b"".join(_instructions(machine, reads))
    content = ctypes.create_string_buffer(program, len(program))
    filter_ = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(content))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.create_string_buffer(filter_, len(filter_)))


def _instructions(machine: Machine, reads: bool) -> list[bytes]:
    made = [
        _instruction(_LOAD, 4),
        _instruction(_EQUALS, machine.audit, 1, 0),
        _instruction(_RETURN, _RET_ALLOW),
    ]
    for name, number in machine.numbers.items():
        flags = SHAPES[name].flags
        made.append(_instruction(_LOAD, 0))
        if flags is None or reads:
            made += [_instruction(_EQUALS, number, 0, 1), _instruction(_RETURN, _RET_TRACE)]
        else:
            made.append(_instruction(_EQUALS, number, 0, 4))
            made.append(_instruction(_LOAD, 16 + 8 * flags))
            made.append(_instruction(_HAS_BITS, WRITING, 0, 1))
            made += [_instruction(_RETURN, _RET_TRACE), _instruction(_RETURN, _RET_ALLOW)]
    return [*made, _instruction(_RETURN, _RET_ALLOW)]


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _prctl(option: int, value: int, more: object = 0) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), more, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


GROUP_STOPS = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}

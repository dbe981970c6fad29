"""A program stopped at its system calls: counted, made to fail, or killed there, with no tool but Python.

The program asks for it: `await_tracer` is the first thing it does. It may be any process of the same user that this
one has started. Threads and child processes are followed.
"""

import contextlib
import os
import signal
import socket
import threading
from dataclasses import dataclass, field

from support import ptrace
from support.ptrace import MACHINE, Gone, Machine, Registers
from torture.campaign import Unable

_GO = b"g"
_READS = b"r"
_NAMES = {number: name for name, number in MACHINE.numbers.items()} if MACHINE else {}


def await_tracer(channel: socket.socket) -> None:
    """Called in the program: say who this is, wait until somebody traces it, and go on under that eye."""
    channel.sendall(b"%d\n" % os.getpid())
    answer = channel.recv(1)
    if answer in (_GO, _READS) and MACHINE is not None:
        ptrace.stop_at_changes(MACHINE, reads=answer == _READS)


@dataclass(frozen=True, slots=True)
class Call:
    """One system call that is about to be made."""

    kind: str  # write, sync, open (for writing), look (for reading), rename, make, remove, mode
    name: str
    path: str
    number: int  # how many were counted before it, and it: 1 is the first

    def __str__(self) -> str:
        return f"call {self.number}, {self.name} of {self.path}"


@dataclass(frozen=True, slots=True)
class Kill:
    """The program and its forks die at the call of this number: before it, or right after it.

    Of a write that it dies after, only a half is made, as when a disk is slower than the signal.
    """

    number: int
    after: bool = False


@dataclass(frozen=True, slots=True)
class Fail:
    """The call of this number is not made and gives an error; if it lasts, so do all later ones of those kinds."""

    number: int
    error: int
    lasting: bool = False
    kinds: frozenset[str] = frozenset()  # which others fail from there on


@dataclass
class Tracer:
    """Traces one program, in a thread of its own: the kernel tells of a traced process only who traces it."""

    folder: str
    reads: bool = False  # stop, too, where files are opened only to be read
    others: bool = False  # count what other programs do that the program runs, such as git
    calls: list[Call] = field(default_factory=list)  # those that were counted, in order
    hit: Call | None = None  # where it was killed, or first made to fail

    def __post_init__(self) -> None:
        self._plan: Kill | Fail | None = None
        self._counting = False
        self._processes: dict[int, bool] = {}  # is it our own program, rather than one that it runs?
        self._seized = threading.Event()
        self._refusal: OSError | None = None
        self._thread: threading.Thread | None = None

    def follow(self, channel: socket.socket) -> int:
        """Trace the program at the other end, from where it awaits that; its process number."""
        if MACHINE is None:
            raise Unable(f"Nobody wrote down the system calls of {os.uname().machine}.")
        pid = int(_line(channel))
        self._thread = threading.Thread(target=self._run, args=(pid, MACHINE), name=f"tracer of {pid}")
        self._thread.start()
        self._seized.wait()
        if self._refusal is not None:
            self._thread.join()
            raise Unable(f"This machine lets nobody trace its own processes: {self._refusal.strerror}.")
        channel.sendall(_READS if self.reads else _GO)
        return pid

    def arm(self, plan: Kill | Fail | None = None) -> None:
        """Count from now on, and do this when its time has come."""
        self.calls, self.hit, self._plan = [], None, plan
        self._counting = True

    def disarm(self) -> None:
        """Nothing fails any more, and nothing is counted."""
        self._counting, self._plan = False, None

    def kill(self) -> None:
        """Kill the program and its forks. Others that it runs, such as git, have to notice that by themselves."""
        for pid in [pid for pid, is_ours in list(self._processes.items()) if is_ours]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def join(self, seconds: float = 60.0) -> None:
        """Wait until the program and everything that it ran has ended."""
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                self.kill()
                self._thread.join()
                raise AssertionError(f"The traced program did not end within {seconds} s.")

    def _run(self, pid: int, machine: Machine) -> None:
        try:
            ptrace.control(ptrace.SEIZE, pid, 0, ptrace.OPTIONS)
            self._processes[pid] = True
        except OSError as error:
            self._refusal = error
            return
        finally:
            self._seized.set()
        with contextlib.suppress(ChildProcessError):
            while True:
                thread, status = os.waitpid(-1, ptrace.WALL | ptrace.NO_THREAD)
                if os.WIFSTOPPED(status):
                    with contextlib.suppress(Gone):
                        self._stopped(thread, status >> 8, machine)
                else:
                    self._processes.pop(thread, None)

    def _stopped(self, thread: int, reason: int, machine: Machine) -> None:
        number, event = reason & 0xFF, reason >> 8
        request, given = ptrace.CONT, 0
        if event == ptrace.EVENT_SECCOMP:
            request = self._at_call(thread, machine)
        elif event == ptrace.EVENT_STOP:
            self._is_our_program(_process_of(thread))
            request = ptrace.LISTEN if number in ptrace.GROUP_STOPS else ptrace.CONT
        elif event == ptrace.EVENT_EXEC:
            self._processes[thread] = _runs_python(thread)
        elif number == signal.SIGTRAP | 0x80:
            self.kill()  # a call was made that should be the last
        elif event == 0:
            given = number
        ptrace.control(request, thread, 0, given)

    def _at_call(self, thread: int, machine: Machine) -> int:
        process = _process_of(thread)
        if not self._counting or not (self._is_our_program(process) or self.others):
            return ptrace.CONT
        registers = Registers(thread, machine)
        call = self._described(process, registers)
        if call is None:
            return ptrace.CONT
        self.calls.append(call)
        return self._carry_out(call, registers)

    def _is_our_program(self, process: int) -> bool:
        if process not in self._processes:
            self._processes[process] = _runs_python(process)
        return self._processes[process]

    def _carry_out(self, call: Call, registers: Registers) -> int:
        plan = self._plan
        if isinstance(plan, Kill) and call.number == plan.number:
            self.hit = call
            if plan.after:
                _halve(call, registers)
                return ptrace.SYSCALL
            self.kill()
        elif isinstance(plan, Fail) and _is_meant(plan, call):
            self.hit = self.hit or call
            registers.fail(plan.error)
        return ptrace.CONT

    def _described(self, process: int, registers: Registers) -> Call | None:
        """The call, if it is about something below the folder."""
        name = _NAMES[registers.number]
        shape = ptrace.SHAPES[name]
        paths = [_link(f"/proc/{process}/fd/{_signed(registers.argument(at))}") for at in shape.descriptors]
        if shape.paths:
            paths += _paths(process, shape, registers)
        inside = [path for path in paths if path == self.folder or path.startswith(self.folder + "/")]
        if not inside:
            return None
        kind = shape.kind
        if shape.flags is not None and not registers.argument(shape.flags) & ptrace.WRITING:
            kind = "look"
        return Call(kind, name, inside[-1], len(self.calls) + 1)


def _halve(call: Call, registers: Registers) -> None:
    """Let a write take only a part of what it is given."""
    if call.name in ("write", "pwrite64"):
        registers.change(2, registers.argument(2) // 2)


def _is_meant(plan: Fail, call: Call) -> bool:
    lasts = plan.lasting and call.number > plan.number and call.kind in plan.kinds
    return call.number == plan.number or lasts


def _paths(process: int, shape: ptrace.Shape, registers: Registers) -> list[str]:
    try:
        memory = os.open(f"/proc/{process}/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        return [_path(process, memory, registers, folder, at) for folder, at in shape.paths]
    finally:
        os.close(memory)


def _path(process: int, memory: int, registers: Registers, folder: int | None, at: int) -> str:
    given = os.fsdecode(ptrace.text_at(memory, registers.argument(at)))
    descriptor = -1 if folder is None else _signed(registers.argument(folder))
    where = f"/proc/{process}/cwd" if descriptor < 0 else f"/proc/{process}/fd/{descriptor}"
    return os.path.normpath(os.path.join("" if given.startswith("/") else _link(where), given))


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _signed(value: int) -> int:
    """A descriptor as C sees it: only half of the register counts."""
    return (value & 0xFFFFFFFF) - ((value & 0x80000000) << 1)


def _runs_python(process: int) -> bool:
    """Is it the program itself, rather than git or whatever else it runs?"""
    return _link(f"/proc/{process}/exe") == _link("/proc/self/exe")


def _process_of(thread: int) -> int:
    try:
        with open(f"/proc/{thread}/status", "rb") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(b"Tgid:"))
    except OSError as error:
        raise Gone from error


def _line(channel: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        piece = channel.recv(1)
        if not piece:
            raise AssertionError("The program ended before it could be traced.")
        line += piece
    return line

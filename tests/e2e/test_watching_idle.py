"""A daemon that has nothing to do does nothing."""

import signal
import sys
import time
from pathlib import Path

import pytest

from support.live import Daemon, configure, live
from support.vitals import has_loaded_all
from support.watching import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's counters are Linux's")

WORKSPACES = 10
SECONDS = 4.0


def processor_seconds(process: int) -> float:
    """How long all threads of a process have run."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def wake_ups(process: int) -> dict[str, int]:
    """How often each thread of a process has gone to sleep."""
    counts = {}
    for task in Path(f"/proc/{process}/task").iterdir():
        line = next(
            line
            for line in (task / "status").read_text().splitlines()
            if line.startswith("voluntary_ctxt_switches")
        )
        counts[task.name] = int(line.split()[1])
    return counts


def test_an_idle_daemon_with_ten_workspaces_uses_no_processor_time(tmp_path: Path):
    """It runs all day on a laptop's battery: at most 0.1 % of a core, and no timer faster than a second."""
    roots = [tmp_path / f"work{number}" for number in range(WORKSPACES)]
    for root in roots:
        (root / "src").mkdir(parents=True)
        (root / "src" / "file").write_text("1")
    configure(tmp_path, quiet=0.05, patience=1.0)
    daemon = Daemon(tmp_path, *roots)
    settle(daemon.process)
    before, woken, start = processor_seconds(daemon.process), wake_ups(daemon.process), time.monotonic()
    time.sleep(SECONDS)  # a span to measure, not a wait for something
    spent, span = processor_seconds(daemon.process) - before, time.monotonic() - start
    woken = {task: count - woken.get(task, 0) for task, count in wake_ups(daemon.process).items()}
    print(f"{spent / span:.4%} of a core, {sum(woken.values())} wake-ups in {span:.1f} s")
    assert daemon.end(signal.SIGTERM) == 0
    assert spent / span < 0.002  # twice the bar: this span is short and the machine is shared
    assert max(woken.values()) <= SECONDS, "some timer is faster than a second"
    assert sum(woken.values()) <= WORKSPACES, "more than one wake-up in four seconds for each workspace"


def settle(process: int) -> None:
    """Until all is loaded, and nothing has woken for half a second."""
    eventually(lambda: has_loaded_all(process))

    def is_quiet() -> bool:
        before = wake_ups(process)
        time.sleep(0.5)
        return wake_ups(process) == before

    eventually(is_quiet)


def test_an_excluded_log_that_is_written_all_the_time_does_not_wake_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A server's log is excluded so that it costs nothing."""
    with live(tmp_path) as at:
        (at.root / ".gitignore").write_text("*.log\n")
        (at.root / "src").mkdir()
        (at.root / "src" / "file").write_text("1")
        at.wait_for_disk()
        worker = at.service.worker(at.id)
        steps = []
        step = worker._step
        monkeypatch.setattr(worker, "_step", lambda: (steps.append(1), step())[1])
        number = at.newest().number
        at.save()
        assert steps
        steps.clear()
        for line in range(300):
            with open(at.root / "src" / "server.log", "a") as file:
                file.write(f"{line}\n")
        assert at.hub.barrier(10)
        assert len(steps) <= 1  # the save may have woken it once more
        assert at.newest().number == number + 1

"""What a start of the daemon loads: nobody waits for what a start does not use."""

import subprocess
import sys
import threading

import pytest

from backtraild import app

_SELDOM = {
    "pygit2",
    "ssl",
    "tarfile",
    "asyncio",
    "email",
    "argparse",
    "backtraild.redaction.detectors",
    "backtraild.branching",
    "backtraild.mirroring",
}


def _imported_by(program: str) -> set[str]:
    told = f"import sys; {program}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_start_loads_neither_libgit2_nor_the_rules_for_secrets_nor_what_is_hardly_ever_asked_for():
    """They take a third of the start, and most starts find nothing to compare and nothing to clean."""
    imported = _imported_by("import backtraild.app")
    assert "backtraild.scan.scanner" in imported
    assert not imported & _SELDOM


def test_what_a_start_left_out_is_loaded_before_somebody_waits_for_it():
    """The first save must not take longer than the second."""
    imported = _imported_by("from backtraild import app; app.load_the_rest()")
    assert imported >= {"pygit2", "backtraild.redaction.detectors"}


class _Calm(threading.Event):
    """Nobody waits in vain: the time passes at once, and what was done until then is noted."""

    def __init__(self, done: list[str], *, ends: bool) -> None:
        super().__init__()
        self._done = done
        self._ends = ends

    def wait(self, timeout: float | None = None) -> bool:
        self._done.append(f"calm for {timeout} s")
        return self._ends


class _CaughtUp:
    """A service that has looked at everything."""

    def wait_until_caught_up(self, _: float) -> bool:
        return True

    def workspaces(self) -> list[object]:
        return []


@pytest.mark.parametrize("ends", [False, True])
def test_whoever_asks_at_once_does_not_wait_until_it_is_loaded(
    monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    """A command that has started the daemon asks as soon as everything has been looked at."""
    done: list[str] = []
    monkeypatch.setattr(app, "load_the_rest", lambda: done.append("loaded"))
    app._watch(_CaughtUp(), (), _Calm(done, ends=ends))  # type: ignore[arg-type]
    assert done == (["calm for 1.0 s"] if ends else ["calm for 1.0 s", "loaded"])

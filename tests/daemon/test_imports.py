"""What a start of the daemon loads: nobody waits for what a start does not use."""

import subprocess
import sys

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

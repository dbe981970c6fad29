"""The project's own source files, for tests that compare what is written down with what is there."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def daemon_sources() -> str:
    """All of the daemon's code."""
    return "\n".join(path.read_text() for path in sorted((ROOT / "daemon").rglob("*.py")))

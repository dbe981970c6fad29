"""The table of results: ours, the peer's, the ratio, the bar, and whether it was reached."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.peer import git_version

RESULTS = Path(__file__).parent / "RESULTS.md"


@dataclass(frozen=True, slots=True)
class Figure:
    """One bar of the project and what was measured for it."""

    name: str
    what: str
    ours: float
    peer: float
    peer_is: str
    ratio: str
    bar: str
    reached: bool

    def row(self) -> str:
        """The figure as a line of a Markdown table."""
        verdict = "reached" if self.reached else "**not reached**"
        ours, peer = _duration(self.ours), _duration(self.peer)
        return (
            f"| {self.name} | {self.what} | {ours} | {peer} ({self.peer_is})"
            f" | {self.ratio} | {self.bar} | {verdict} |"
        )


def at_least(name: str, what: str, ours: float, peer: float, peer_is: str, times: float) -> Figure:
    """A bar of the kind "so many times faster than the peer"."""
    faster = peer / ours
    return Figure(
        name, what, ours, peer, peer_is, f"{faster:.1f} × faster", f"≥ {times:g} ×", faster >= times
    )


def at_most(name: str, what: str, ours: float, peer: float, peer_is: str, times: float) -> Figure:
    """A bar of the kind "no more than so many times the peer"."""
    share = ours / peer
    return Figure(name, what, ours, peer, peer_is, f"{share:.2f} ×", f"≤ {times:g} ×", share <= times)


def publish(figures: Sequence[Figure], files: int) -> str:
    """Write the results down, reached or not; the text that was written."""
    text = "\n".join(
        [
            "# Results",
            "",
            f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {platform.system()} {platform.machine()},"
            f" Python {platform.python_version()}, {git_version()}; {files:,} files unless said otherwise.",
            "Written by `make bench`. Both sides of a row were measured in the same run on the same tree.",
            "",
            "| bar | what | Backtrail | peer | ratio | wanted | |",
            "|---|---|---|---|---|---|---|",
            *(figure.row() for figure in figures),
            "",
        ]
    )
    RESULTS.write_text(text)
    return text


def _duration(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.2f} ms"

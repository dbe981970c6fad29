"""How far a run is: a line for each campaign that changes in place on a terminal, now and then a line elsewhere."""

import time
from collections.abc import Callable, Sequence
from typing import TextIO

from torture.ledger import Standing
from torture.report import duration, rounds, verdict

_EVERY = 30.0  # seconds between two lines where there is no terminal


class Progress:
    """Tells a stream where all campaigns stand."""

    def __init__(self, stream: TextIO, standings: Callable[[], Sequence[Standing]]) -> None:
        self._stream, self._standings = stream, standings
        self._lines = 0
        self._told = time.monotonic()

    def tell(self) -> None:
        """Called often; writes when there is a reason to."""
        now = time.monotonic()
        if self._stream.isatty():
            self._redraw()
        elif now - self._told >= _EVERY:
            self._told = now
            print(
                "; ".join(_brief(standing) for standing in self._standings()), file=self._stream, flush=True
            )

    def _redraw(self) -> None:
        lines = [_line(standing) for standing in self._standings()]
        up = f"\033[{self._lines}A" if self._lines else ""
        self._stream.write(up + "".join(f"\033[K{line}\n" for line in lines))
        self._stream.flush()
        self._lines = len(lines)


def _line(standing: Standing) -> str:
    failed = "" if verdict(standing) in ("0", "not run") else f"  {verdict(standing).strip('*')} failed"
    if standing.unable and not standing.done:
        failed = "  not possible here"
    return f"{standing.campaign.name:<24} {rounds(standing):>16} {duration(standing.seconds):>8}{failed}"


def _brief(standing: Standing) -> str:
    failed = f", {len(standing.failures)} failed" if standing.failures else ""
    return f"{standing.campaign.name} {rounds(standing)}{failed}"

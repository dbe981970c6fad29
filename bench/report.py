"""The table of results: ours, the peer's, the ratio, the bar, and whether it was reached."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import wrap

from bench.figure import Figure, Sense, Unit
from bench.machine import MEGABYTE
from bench.results import Results
from bench.sample import Sample

HEAD = (
    "| bar | what | files | Backtrail | peer | ratio | wanted | | load | stolen |",
    "|---|---|---|---|---|---|---|---|---|---|",
)
WIDTH = 118

_METHOD = (
    "The load of a row is that of the minute before it was begun; the run itself adds about 1. "
    "Stolen is the part of what was wanted of the processors that others on the same host got while the figure was "
    "measured; a start and a first snapshot, which keep all of them busy, suffer most. Both sides of a row were "
    "measured in the same run, in turns, on the same tree, ours through the client and a daemon, installed as users "
    "install it. Medians, unless said otherwise; in brackets the smallest and the largest of all n repetitions, of "
    "which none is left out. The samples are in `results.json`. What Backtrail acknowledges is on the disk; most peers "
    "leave that to the system. Before a peer's turn Backtrail rests for 20 ms, in which it does what it leaves until "
    "nobody waits, such as the rest of a save's syncs; the last row of P1 is without such rests. Everybody finds the "
    "tree in memory when its first snapshot is made."
)
_UNREACHED = "**not reached**"


def document(results: Results) -> str:
    """The whole text, as Markdown."""
    return "\n".join(
        [
            "# Results",
            "",
            *_introduction(results),
            "",
            *HEAD,
            *map(row, results.figures),
            "",
            "![How cost grows with the size of the tree](growth.svg)",
            *_absent(results.absent),
            "",
        ]
    )


def row(figure: Figure) -> str:
    """A figure as a line of the table."""
    verdict = {None: "", True: "reached", False: _UNREACHED}[figure.reached]
    note = f" ({figure.note})" if figure.note else ""
    stolen = "–" if figure.stolen is None else f"{figure.stolen:.0%}"
    ours = figure.failure or _cell(figure, figure.ours, figure.quantile)
    return (
        f"| {figure.name} | {figure.what}{note} | {figure.files:,} | {ours}"
        f" | {_peer(figure)} | {ratio(figure)} | {wanted(figure)} | {verdict} | {figure.load:.1f} | {stolen} |"
    )


def missed(figures: Sequence[Figure]) -> list[str]:
    """The bars that were not reached, in words."""
    return [
        f"{figure.name}, {figure.what}: {_gap(figure)}{f' ({figure.peer_is})' if figure.peer_is else ''}"
        for figure in figures
        if figure.reached is False
    ]


def _introduction(results: Results) -> Iterator[str]:
    loads = sorted(figure.load for figure in results.figures)
    span = f"{loads[0]:.1f}–{loads[-1]:.1f}" if loads else "0"
    yield from wrap(f"{results.day}, {results.machine}; {', '.join(results.versions.values())}.", WIDTH)
    yield ""
    yield from wrap(f"Written by `make bench`. Measured under load {span}. {_METHOD}", WIDTH)
    if results.kept:
        yield from ("", f"{', '.join(results.kept)}: of an earlier run.")


def _absent(absent: Mapping[str, str]) -> Iterator[str]:
    if absent:
        yield from ("", "## Not measured", "")
        yield from (f"- {name}: {reason}" for name, reason in absent.items())


def _peer(figure: Figure) -> str:
    return f"{_cell(figure, figure.peer, 0.5)} ({figure.peer_is})" if figure.peer else "–"


def _cell(figure: Figure, found: Sample | None, quantile: float) -> str:
    if found is None:
        return "–"
    tell = _TELL[figure.unit]
    value = tell(found.at(quantile))
    if len(found.values) == 1:
        return value
    return f"{value} ({tell(found.low)} – {tell(found.high)}, n {len(found.values)})"


def told(figure: Figure, value: float | None) -> str:
    """A value of a figure with its unit."""
    return "–" if value is None else _TELL[figure.unit](value)


def ratio(figure: Figure) -> str:
    """How ours compares with the peer's, in words."""
    if figure.ratio is None:
        return "–"
    if figure.bar is not None:
        is_faster = figure.bar.sense is Sense.FASTER
        return f"{figure.ratio:,.1f} × faster" if is_faster else f"{figure.ratio:,.3g} ×"
    word = "smaller" if figure.unit is Unit.BYTES else "faster"
    return f"{1 / figure.ratio:,.1f} × {word}" if figure.ratio < 1 else f"{figure.ratio:,.3g} ×"


def wanted(figure: Figure) -> str:
    """The bar, in words."""
    bar = figure.bar
    if bar is None:
        return "–"
    if bar.sense is Sense.VALUE:
        return f"≤ {_TELL[figure.unit](bar.limit)}"
    return f"{'≥' if bar.sense is Sense.FASTER else '≤'} {bar.limit:g} ×"


def _gap(figure: Figure) -> str:
    if figure.failure:
        return figure.failure
    is_value = figure.bar is not None and figure.bar.sense is Sense.VALUE
    found = _TELL[figure.unit](figure.value or 0) if is_value else ratio(figure)
    return f"{found}, wanted {wanted(figure)}"


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if abs(value) >= 1 else f"{value * 1000:.2f} ms"


def _bytes(value: float) -> str:
    return f"{value / MEGABYTE:,.1f} MB"


def _share(value: float) -> str:
    return f"{value:.3f} %"


def _count(value: float) -> str:
    return f"{value:,.0f}"


_TELL: Mapping[Unit, Callable[[float], str]] = {
    Unit.SECONDS: _seconds,
    Unit.BYTES: _bytes,
    Unit.SHARE: _share,
    Unit.COUNT: _count,
}

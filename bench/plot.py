"""The plot of how cost grows with the size of the tree: one panel a curve, both axes logarithmic, as SVG."""

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import groupby

from bench.growth import Point

WIDTH, HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 62, 40, 44, 36
COLUMNS = 2
OURS, PEER, GRID, TEXT = "#1f6feb", "#9a6700", "#d8dee4", "#1f2328"
FONT = "font-family='system-ui, sans-serif'"

Scale = Callable[[float], float]


def drawn(points: Sequence[Point]) -> str:
    """The whole picture."""
    curves = [list(group) for _, group in groupby(points, key=lambda point: point.curve)]
    rows = -(-len(curves) // COLUMNS)
    width, height = COLUMNS * WIDTH, max(1, rows) * HEIGHT
    panels = [
        f'<g transform="translate({index % COLUMNS * WIDTH} {index // COLUMNS * HEIGHT})">\n'
        + "\n".join(_panel(curve))
        + "\n</g>"
        for index, curve in enumerate(curves)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-size="12" {FONT} fill="{TEXT}">',
            f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
            *panels,
            "</svg>\n",
        ]
    )


def _panel(curve: Sequence[Point]) -> Iterator[str]:
    values = [value for point in curve for value in (point.ours, point.peer) if value]
    across = _scale([point.files for point in curve], LEFT, WIDTH - RIGHT)
    up = _scale(values, HEIGHT - BOTTOM, TOP)
    yield f'<text x="{LEFT}" y="20" font-weight="600">{escape(curve[0].curve)}</text>'
    yield from _key(curve[0])
    for value in _decades(values):
        told = _told(value, curve[0].unit)
        yield _line(LEFT, up(value), WIDTH - RIGHT, up(value))
        yield f'<text x="{LEFT - 6}" y="{up(value) + 4:.1f}" text-anchor="end">{told}</text>'
    for point in curve:
        x = across(point.files)
        yield _line(x, TOP, x, HEIGHT - BOTTOM)
        yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{_count(point.files)}</text>'
    yield from _curve([(across(point.files), up(point.peer)) for point in curve if point.peer], PEER)
    yield from _curve([(across(point.files), up(point.ours)) for point in curve], OURS)


def _key(point: Point) -> Iterator[str]:
    yield f'<text x="{LEFT}" y="36" fill="{OURS}">Backtrail</text>'
    if point.peer_is:
        yield f'<text x="{LEFT + 66}" y="36" fill="{PEER}">{escape(point.peer_is)}</text>'


def _curve(places: Sequence[tuple[float, float]], colour: str) -> Iterator[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for x, y in places:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{GRID}"/>'


def _scale(values: Sequence[float], start: float, end: float) -> Scale:
    """From the decade below the smallest to the one above the largest; from edge to edge where these are the same."""
    low, high = (math.log10(value) for value in (min(_decades(values)), max(_decades(values))))
    return lambda value: start + (end - start) * (math.log10(value) - low) / (high - low)


def _decades(values: Sequence[float]) -> list[float]:
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


def _told(value: float, unit: str) -> str:
    if unit == "bytes":
        return f"{value / 10**6:g} MB"
    return f"{value * 1000:g} ms" if value < 1 else f"{value:g} s"


def _count(files: int) -> str:
    return f"{files:,}"

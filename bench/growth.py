"""How cost grows with the size of the tree: points of curves, ours and the peer's."""

import msgspec


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One cost at one size."""

    curve: str
    unit: str
    files: int
    ours: float
    peer: float | None = None
    peer_is: str = ""


class Growth:
    """The points of all curves; a size that is measured again replaces what it was."""

    def __init__(self, points: tuple[Point, ...] = ()) -> None:
        self._points = {(point.curve, point.files): point for point in points}

    def add(self, point: Point) -> None:
        """One more point."""
        self._points[point.curve, point.files] = point

    @property
    def points(self) -> tuple[Point, ...]:
        """All of them, curve by curve, the small trees first."""
        order = list(dict.fromkeys(curve for curve, _ in self._points))
        return tuple(sorted(self._points.values(), key=lambda each: (order.index(each.curve), each.files)))

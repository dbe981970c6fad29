"""What was measured, as it is kept: a run that measures some figures replaces those and leaves the others."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.json import encode

from bench.figure import Figure
from bench.growth import Growth, Point

FILE = "results.json"


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the report and the plot are made of."""

    day: str
    machine: str
    versions: dict[str, str]
    absent: dict[str, str]
    figures: tuple[Figure, ...]
    growth: tuple[Point, ...]
    kept: tuple[str, ...] = ()  # the figures of an earlier run, perhaps of earlier code

    def on_top_of(self, before: "Results", order: Sequence[str]) -> "Results":
        """With the figures of an earlier run where this one did not measure, in the order of their names."""
        measured = {figure.name for figure in self.figures}
        kept = [figure for figure in before.figures if figure.name not in measured and figure.name in order]
        growth = Growth(before.growth)
        for point in self.growth:
            growth.add(point)
        figures = sorted([*kept, *self.figures], key=lambda figure: order.index(figure.name))
        versions = {**before.versions, **self.versions}
        absent = {name: why for name, why in before.absent.items() if name not in self.versions}
        return msgspec.structs.replace(
            self,
            figures=tuple(figures),
            kept=tuple(name for name in order if any(figure.name == name for figure in kept)),
            growth=growth.points,
            versions=versions,
            absent={**absent, **self.absent},
        )


def read(folder: Path) -> Results | None:
    """What an earlier run left, if this version can read it."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=Results)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def write(results: Results, folder: Path) -> None:
    """Keep them."""
    lines = [
        b"%s:%s" % (encode(name), _one_a_line(value) if isinstance(value, tuple) else encode(value))
        for name, value in msgspec.structs.asdict(results).items()
    ]
    (folder / FILE).write_bytes(b"{\n%s\n}\n" % b",\n".join(lines))


def _one_a_line(values: Sequence[object]) -> bytes:
    """As JSON of which people can see what changed."""
    return b"[\n%s\n]" % b",\n".join(map(encode, values))

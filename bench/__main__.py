"""`make bench`: measures everything, prints the rows as they come, writes the table, the samples and the plot."""

import argparse
import signal
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench import headline, machine, plot, report, results
from bench.course import Course
from bench.effort import Effort
from bench.figures import FIGURES
from bench.ours import compile_as_installed
from bench.peers import OTHERS
from bench.results import Results
from bench.running import measured

FILES = 100_000
SIZES = (1_000, 10_000, 100_000)
MILLION = 1_000_000
MINUTES = 40.0
HERE = Path(__file__).parent


def main() -> int:
    """The exit status tells whether everything could be measured, not whether the bars were reached."""
    arguments = _arguments()
    names = chosen(arguments.only)
    sizes = arguments.sizes or [size for size in SIZES if size < arguments.files]
    sizes = [*sizes, MILLION] if arguments.million else sizes
    seconds = float("inf") if arguments.million else arguments.minutes * 60
    compile_as_installed()
    folder = Path(tempfile.mkdtemp(prefix="backtrail-bench-"))
    course = Course(folder, arguments.files, sizes, OTHERS, Effort())
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # daemons were started, and are ended
    try:
        found = run(course, names, seconds)
    finally:
        course.close()
    found = publish(found, arguments.out)
    if arguments.out == HERE:
        headline.put_into(HERE.parent / "README.md", found)
    return 1 if any(figure.failure for figure in found.figures) else 0


def run(course: Course, names: Sequence[str], seconds: float) -> Results:
    """Measure, telling each row."""
    described = machine.described(course.folder)
    print(*report.HEAD, sep="\n", flush=True)
    figures = []
    try:
        for figure in measured(course, FIGURES, names, seconds, _say):
            print(report.row(figure), flush=True)
            figures.append(figure)
    except KeyboardInterrupt:
        _say("Interrupted. What was measured is kept; ONLY picks the rest.")
    return Results(
        day=f"{datetime.now(UTC):%Y-%m-%d}",
        machine=described,
        versions=course.versions,
        absent=course.lost(),
        figures=tuple(figures),
        growth=course.growth.points,
    )


def publish(found: Results, folder: Path) -> Results:
    """Write everything down, reached or not. What a run in parts left out stays, and is returned too."""
    before = results.read(folder)
    is_whole = {figure.name for figure in found.figures} == set(FIGURES)
    if before is not None and not is_whole:
        found = found.on_top_of(before, list(FIGURES))
    folder.mkdir(parents=True, exist_ok=True)
    results.write(found, folder)
    (folder / "growth.svg").write_text(plot.drawn(found.growth))
    (folder / "RESULTS.md").write_text(report.document(found))
    for line in (
        *(f"Absent: {name}: {reason}" for name, reason in found.absent.items()),
        *report.missed(found.figures),
    ):
        print(line)
    print(f"Written to {folder}.")
    return found


def chosen(only: str) -> list[str]:
    """The figures that are asked for, in order; all of them if none is."""
    wanted = {word.casefold() for word in only.split()}
    unknown = wanted - {name.casefold() for name in FIGURES}
    if unknown:
        sys.exit(f"bench: no figure is called {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}.")
    return [name for name in FIGURES if not wanted or name.casefold() in wanted]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--files", type=int, default=FILES, help="size of the main tree")
    parser.add_argument("--only", default="", metavar="NAMES", help=f"of {', '.join(FIGURES)}")
    parser.add_argument("--sizes", type=_sizes, help="other trees, to see how cost grows")
    parser.add_argument(
        "--million", action="store_true", help="also a tree of 1,000,000 files, which takes long"
    )
    parser.add_argument("--minutes", type=float, default=MINUTES, help="begin no figure after this time")
    parser.add_argument("--out", type=Path, default=HERE, help="where to write the results")
    return parser.parse_args()


def _sizes(text: str) -> list[int]:
    return [int(word.replace(",", "").replace("_", "")) for word in text.split()]


if __name__ == "__main__":
    sys.exit(main())

"""`make bench`: measure everything, print the table, write RESULTS.md."""

import argparse
import shutil
import tempfile
from pathlib import Path

from bench.library import figures
from bench.report import publish


def main() -> None:
    """Measure in a temporary folder that is gone afterwards."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--files", type=int, default=100_000, help="size of the large tree")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="backtrail-bench-"))
    try:
        measured = []
        for figure in figures(folder, arguments.files):
            print(figure.row(), flush=True)
            measured.append(figure)
        print(publish(measured, arguments.files))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

"""The few figures that the README shows, and the way they get there: its table is never typed."""

from pathlib import Path

from bench import report
from bench.figure import Figure
from bench.results import Results

BEGIN, END = "<!-- written by make bench -->", "<!-- end -->"
HEAD = ("| | files | Backtrail | peer | | bar |", "|---|---|---|---|---|---|")


def put_into(readme: Path, results: Results) -> None:
    """Replace what stands between the two marks."""
    before, _, rest = readme.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    readme.write_text(f"{before}{table(results)}{after}")


def table(results: Results) -> str:
    """Every figure that has a bar, reached or not, and the marks around them."""
    rows = (_row(figure) for figure in results.figures if figure.bar is not None)
    return "\n".join([BEGIN, *HEAD, *rows, END])


def _row(figure: Figure) -> str:
    peer = f"{report.told(figure, figure.peers_value)} ({figure.peer_is})" if figure.peer else "–"
    ours = figure.failure or report.told(figure, figure.value)
    verdict = "reached" if figure.reached else "**missed**"
    return (
        f"| {figure.name} {figure.what} | {figure.files:,} | {ours} | {peer} | {report.ratio(figure)} "
        f"| {report.wanted(figure)}: {verdict} |"
    )

"""The bar that is drawn while the daemon works."""

import contextlib
import io
import re
from collections.abc import Iterator
from typing import Any

import pytest

from backtrail.cli.characters import width
from backtrail.cli.progress import ProgressBar
from support.answers import event
from support.pseudoterminal import Pseudoterminal, pseudoterminal

ERASED = "\r\x1b[K"


@pytest.fixture(autouse=True)
def _real_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def terminal() -> Iterator[Pseudoterminal]:
    with pseudoterminal(columns=80) as found:
        yield found


def drawn_line(terminal: Pseudoterminal, **data: Any) -> str:
    """What a fresh bar shows for one event."""
    bar = ProgressBar(terminal.stream, "Baseline")
    bar(event("progress", **{"phase": "looking", "unit": "files", **data}))
    return terminal.drawn().removeprefix(ERASED)


def test_a_known_total_gives_a_bar_with_percent_and_count(terminal: Pseudoterminal) -> None:
    """I see how long I will have to wait."""
    line = drawn_line(terminal, done=420, total=1000)
    assert re.fullmatch(r"Baseline: looking  █{12}[▏▎▍▌▋▊▉]? {16,18}   42%  420 of 1,000 files", line), line


def test_an_unknown_total_gives_a_counter_that_moves(terminal: Pseudoterminal) -> None:
    """I see that it is not stuck."""
    times = iter((0.0, 1.0))
    bar = ProgressBar(terminal.stream, "Baseline", clock=lambda: next(times))
    marks = []
    for done in (1200, 1300):
        bar(event("progress", phase="looking", done=done, total=None, unit="files"))
        line = terminal.drawn().removeprefix(ERASED)
        assert line.endswith(f"Baseline: looking  {done:,} files")
        marks.append(line[0])
    assert marks[0] != marks[1]


def test_it_is_drawn_at_most_ten_times_a_second(terminal: Pseudoterminal) -> None:
    """Drawing must not slow down what it shows, nor flicker."""
    times = iter(number / 100 for number in range(101))
    bar = ProgressBar(terminal.stream, "Baseline", clock=lambda: next(times))
    for done in range(101):
        bar(event("progress", done=done, total=100, unit="files"))
    assert 9 <= terminal.drawn().count(ERASED) <= 11


def test_it_erases_itself_also_when_the_work_fails(terminal: Pseudoterminal) -> None:
    """The result, or the error, begins on a clean line."""
    with contextlib.suppress(KeyboardInterrupt), ProgressBar(terminal.stream, "Baseline") as bar:
        bar(event("progress", done=1, total=2, unit="files"))
        raise KeyboardInterrupt
    assert terminal.drawn().endswith(f"1 of 2 files{ERASED}")


def test_work_without_news_leaves_no_trace(terminal: Pseudoterminal) -> None:
    """A quick command draws nothing at all."""
    with ProgressBar(terminal.stream, "Baseline"):
        pass
    assert terminal.drawn() == ""


@pytest.mark.parametrize("columns", [1, 2, 5, 12, 24, 40, 60, 200])
@pytest.mark.parametrize("total", [None, 1_000_000])
def test_it_never_fills_the_line(columns: int, total: int | None) -> None:
    """A line that wraps could not be drawn over, and a narrow window would fill with bars."""
    with pseudoterminal(columns=columns) as terminal:
        line = drawn_line(terminal, done=999_999, total=total)
        assert width(line) <= max(columns - 1, 1)


def test_the_window_may_change_its_size_meanwhile(terminal: Pseudoterminal) -> None:
    """The next line fits the new size."""
    times = iter((0.0, 1.0))
    bar = ProgressBar(terminal.stream, "Baseline", clock=lambda: next(times))
    bar(event("progress", done=1, total=2, unit="files"))
    wide = terminal.drawn().removeprefix(ERASED)
    terminal.resize(30, 24)
    bar(event("progress", done=1, total=2, unit="files"))
    assert width(terminal.drawn().removeprefix(ERASED)) < 30 < width(wide)


@pytest.mark.parametrize(
    "data", [{}, {"done": "many", "total": "all"}, {"done": 7, "total": 0}, {"done": 20, "total": 10}]
)
def test_odd_news_do_not_end_the_command(terminal: Pseudoterminal, data: dict[str, Any]) -> None:
    """A newer daemon may say things this client has never heard of."""
    assert "Baseline" in drawn_line(terminal, **data)


def test_nothing_is_drawn_where_nobody_looks(
    terminal: Pseudoterminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log file has no use for bars, and a dumb terminal can't erase them."""
    stream = io.StringIO()
    with ProgressBar(stream, "Baseline") as bar:
        bar(event("progress", done=1, total=2, unit="files"))
    assert stream.getvalue() == ""
    monkeypatch.setenv("TERM", "dumb")
    assert drawn_line(terminal, done=1, total=2) == ""


def test_a_hostile_unit_sends_nothing_to_the_terminal(terminal: Pseudoterminal) -> None:
    """Also what a daemon says is shown, not obeyed."""
    assert "\x1b" not in drawn_line(terminal, done=1, total=2, unit="\x1b[2J")

"""What a stream leads to, and a question to whoever sits there."""

import io
import os
import sys

import pytest

from backtrail.cli.terminal import Screen, wants_colour
from support.answers import screen
from support.pseudoterminal import pseudoterminal, run_python

ASK = """
import sys
from backtrail.cli.terminal import ask
print("answered", [ask("Restore 3 files?") for _ in range(int(sys.argv[1]))])
"""


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.parametrize(
    ("choice", "terminal", "environment", "painted"),
    [
        ("auto", True, {"TERM": "xterm"}, True),
        ("auto", True, {}, True),
        ("auto", False, {"TERM": "xterm"}, False),
        ("auto", True, {"TERM": "dumb"}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": ""}, True),
        ("auto", False, {"FORCE_COLOR": "1"}, True),
        ("auto", False, {"FORCE_COLOR": "0"}, False),
        ("auto", True, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("always", False, {"NO_COLOR": "1", "TERM": "dumb"}, True),
        ("never", True, {"FORCE_COLOR": "1"}, False),
    ],
)
def test_who_decides_about_colours(
    choice: str, terminal: bool, environment: dict[str, str], painted: bool
) -> None:
    """What I say on the command line counts most, then what I said for all programs, then common sense."""
    assert wants_colour(choice, terminal, environment) is painted


def test_a_terminal_is_measured() -> None:
    """Rows end where my window ends."""
    with pseudoterminal(columns=97) as terminal:
        found = Screen.of(terminal.stream)
    assert (found.width, found.terminal, found.colour, found.unicode) == (97, True, True, True)


def test_a_terminal_that_does_not_know_its_size_is_taken_for_a_common_one() -> None:
    """Serial lines and some containers say 0 columns."""
    with pseudoterminal(columns=0) as terminal:
        assert Screen.of(terminal.stream).width == 80


def test_a_pipe_gets_whole_lines_without_colours() -> None:
    """`backtrail list | grep` must find what is at the end of a long message."""
    found = Screen.of(io.StringIO())
    assert (found.terminal, found.colour, found.width) == (False, False, 80)
    assert found.cut("x" * 300, 10) == found.cut_path("x" * 300, 10) == "x" * 300


def test_columns_can_be_set_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the output is shown by another program, that one knows how wide it is."""
    monkeypatch.setenv("COLUMNS", "43")
    assert (Screen.of(io.StringIO()).width, Screen.of(io.StringIO()).terminal) == (43, True)
    monkeypatch.setenv("COLUMNS", "wide")
    assert Screen.of(io.StringIO()).width == 80


def test_signs_that_the_stream_cannot_write_become_plain_ones() -> None:
    """On an old terminal a minus is a hyphen, not a question mark."""
    latin = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    assert not Screen.of(latin).unicode
    assert screen(unicode=False).sign("−3 … ● → ★ 3–5 ·").isascii()
    assert screen(unicode=True).sign("−3 …") == "−3 …"


def test_paint_leaves_nothing_behind() -> None:
    """The prompt after the output has its own colour again."""
    assert screen(colour=True).paint("x", "bold", "green") == "\x1b[1;32mx\x1b[0m"
    assert screen(colour=True).paint("", "bold") == ""
    assert screen(colour=True).paint("  ", "bold") == "  "
    assert screen(colour=False).paint("x", "bold", "green") == "x"


def test_folders_at_home_are_written_as_their_owner_writes_them() -> None:
    """Short, and without a hidden escape sequence."""
    assert screen().folder("/home/ann/project") == "~/project"
    assert screen().folder("/home/ann") == "~"
    assert screen().folder("/home/anna") == "/home/anna"
    assert screen(home="/").folder("/etc") == "/etc"
    assert screen().folder("/home/ann/\x1b[2J") == "~/\\x1b[2J"


def test_only_a_clear_yes_is_a_yes() -> None:
    """Enter, Ctrl-D or a typing mistake must not overwrite my files."""
    answers = {"y\n": True, " YES \n": True, "\n": False, "n\n": False, "yup\n": False, "\x04": False}
    status, drawn = run_python(ASK, str(len(answers)), environment={}, typed="".join(answers))
    assert status == 0
    assert drawn.count("Restore 3 files? [y/N] ") == len(answers)
    assert f"answered {list(answers.values())}" in drawn


def test_a_question_goes_to_stderr(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """stdout is for results, even while I am asked."""
    from backtrail.cli.terminal import ask, can_ask

    with open(os.devnull, encoding="ascii") as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert not ask("Really?")
        assert not can_ask()
    assert capsys.readouterr() == ("", "Really? [y/N] \n")

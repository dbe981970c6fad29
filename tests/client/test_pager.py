"""Long texts through a pager, on a real terminal."""

import os
import signal
from pathlib import Path

import pytest

from backtrail.cli.pager import chosen
from support.pseudoterminal import pseudoterminal, run_python, start_python
from support.watching import eventually

SHOW = """
import sys
from backtrail.cli.pager import show
show("".join(f"line {number}\\n" for number in range(int(sys.argv[1]))))
print("after")
"""


@pytest.fixture(autouse=True)
def _no_pager_of_mine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PAGER", "LESS", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def paged(lines: int, pager: str) -> tuple[int, str]:
    return run_python(SHOW, str(lines), environment={"BACKTRAIL_PAGER": pager}, columns=80, lines=24)


def test_a_long_text_goes_through_the_chosen_pager() -> None:
    """I chose that pager for a reason."""
    status, drawn = paged(100, "sed s/^/paged:/")
    assert status == 0
    assert drawn.count("paged:line") == 100
    assert drawn.endswith("after\n")


@pytest.mark.parametrize(("lines", "is_paged"), [(22, False), (23, False), (24, True)])
def test_a_text_that_fits_with_the_prompt_is_simply_written(lines: int, is_paged: bool) -> None:
    """Nobody wants to leave a pager after three lines."""
    assert ("paged:line" in paged(lines, "sed s/^/paged:/")[1]) is is_paged


def test_a_pager_that_is_quit_early_is_no_error() -> None:
    """I have seen enough."""
    status, drawn = paged(50_000, "head -n 1")
    assert (status, drawn) == (0, "line 0\nafter\n")


def test_without_the_pager_the_text_is_still_shown() -> None:
    """A typing mistake in a start-up file must not hide my history."""
    status, drawn = paged(100, "no-such-pager --quickly")
    assert status == 0
    assert drawn.count("line ") == 100


def test_control_c_belongs_to_the_pager(tmp_path: Path) -> None:
    """In a pager it ends a search; the command behind it must not fall over."""
    ready = tmp_path / "ready"
    pager = f"trap 'echo interrupted; exit 0' INT; touch {ready}; while :; do sleep 0.01; done"
    with pseudoterminal() as terminal:
        process = start_python(SHOW, ["100"], {"BACKTRAIL_PAGER": pager}, terminal)
        eventually(ready.exists)
        terminal.type("\x03")
        drawn = terminal.drawn_until_closed()
        assert process.wait(30) == 0
    assert "interrupted\n" in drawn
    assert drawn.endswith("after\n")
    assert "Traceback" not in drawn


def test_afterwards_control_c_is_the_commands_own_again(tmp_path: Path) -> None:
    """Paging must not leave me with a command that can't be ended."""
    code = SHOW + "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    assert run_python(code, "100", environment={"BACKTRAIL_PAGER": "cat >/dev/null"})[0] == -signal.SIGINT


def test_less_shows_colours_and_leaves_by_itself() -> None:
    """Unless I configured it otherwise."""
    assert "[FRX]" in paged(100, 'echo "[$LESS]"')[1]
    mine = {"BACKTRAIL_PAGER": 'echo "[$LESS]"', "LESS": "i"}
    assert "[i]" in run_python(SHOW, "100", environment=mine)[1]


def test_which_pager_is_chosen(tmp_path: Path) -> None:
    """The most specific wish counts; an empty one means none."""
    less = tmp_path / "less"
    less.write_text("")
    less.chmod(0o755)
    here = {"PATH": f"/nowhere{os.pathsep}{tmp_path}"}
    assert chosen(here) == "less"
    assert chosen({"PATH": "/nowhere"}) is None
    assert chosen({**here, "TERM": "dumb"}) is None
    assert chosen({**here, "PAGER": "most -s"}) == "most -s"
    assert chosen({**here, "PAGER": "most", "BACKTRAIL_PAGER": "bat"}) == "bat"
    assert chosen({**here, "PAGER": "most", "BACKTRAIL_PAGER": ""}) is None
    assert chosen({**here, "PAGER": "cat"}) is None

"""What the README tells people to type is typed here."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from backtrail.errors import BacktrailError
from backtraild.config import read_config
from backtraild.model import WorkspaceConfig
from support.sources import ROOT
from support.terminal import Terminal
from support.watching import eventually

README = (ROOT / "README.md").read_text()
PROGRAMS = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.fixture
def newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the README's examples assume to be typed: beside a folder called project, with `backtrail` on PATH."""
    (tmp_path / "project" / "src").mkdir(parents=True)
    (tmp_path / "project" / "src" / "app.py").write_text("print('hello')\n")
    monkeypatch.setenv("BACKTRAIL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PATH", f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}")
    yield tmp_path
    subprocess.run(["backtrail", "daemon", "stop"], capture_output=True, check=False)


def typed(script: str, folder: Path) -> str:
    """What a script prints; one that fails fails the test."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_shell_block_works_in_the_order_they_are_shown(newcomer: Path):
    """A newcomer copies them; one that fails is the last thing they try."""
    setting_up, everyday, conversing, recovery = blocks("sh")
    assert [line.split()[:2] for line in setting_up.splitlines()] == [["make", "run"], ["make", "test"]]

    said = typed(everyday, newcomer)
    assert "print('hello')" in said
    assert '+print("oops")' in said
    assert "Everything is in order." in said
    assert said.count("Restored checkpoint") >= 2  # one file of it, and the undo

    said = typed(conversing, newcomer)
    assert said.count("greet the user") >= 3
    assert (newcomer / "project" / "src" / "app.py").read_text() == 'print("welcome")\n'
    assert (newcomer / "second-try" / "src" / "app.py").read_text() == 'print("welcome")\n'

    typed("backtrail daemon stop", newcomer)  # the daemon is gone
    said = typed(recovery, newcomer)
    assert "before the agent" in said
    assert "src/app.py" in said
    assert (newcomer / "recovered" / "src" / "app.py").read_text() == "print('hello')\n"


def test_the_python_example_works(newcomer: Path):
    """Three lines are what a framework wants to need."""
    (example,) = blocks("python")
    (newcomer / "project" / "app.py").write_text("print('hello')\n")
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=newcomer, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "-print('hello')\n+oops" in done.stdout
    assert "checkpoint_restored" in done.stdout
    assert (newcomer / "project" / "app.py").read_text() == "oops"


def test_the_transcript_is_what_people_will_see(newcomer: Path):
    """Somebody who sees something else than was promised wonders what they did wrong."""
    (watching, using) = blocks("console")
    project = newcomer / "project"
    (project / "README.md").write_text("# Shop\n")
    (project / "src" / "app.py").write_text("from prices import total\n\nprint(total([3, 4]))\n")
    (project / "src" / "prices.py").write_text("def total(prices):\n    return sum(prices)\n")
    assert typed("cd project && backtrail watch .", newcomer) == watching.split("watch .\n")[1]
    (project / "src" / "prices.py").unlink()
    (project / "src" / "app.py").write_text('print("rewritten")\n')
    eventually(lambda: "auto" in typed("cd project && backtrail list", newcomer))
    command = ["backtrail", "restore", "1", "src/prices.py"]
    with Terminal(command, project, os.environ) as terminal:
        terminal.wait_for("[y/N]")
        terminal.type("y\n")
        assert terminal.end() == 0
    seen = (
        typed("cd project && backtrail list -n 5", newcomer).splitlines()[-2:] + terminal.plain().splitlines()
    )
    assert [untimed(line) for line in using.splitlines() if not line.startswith("$")] == [
        untimed(line) for line in seen
    ]


def untimed(line: str) -> str:
    """A line without what depends on the time, and without the width of that."""
    return re.sub(r" +", " ", re.sub(r"just now|\d+ \w+ ago", "then", line)).strip()


def test_make_run_watches_a_folder_shows_what_happens_and_leaves_the_daemon_running(newcomer: Path):
    """It is the first command of a newcomer; Ctrl-C must end the view and not the protection."""
    project = newcomer / "project"
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    with Terminal(["make", "run", f"WORKSPACE={project}"], ROOT, plain) as terminal:
        terminal.wait_for("Watching")
        terminal.wait_for("`backtrail list`")
        eventually(lambda: "auto" in edited(project, terminal), 30)
        terminal.type("\x03")
        assert terminal.end() == 0
    assert "The daemon goes on watching; `backtrail daemon stop` ends it." in terminal.plain()
    assert terminal.plain().splitlines()[-1] == "Here: .venv/bin/backtrail daemon stop"
    assert "● running" in typed("backtrail daemon status", newcomer)


def edited(project: Path, terminal: Terminal) -> str:
    """What is shown after one more edit: at the first one the view may not have begun."""
    with open(project / "src" / "app.py", "a") as file:
        file.write("# another line\n")
    return terminal.look(1.0)


def test_the_configuration_that_the_readme_shows_is_the_one_that_holds_without_a_file(tmp_path: Path):
    """People copy it and change one line; the others must not change anything."""
    (shown,) = blocks("toml")
    (tmp_path / "config.toml").write_text(shown)
    assert read_config(tmp_path / "config.toml") == replace(WorkspaceConfig(), exclude_patterns=("*.iso",))


def test_the_exit_codes_are_those_of_the_errors():
    """Scripts rely on the table."""
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)}
    assert {error.exit_status for error in family(BacktrailError)} <= told


def family(error: type[BacktrailError]) -> Iterator[type[BacktrailError]]:
    yield error
    for child in error.__subclasses__():
        yield from family(child)

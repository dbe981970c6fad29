"""The completion scripts, in the shells that they are for."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from backtrail.cli.completion import SHELLS, script

# Answers like the program, and notes what it was asked.
STAND_IN = """#!/bin/sh
printf '%s\\n' "$@" > "$ASKED"
cat "$CANDIDATES"
"""
# Sets what bash itself sets when the key is pressed; the pieces of the line are given as bash splits it.
PRESS_TAB = """
source "$SCRIPT"
COMP_WORDBREAKS=$' \\t\\n"\\'@><=;|&(:'
COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2))
_backtrail
((${#COMPREPLY[@]} == 0)) || printf '%s\\n' "${COMPREPLY[@]}"
"""

needs = {
    shell: pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")
    for shell in SHELLS
}


class Shell:
    """A shell in which `backtrail` is a stand-in with given candidates."""

    def __init__(self, folder: Path, *candidates: str) -> None:
        self._folder = folder
        program = folder / "backtrail"
        program.write_text(STAND_IN)
        program.chmod(0o755)
        (folder / "candidates").write_text("".join(f"{line}\n" for line in candidates))
        for shell in SHELLS:
            (folder / f"script.{shell}").write_text(script(shell))
        self.environment = {
            **os.environ,
            "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
            "ASKED": str(folder / "asked"),
            "CANDIDATES": str(folder / "candidates"),
        }

    def bash(self, line: str, *pieces: str) -> list[str]:
        """What bash would offer for a line, whose pieces are given where they are not its words."""
        words: Sequence[str] = pieces or line.split(" ")
        return self.run("bash", "--norc", "-c", PRESS_TAB, "bash", line, *words).splitlines()

    def run(self, shell: str, *arguments: str) -> str:
        environment = {**self.environment, "SCRIPT": str(self._folder / f"script.{shell}")}
        done = subprocess.run(
            [shell, *arguments], env=environment, capture_output=True, text=True, check=False
        )
        assert done.stderr == ""
        return done.stdout

    def asked(self) -> list[str]:
        return (self._folder / "asked").read_text().removesuffix("\n").split("\n")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_script_that_says_where_to_put_it(shell: str) -> None:
    """The script is all the documentation that somebody who runs `backtrail completion` sees."""
    assert f"backtrail completion {shell}" in script(shell)


@pytest.mark.parametrize("shell", [pytest.param(shell, marks=needs[shell]) for shell in SHELLS])
def test_the_shell_understands_its_script(shell: str, tmp_path: Path) -> None:
    """A syntax error here would greet me in every new terminal."""
    path = tmp_path / "script"
    path.write_text(script(shell))
    done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@needs["bash"]
def test_bash_offers_what_begins_like_the_word(tmp_path: Path) -> None:
    """`backtrail re` and the key: the commands with `re`, in the order of the program."""
    shell = Shell(tmp_path, "restore\tmake files what they were", "resume-watching\tagain", "list\tno")
    assert shell.bash("backtrail re") == ["restore", "resume-watching"]
    assert shell.asked() == ["__complete", "re"]


@needs["bash"]
def test_bash_asks_with_an_empty_word_after_a_space(tmp_path: Path) -> None:
    """Then everything that may come next is offered."""
    shell = Shell(tmp_path, "42\tbefore the refactoring", "41\tsrc/app.py changed")
    assert shell.bash("backtrail restore ") == ["42", "41"]
    assert shell.asked() == ["__complete", "restore", ""]


@needs["bash"]
@pytest.mark.parametrize(
    ("line", "pieces", "asked", "candidates", "offered"),
    [
        ("backtrail show 42:sr", ("42", ":", "sr"), "42:sr", ["42:src/"], ["src/"]),
        ("backtrail show 42:", ("42", ":"), "42:", ["42:src/"], ["src/"]),
        ("backtrail show 42:", ("42", ":", ""), "42:", ["42:src/"], ["src/"]),
        ("backtrail list --color=ne", ("--color", "=", "ne"), "--color=ne", ["--color=never"], ["never"]),
        ("backtrail show @~", ("@", "~"), "@~", ["@~1"], ["~1"]),
    ],
)
def test_bash_keeps_together_what_it_splits(
    tmp_path: Path, line: str, pieces: tuple[str, ...], asked: str, candidates: list[str], offered: list[str]
) -> None:
    """Bash cuts words at colons and equal signs, and puts only the last piece back into the line."""
    shell = Shell(tmp_path, *candidates)
    assert shell.bash(line, "backtrail", line.split(" ")[1], *pieces) == offered
    assert shell.asked()[-1] == asked


@needs["bash"]
def test_bash_quotes_what_it_puts_into_the_line(tmp_path: Path) -> None:
    """A folder with a space in its name is one word, and one with a dollar sign runs nothing."""
    shell = Shell(tmp_path, "/home/ann/my work\twatching", "/home/ann/$(touch x)\twatching")
    assert shell.bash("backtrail status -w /home") == ["/home/ann/my\\ work", "/home/ann/\\$\\(touch\\ x\\)"]


@needs["bash"]
def test_bash_completes_only_up_to_the_cursor(tmp_path: Path) -> None:
    """I went back in the line to change a word."""
    shell = Shell(tmp_path, "restore\tgo back")
    code = PRESS_TAB.replace("COMP_POINT=${#1}", "COMP_POINT=12").replace("$(($# - 2))", "1")
    line = "backtrail restore 42"
    assert shell.run("bash", "--norc", "-c", code, "bash", line, *line.split(" ")) == "restore\n"
    assert shell.asked() == ["__complete", "re"]


@needs["bash"]
def test_bash_leaves_files_to_itself_where_the_program_knows_nothing(tmp_path: Path) -> None:
    """After `--` come paths, which bash completes best."""
    shell = Shell(tmp_path)
    assert shell.bash("backtrail diff -- sr") == []
    assert "-o default" in shell.run("bash", "--norc", "-c", 'source "$SCRIPT"; complete -p backtrail')


@needs["fish"]
def test_fish_offers_values_with_their_descriptions(tmp_path: Path) -> None:
    """The message of a checkpoint stands beside its number."""
    shell = Shell(tmp_path, "42\tbefore the refactoring", "41\tsrc/app.py changed")
    offered = shell.run("fish", "-c", 'source $SCRIPT; complete -C "backtrail restore 4"')
    assert sorted(offered.splitlines()) == ["41\tsrc/app.py changed", "42\tbefore the refactoring"]
    assert shell.asked() == ["__complete", "restore", "4"]


@needs["zsh"]
def test_zsh_describes_what_it_offers(tmp_path: Path) -> None:
    """The message of a checkpoint stands beside its number; a colon in a value stays part of it."""
    shell = Shell(tmp_path, "42\tbefore: the refactoring", "42:src\t")
    code = """
    compdef() { : }
    _describe() { print -rl -- "${(@P)3}" }
    source $SCRIPT
    words=(backtrail restore 4) CURRENT=3 PREFIX=4
    _backtrail
    """
    assert shell.run("zsh", "-f", "-c", code) == "42:before: the refactoring\n42\\:src:\n"
    assert shell.asked() == ["__complete", "restore", "4"]


@needs["bash"]
def test_the_real_program_answers_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Script and program are written apart, and must understand each other: commands, options, checkpoints."""
    monkeypatch.setenv("BACKTRAIL_HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    shell = Shell(tmp_path)
    (tmp_path / "backtrail").write_text(
        f'#!/bin/sh\ncd "{work}"; exec "{sys.executable}" -m backtrail.cli "$@"\n'
    )
    assert shell.bash("backtrail restore ") == []
    assert not (tmp_path / "home").exists(), "completing must start nothing"
    backtrail = str(tmp_path / "backtrail")
    try:
        subprocess.run(
            [backtrail, "watch", "--quiet"], env=shell.environment, check=True, capture_output=True
        )
        assert shell.bash("backtrail re") == ["resume-watching", "restore", "rewind", "resume"]
        assert shell.bash("backtrail list --fi") == ["--files"]
        assert shell.bash("backtrail restore ") == ["1"]
    finally:
        subprocess.run([backtrail, "daemon", "stop"], env=shell.environment, check=True, capture_output=True)

"""What the README tells people to type is typed here."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder_with_project(tmp_path: Path) -> Path:
    """Where the README's examples assume to be run: beside a folder called project."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "app.py").write_text("print('hello')\n")
    return tmp_path


def test_the_examples_of_the_readme_work_in_the_order_they_are_shown(folder_with_project: Path):
    """A newcomer copies them; one that fails is the last thing they try."""
    (example,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=folder_with_project, capture_output=True, text=True, check=True
    )
    assert "-print('hello')\n+oops" in done.stdout
    assert (folder_with_project / "project" / "app.py").read_text() == "oops"

    recovery = next(block for block in blocks("sh") if "--git-dir" in block)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", recovery], cwd=folder_with_project, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "before the refactoring" in done.stdout
    assert "print('hello')" in done.stdout
    assert (folder_with_project / "recovered" / "app.py").read_text() == "print('hello')\n"

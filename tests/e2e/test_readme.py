"""What the README tells people to type is typed here."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from backtraild.config import read_config
from backtraild.model import WorkspaceConfig

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


def test_the_configuration_that_the_readme_shows_is_the_one_that_holds_without_a_file(tmp_path: Path):
    """People copy it and change one line; the others must not change anything."""
    (shown,) = blocks("toml")
    (tmp_path / "config.toml").write_text(shown)
    assert read_config(tmp_path / "config.toml") == replace(WorkspaceConfig(), exclude_patterns=("*.iso",))

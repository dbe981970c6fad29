"""The picture of the README is drawn from the real command line."""

import runpy
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from support.sources import ROOT

SCRIPT = ROOT / "docs" / "picture.py"


def text_of(picture: Path) -> str:
    tree = ElementTree.parse(picture)  # noqa: S314 (drawn by ourselves)
    lines = tree.iter("{http://www.w3.org/2000/svg}text")
    return "\n".join("".join(line.itertext()) for line in lines)


def test_the_script_draws_what_the_commands_print(tmp_path: Path):
    """A picture made by hand shows what the program printed a year ago."""
    subprocess.run([sys.executable, SCRIPT, tmp_path / "picture.svg"], check=True, timeout=60)
    drawn = text_of(tmp_path / "picture.svg")
    assert "Watching ~/shop from now on. Checkpoint 1 holds it as it is: 3 files" in drawn
    assert "Restored checkpoint 1" in drawn
    assert "\x1b" not in drawn


def test_the_picture_that_comes_with_the_project_tells_the_story_of_the_script():
    """Whoever changes the story draws the picture again: `make picture`."""
    drawn = text_of(ROOT / "docs" / "backtrail.svg")
    for command in runpy.run_path(str(SCRIPT))["STORY"]:
        assert command in drawn

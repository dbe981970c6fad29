"""A prompt in an editor, which is a real program here."""

import os
import stat
from pathlib import Path

import pytest

from backtrail.cli.browse.editing import EditingFailed, chosen, edited


def program(folder: Path, name: str, script: str) -> str:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return str(file)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the prompt is while it is edited."""
    found = tmp_path / "temporary"
    found.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(found))
    return found


def test_the_editor_is_visual_then_editor_then_the_first_that_is_there(tmp_path: Path):
    """As all programs of a terminal choose it."""
    assert chosen({"VISUAL": "code --wait", "EDITOR": "ed"}) == "code --wait"
    assert chosen({"VISUAL": " ", "EDITOR": "ed"}) == "ed"
    program(tmp_path, "nano", "")
    assert chosen({"PATH": str(tmp_path)}) == "nano"
    program(tmp_path, "vi", "")
    assert chosen({"PATH": str(tmp_path)}) == "vi"


def test_without_any_editor_it_says_how_to_name_one(tmp_path: Path):
    """A small container has none."""
    with pytest.raises(EditingFailed, match="no editor") as failed:
        chosen({"PATH": str(tmp_path)})
    assert "EDITOR" in failed.value.hint


def test_the_prompt_is_for_its_owner_alone_while_it_is_edited_and_gone_afterwards(
    tmp_path: Path, temporary: Path
):
    """Others use the same machine."""
    editor = program(tmp_path, "my editor", f'cp -p "$2" {tmp_path}/seen; echo "$1, please" >> "$2"')
    assert edited("Füge es hinzu\nund teste", f"'{editor}' now") == "Füge es hinzu\nund teste\nnow, please"
    seen = tmp_path / "seen"
    assert seen.read_text() == "Füge es hinzu\nund teste\n"
    assert stat.S_IMODE(os.stat(seen).st_mode) == 0o600
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("script", ["true", 'printf "" > "$1"', 'printf " \\n\\n" > "$1"', 'echo >> "$1"'])
def test_a_prompt_that_is_unchanged_or_empty_is_no_edit(tmp_path: Path, script: str):
    """Leaving the editor without saving is how one changes one's mind."""
    assert edited("Add a test", program(tmp_path, "editor", script)) is None


@pytest.mark.parametrize(("script", "said"), [("exit 3", "status 3"), ('rm "$1"', "could not be edited")])
def test_an_editor_that_fails_changes_nothing(tmp_path: Path, temporary: Path, script: str, said: str):
    """`:cq` in vi says so on purpose."""
    with pytest.raises(EditingFailed, match=said):
        edited("Add a test", program(tmp_path, "editor", script))
    assert list(temporary.iterdir()) == []


def test_an_editor_that_is_not_there_is_named(tmp_path: Path):
    """A typo in a profile."""
    with pytest.raises(EditingFailed, match="no-such-editor"):
        edited("Add a test", str(tmp_path / "no-such-editor"))


def test_an_edit_that_was_not_agreed_to_goes_on_where_it_stopped(tmp_path: Path):
    """A long prompt is not typed twice; the same text is an edit still, and the first one is none."""
    assert edited("Add a test", "true", "Add two tests") == "Add two tests"
    back = program(tmp_path, "editor", 'echo "Add a test" > "$1"')
    assert edited("Add a test", back, "Add two tests") is None

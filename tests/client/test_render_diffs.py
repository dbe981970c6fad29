"""Differences as a person sees them, and as git takes them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from backtrail.cli import render
from backtrail.cli.characters import width
from support.answers import change, diff, screen

PATCH = """diff --git a/notes.txt b/notes.txt
index 1111111..2222222 100644
--- a/notes.txt
+++ b/notes.txt
@@ -1,3 +1,3 @@ heading
 same
--- a rule
+\x1b[2J\u202e\tindented\r
\\ No newline at end of file
diff --git a/b b/b
deleted file mode 100644
"""


def test_a_patch_is_coloured_line_by_line() -> None:
    """I see at a glance what came and what went; a removed rule is no header."""
    lines = render.diff(diff(PATCH), screen(colour=True)).splitlines()
    assert lines[0] == "\x1b[1mdiff --git a/notes.txt b/notes.txt\x1b[0m"
    assert lines[2] == "\x1b[1m--- a/notes.txt\x1b[0m"
    assert lines[4] == "\x1b[36m@@ -1,3 +1,3 @@ heading\x1b[0m"
    assert lines[5] == " same"
    assert lines[6] == "\x1b[31m--- a rule\x1b[0m"
    assert lines[7].startswith("\x1b[32m+")
    assert lines[10] == "\x1b[1mdeleted file mode 100644\x1b[0m"


@pytest.mark.parametrize("colour", [True, False])
@pytest.mark.parametrize("terminal", [True, False])
def test_content_never_steers_a_terminal(colour: bool, terminal: bool) -> None:
    """A file that I look at may have been written to attack whoever looks at it."""
    text = render.diff(diff(PATCH), screen(colour=colour, terminal=terminal))
    shown = "+\\x1b[2J\\u202e\tindented\\r" in text
    assert shown is (colour or terminal)


def test_git_applies_a_patch_from_a_pipe(tmp_path: Path, git: Callable[..., bytes]) -> None:
    """`backtrail diff > fix.patch` is meant to be used."""
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\x0cthree\r\n\x85\n")
    git("init", "-q", cwd=tmp_path)
    git("add", ".", cwd=tmp_path)
    (tmp_path / "a.txt").write_bytes(b"one\nTWO\x0cthree\x1b\r\n\xe2\x80\xa8\n")
    patch = git("diff", cwd=tmp_path).decode("utf-8", "surrogateescape")
    git("checkout", "a.txt", cwd=tmp_path)
    shown = render.diff(diff(patch), screen(terminal=False)).encode("utf-8", "surrogateescape")
    git("apply", "-", cwd=tmp_path, input=shown)
    assert (tmp_path / "a.txt").read_bytes() == b"one\nTWO\x0cthree\x1b\r\n\xe2\x80\xa8\n"


def test_no_difference_is_no_text() -> None:
    """As with git."""
    nothing = diff("")
    shown = [show(nothing, screen()) for show in (render.diff, render.diff_stat, render.name_status)]
    assert shown == ["", "", ""]


FILES = (
    change("src/app.py", insertions=12, deletions=3),
    change("docs/guide.md", "added", insertions=1400, deletions=0),
    change("new.py", "renamed", old_path="old.py", insertions=0, deletions=0),
    change("logo.png", size=48_123),
    change("run.sh", "mode"),
    change("日本語.txt", "deleted", insertions=0, deletions=1),
)


def test_the_statistics_are_those_that_git_has_taught_us() -> None:
    """Path, count, a bar; a sum below."""
    files = (change("a.py", insertions=12, deletions=3), change("b.py", "deleted", insertions=0, deletions=4))
    assert render.diff_stat(diff("", *files), screen()) == (
        " a.py | 15 ++++++++++++---\n b.py |  4 ----\n 2 files changed, 12 lines added, 7 lines removed\n"
    )


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_bars_are_scaled_to_the_terminal(columns: int) -> None:
    """The largest change fits, and the smallest can still be seen."""
    found = render.diff_stat(diff("", *FILES), screen(columns)).splitlines()
    assert max(map(width, found[:-1])) <= columns
    assert found[0].endswith(" 15 +-")
    assert found[1].count("+") > columns // 4
    assert len({width(row.partition("|")[0]) for row in found[:-1]}) == 1


def test_files_without_lines_show_their_size_or_mode() -> None:
    """A picture has no lines to count."""
    found = render.diff_stat(diff("", *FILES), screen()).splitlines()
    assert found[2].split("|")[0].strip() == "old.py → new.py"
    assert found[3].endswith("| 48 kB")
    assert found[4].endswith("|  mode")


def test_names_and_letters_are_easy_to_take_apart() -> None:
    """For scripts: a letter, a tab, a path; and no path can break a line."""
    text = render.name_status(diff("", *FILES, change("a\nb", "added")), screen())
    assert text.splitlines() == [
        "M\tsrc/app.py",
        "A\tdocs/guide.md",
        "R\told.py\tnew.py",
        "M\tlogo.png",
        "M\trun.sh",
        "D\t日本語.txt",
        "A\ta\\nb",
    ]

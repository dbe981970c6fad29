"""Checkpoints as a person sees them."""

import re
from datetime import timedelta

import pytest

from backtrail.cli import render
from backtrail.cli.characters import width
from backtrail.values import (
    CheckpointPage,
    Content,
    DeletedCheckpoints,
    FolderEntry,
    SkippedFile,
    SummaryPage,
)
from support.answers import NOW, change, checkpoint, screen, summary

PAGE = SummaryPage(
    checkpoints=[
        summary(1042, timestamp=NOW, insertions=112, deletions=30, files_changed_count=3),
        summary(
            1041, kind="manual", message="before the refactoring", pinned=True, insertions=0, deletions=0
        ),
        summary(1040, kind="agent", message="Refactor " * 20, session="1f3a9c02-77aa-4b3e", turn=3),
        summary(
            999, kind="pre_restore", message="日本語のファイル.txt 👩‍👩‍👧", timestamp=NOW - timedelta(days=1)
        ),
        summary(
            1, kind="baseline", message="many files added", insertions=801_234, files_changed_count=12_345
        ),
    ]
)


def rows(width: int = 120, **others: object) -> list[str]:
    return render.checkpoint_list(PAGE, screen(width, **others)).splitlines()


def uncoloured(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_a_row_says_what_i_look_for() -> None:
    """Number, time, kind, message, how much of what."""
    found = rows(140)
    assert re.fullmatch(
        r"1042    just now +auto +src/app\.py changed +3 files +\+112 −30 +█+[▏▎▍▌▋▊▉]?", found[0]
    )
    assert re.fullmatch(r"1041 ★  2 minutes ago +manual +before the refactoring +1 file", found[1])
    assert re.fullmatch(r" 999    yesterday 14:30  safety .*", found[3])
    assert re.fullmatch(r"   1 .* baseline  many files added +12k files +\+801k −1 +█{8}", found[4])


@pytest.mark.parametrize("columns", [60, 80, 100, 120, 200])
def test_no_row_is_wider_than_the_terminal_and_columns_are_aligned(columns: int) -> None:
    """A list that wraps or staggers can't be skimmed."""
    found = rows(columns)
    assert max(map(width, found)) <= columns
    signs = {width(row[: row.index("−")]) for row in found if "−" in row}
    kinds = {
        row.index(word)
        for row, word in zip(found, ("auto", "manual", "agent", "safety", "base"), strict=True)
    }
    assert len(signs) == len(kinds) == 1


def test_small_changes_have_short_bars() -> None:
    """One changed line is no event, also where nothing else happened."""
    page = SummaryPage(
        checkpoints=[summary(1, insertions=1, deletions=0), summary(2, insertions=0, deletions=0)]
    )
    found = render.checkpoint_list(page, screen(120)).splitlines()
    assert found[0].endswith("+1   █▎")
    assert found[1].endswith("1 file")


def test_a_narrow_terminal_keeps_the_message() -> None:
    """The bar goes first, then the number of files; the words that I wrote stay."""
    assert "█" in rows(120)[0]
    assert "3 files" in rows(120)[0]
    assert "█" not in rows(80)[0]
    assert "3 files" not in rows(80)[0]
    assert "before the refactoring" in rows(80)[1]


def test_the_turn_stays_when_its_message_is_cut() -> None:
    """Whose turn it was is what I go back by."""
    assert "Refactor Ref" in rows(80)[2]
    assert "…  turn 3 1f3a" in rows(80)[2]
    assert "turn 3 1f3a9c02-77aa-4b3e" in rows(80, terminal=False)[2]
    short = SummaryPage(checkpoints=[summary(2, message="two", session="login", turn=3), PAGE.checkpoints[1]])
    assert "two  turn 3 login " in render.checkpoint_list(short, screen(80))


def test_a_pipe_gets_every_message_whole() -> None:
    """`backtrail list | grep` looks at all of it; the other rows are not as wide as that one."""
    found = rows(80, terminal=False)
    assert ("Refactor " * 20).strip() in found[2]
    assert width(found[0]) < 140


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_colours_change_nothing_but_colours(columns: int) -> None:
    """With or without, the same characters are in the same places."""
    painted = rows(columns, colour=True)
    assert "\x1b[" in painted[0]
    assert [uncoloured(row).rstrip() for row in painted] == rows(columns)


def test_a_plain_terminal_gets_plain_signs() -> None:
    """Where `−` and `█` can't be shown, `-` and `#` are as good."""
    found = rows(140, unicode=False)
    assert re.search(r"\+112 -30 +##", found[0])
    assert "1041 *  " in found[1]
    assert found[0].isascii()
    assert found[2].isascii()


def test_a_message_can_not_pretend_to_be_two_rows() -> None:
    """Only its first line is listed, and nothing in it reaches the terminal."""
    page = SummaryPage(
        checkpoints=[summary(1, message="harmless\x1b[1A\x1b[2K\u202e\nsecond", session="\x1b]0;x\x07")]
    )
    text = render.checkpoint_list(page, screen(200))
    assert text.count("\n") == 1
    assert "harmless\\x1b[1A\\x1b[2K\\u202e" in text
    assert "second" not in text
    assert text.removesuffix("\n").isprintable()


def test_files_are_listed_under_their_checkpoint_if_wanted() -> None:
    """`list --files` shows which change was in which."""
    files = [change(f"src/m{number}.py", insertions=number, deletions=0) for number in range(12)]
    text = render.checkpoint_list(CheckpointPage(checkpoints=[checkpoint(7, *files)]), screen())
    assert "\n      M  src/m9.py  +9\n" in text
    assert text.endswith("      … and 2 more\n")


def test_older_ones_are_mentioned_to_people_only() -> None:
    """A script that counts lines counts checkpoints."""
    page = SummaryPage(checkpoints=PAGE.checkpoints, next=1)
    assert "-n NUMBER" in render.checkpoint_list(page, screen())
    assert render.checkpoint_list(page, screen(terminal=False)).count("\n") == 5


def test_an_empty_list_says_so() -> None:
    """Silence could also mean that something is broken."""
    assert render.checkpoint_list(SummaryPage(checkpoints=[]), screen()) == "There are no such checkpoints.\n"


def test_one_checkpoint_tells_all_that_is_known_of_it() -> None:
    """Before I go back to it I want to be sure that it is the one."""
    one = checkpoint(
        43,
        change("src/app.py", insertions=12, deletions=3),
        change("new.md", "added", insertions=140, deletions=0),
        change("new.py", "renamed", old_path="old.py", insertions=0, deletions=0),
        change("logo.png", size=48_123),
        change("gone.txt", "deleted", insertions=0, deletions=44),
        change("run.sh", "mode"),
        files_changed_count=138,
        insertions=152,
        deletions=47,
        message="Refactor\n\nso that it can be tested",
        parent=42,
        pinned=True,
        session="login",
        turn=3,
        metadata={"reviewed": True},
        skipped=[SkippedFile(path="big.iso", size=4_700_000_000, reason="too-large")],
    )
    assert render.checkpoint(one, screen()) == (
        "Checkpoint 43  auto  2 minutes ago  ★ pinned\n"
        "\n"
        "    Refactor\n"
        "\n"
        "    so that it can be tested\n"
        "\n"
        "id        000000000000000000000000000000000000002b\n"
        "made      2026-11-16 14:28:00 +0000\n"
        "after     checkpoint 42\n"
        "session   login, turn 3\n"
        "reviewed  True\n"
        "\n"
        "  M  src/app.py       +12 −3\n"
        "  A  new.md           +140\n"
        "  R  old.py → new.py\n"
        "  M  logo.png         48 kB\n"
        "  D  gone.txt         −44\n"
        "  M  run.sh           mode\n"
        "  … and 132 more\n"
        "  138 files changed  +152 −47\n"
        "\n"
        "Not captured: 1 file\n"
        "  big.iso  4.7 GB  too large\n"
    )


def test_hostile_names_in_a_checkpoint_are_written_out() -> None:
    """A cloned repository may hold any file name."""
    one = checkpoint(
        1,
        change("a\nb\x1b[31m", "added"),
        message="x\x1b[2J\ny",
        metadata={"k\x1b": "v\x9b"},
        session="s\x07",
    )
    text = render.checkpoint(one, screen())
    assert text.replace("\n", "").isprintable()
    assert "a\\nb\\x1b[31m" in text


def test_long_paths_keep_their_end_and_their_counts() -> None:
    """The name of the file is at the end."""
    one = checkpoint(1, change("deep/" * 40 + "app.py", insertions=1, deletions=0), change("b", insertions=2))
    found = render.checkpoint(one, screen(80)).splitlines()
    assert max(map(width, found)) <= 80
    assert any(row.endswith("deep/app.py  +1") for row in found)


def test_a_save_says_its_number_and_what_it_left_out() -> None:
    """I trust it only if it tells me what it could not take."""
    left = [SkippedFile(path=f"big{number}.iso", size=5, reason="changing") for number in range(5)]
    text = render.saved(checkpoint(43, change("a"), insertions=12, deletions=3, skipped=left), screen())
    assert text == (
        "Checkpoint 43 saved: 1 file changed  +12 −3\n"
        "Not captured: 5 files; `backtrail show 43` says which and why.\n"
    )


def test_what_became_of_checkpoints_is_told_in_sentences() -> None:
    """Pinned, unpinned, deleted."""
    assert "43 is pinned" in render.pinned(summary(43, pinned=True), screen())
    assert "43 is no longer pinned" in render.pinned(summary(43), screen())
    gone = render.deleted(DeletedCheckpoints(deleted=[summary(3), summary(4)]), screen())
    assert gone.startswith("2 checkpoints deleted:\n3  2 minutes ago  auto  src/app.py changed")


def test_a_folder_of_a_checkpoint_is_listed_with_marks() -> None:
    """I see what I can look into."""
    kinds = {"src": "folder", "run": "executable", "link": "symlink", "a\x1b": "file"}
    content = Content(
        path="",
        kind="folder",
        size=0,
        entries=[FolderEntry(name=name, kind=kind) for name, kind in kinds.items()],
    )
    assert render.folder(content, screen()) == "src/\nrun*\nlink@\na\\x1b\n"

"""Watched folders, events and the daemon's health as a person sees them."""

from datetime import timedelta
from typing import Any

import pytest

from backtrail.cli import render
from backtrail.cli.characters import width
from backtrail.values import (
    CheckpointEvent,
    Pong,
    SkippedFile,
    Unwatched,
    Watched,
    WorkspaceInfo,
    WorkspaceList,
    WorkspaceStatus,
)
from support.answers import NOW, event, screen, summary

LIMIT = "12 folders can't be watched: the limit of inotify watches is reached; `sudo sysctl …` raises it"


def found(**others: Any) -> WorkspaceStatus:
    return WorkspaceStatus(
        **{
            "workspace": "project-1a2b",
            "root": "/home/ann/project",
            "state": "watching",
            "reasons": [],
            "files": 12_345,
            "bytes": 1_234_000_000,
            "pending": 0,
            "last_checkpoint": summary(42),
            "store_bytes": 345_000_000,
            "max_store_bytes": 20_000_000_000,
            "free_bytes": 300_000_000,
            "min_free_bytes": 100_000_000,
            "store": "/home/ann/.local/share/backtrail/workspaces/project-1a2b",
            "checkpoints": 42,
            "skipped": [],
            "skipped_count": 0,
            "watcher": "inotify",
            "overlaps": [],
            **others,
        }
    )


def info(root: str, state: str = "watching", checkpoints: int = 1) -> WorkspaceInfo:
    return WorkspaceInfo(
        workspace="w-1", root=root, state=state, paused=False, checkpoints=checkpoints, store="/store"
    )


def test_a_healthy_workspace_in_a_few_lines() -> None:
    """All is well, and how much there is."""
    assert render.status(found(), screen()) == (
        "~/project\n"
        "  ● watching: every settled change becomes a checkpoint\n"
        "\n"
        "  files        12,345 (1.2 GB)\n"
        "  pending      nothing\n"
        "  checkpoints  42\n"
        "  newest       42, 2 minutes ago: src/app.py changed\n"
        "  store        345 MB of 20 GB in ~/.local/share/backtrail/workspaces/project-1a2b\n"
        "  watcher      inotify\n"
    )


def test_trouble_comes_first_with_what_to_do() -> None:
    """If my work is at risk I must not have to look for it."""
    text = render.status(found(state="degraded", reasons=[LIMIT], pending=3), screen(80))
    lines = text.splitlines()
    assert lines[1] == "  ● degraded: something is wrong"
    assert " ".join(line.strip() for line in lines[2:4]) == LIMIT
    assert "`backtrail doctor`" in lines[4]
    assert "3 changes" in text
    assert "\x1b[31m● degraded" in render.status(
        found(state="degraded", reasons=[LIMIT]), screen(colour=True)
    )


def test_a_paused_workspace_says_how_to_go_on() -> None:
    """I may have forgotten that I paused it."""
    assert "`backtrail resume-watching`" in render.status(found(state="paused"), screen())


def test_skipped_files_are_listed_with_the_reason() -> None:
    """What is not captured can't be brought back: I must know."""
    left = [
        SkippedFile(path="data/big.iso", size=4_700_000_000, reason="too-large"),
        SkippedFile(path="s\x1b", size=0, reason="special-file"),
    ]
    text = render.status(found(skipped=left, skipped_count=14), screen())
    assert "  skipped      14 files\n" in text
    assert "               data/big.iso  4.7 GB  too large\n" in text
    assert "               s\\x1b            0 B  not a regular file\n" in text
    assert text.endswith("               … and 12 more\n")
    assert "data/big.iso" in render.status(found(skipped=left, skipped_count=14), screen(40))


def test_workspaces_are_aligned_and_fit() -> None:
    """Which folders, how they are, how much history."""
    roots = [info("/home/ann/project", checkpoints=1042), info("/srv/" + "deep/" * 30 + "notes", "degraded")]
    lines = render.workspaces(WorkspaceList(workspaces=roots), screen(80)).splitlines()
    assert max(map(width, lines)) <= 80
    assert len({line.index("●") for line in lines}) == 1
    assert "~/project" in lines[0]
    assert "1,042 checkpoints" in lines[0]
    assert "deep/notes  ● degraded" in lines[1]


def test_no_workspace_says_how_to_begin() -> None:
    """The first thing that a new user sees."""
    assert "`backtrail watch FOLDER`" in render.workspaces(WorkspaceList(workspaces=[]), screen())


def watch(**others: Any) -> Watched:
    known = {
        "workspace": "w",
        "root": "/home/ann/project",
        "is_new": True,
        "overlaps": [],
        "checkpoint": summary(1),
    }
    return Watched(**{**known, **others})


def test_watching_ends_with_what_to_type_next() -> None:
    """I have just begun and know no other command."""
    text = render.watched(watch(), found(), screen())
    assert text.startswith(
        "Watching ~/project from now on. Checkpoint 1 holds it as it is: 12,345 files, 1.2 GB.\n"
    )
    assert "`backtrail list`" in text.splitlines()[-1]


def test_watching_says_what_is_special() -> None:
    """Again, not yet, beside another one, not everything."""
    assert "~/project is watched already; its newest checkpoint is 1, 2 minutes ago." in render.watched(
        watch(is_new=False), None, screen()
    )
    assert "is being made" in render.watched(watch(checkpoint=None), None, screen())
    assert "overlaps with ~/project/sub" in render.watched(
        watch(overlaps=["/home/ann/project/sub"]), None, screen()
    )
    left = [SkippedFile(path="big.iso", size=5_000_000, reason="too-large")]
    assert "Not captured: 1 file\n  big.iso  5.0 MB  too large\n" in render.watched(
        watch(), found(skipped=left, skipped_count=1), screen()
    )


def test_watching_no_more_says_where_the_checkpoints_are() -> None:
    """Or that they are gone."""
    kept = render.unwatched(Unwatched(workspace="w", root="/home/ann/project", store="/home/ann/s"), screen())
    assert kept == "~/project is watched no more. Its checkpoints stay in ~/s.\n"
    gone = render.unwatched(Unwatched(workspace="w", root="/home/ann/project", store=None), screen())
    assert "its checkpoints are deleted" in gone


@pytest.mark.parametrize(
    ("happened", "told"),
    [
        (
            event("checkpoint_created", 42, kind="auto", message="a\nb", insertions=3, deletions=1),
            "42  auto  a  +3 −1",
        ),
        (event("checkpoint_restored", 44, kind="restore", message="Restored 41"), "44  restore  Restored 41"),
        (event("checkpoint_created", 7, kind="manual", message="C:\\new"), "7  manual  C:\\new"),
        (event("checkpoint_deleted", 3), "checkpoint 3 deleted"),
        (event("checkpoints_pruned", numbers=[3, 4], count=2), "2 checkpoints let go by retention"),
        (event("initialized", 1, files=12_345), "ready: 12,345 files captured"),
        (event("workspace_added"), "watched from now on"),
        (event("workspace_removed", purged=True), "watched no more, its checkpoints are deleted"),
        (event("degraded", reason="The disk is full."), "degraded: The disk is full."),
        (event("recovered", reason="The disk is full."), "recovered; it was: The disk is full."),
        (event("error", reason="Lost.", hint="Look."), "error: Lost. Look."),
        (
            event("mass_change", 41, files=1000, deleted=600, rewritten=3),
            "many files at once: 600 deleted and 3 rewritten of 1,000 files; checkpoint 41, made before it, is kept",
        ),
        (event("progress", phase="looking", done=1200, total=None, unit="files"), "looking 1,200 files"),
        (event("moon_rose", 9), "moon rose 9"),
    ],
)
def test_every_event_is_one_line(happened: CheckpointEvent, told: str) -> None:
    """When, where, what; also for types that are invented later."""
    assert render.event(happened, screen()) == f"14:29:30  project           {told}\n"


def test_an_event_of_another_day_has_its_date_and_a_hostile_one_stays_a_line() -> None:
    """A log that is read tomorrow is still understood."""
    old = event("degraded", reason="a\nb\x1b[2J")
    text = render.event(old, screen(now=NOW + timedelta(days=1)))
    assert text == "2026-11-16 14:29:30  project           degraded: a\\nb\\x1b[2J\n"


def test_the_daemon_says_who_it_is() -> None:
    """Process, version, how long, where."""
    pong = Pong(version="0.1.0", protocol=1, pid=42, epoch="e", seq=1234, started=NOW - timedelta(hours=5))
    watched = WorkspaceList(workspaces=[info("/a")])
    assert render.daemon_status(pong, ["ipc:///run/requests.sock"], watched, screen()) == (
        "● running, process 42, version 0.1.0\n"
        "  since       today 09:30 (5 hours)\n"
        "  workspaces  1 folder\n"
        "  protocol    1, event 1,234\n"
        "  listens at  ipc:///run/requests.sock\n"
    )


def test_the_doctor_says_what_to_do_about_what_is_wrong() -> None:
    """Hints only where they are needed, and a sum at the end."""
    checks = [
        render.Check("ok", "The daemon answers.", "unneeded"),
        render.Check("warning", "Only 3 GB are free.", "Free some space."),
        render.Check("problem", "The store can't be read.", "Look at its permissions."),
    ]
    assert render.doctor(checks, screen()) == (
        "ok       The daemon answers.\n"
        "warning  Only 3 GB are free.\n"
        "         Free some space.\n"
        "problem  The store can't be read.\n"
        "         Look at its permissions.\n"
        "\n"
        "1 problem, 1 warning.\n"
    )
    assert render.doctor(checks[:1], screen()).endswith("\nEverything is in order.\n")


def test_a_failure_is_a_sentence_and_a_hint() -> None:
    """What went wrong, and the next step; with nothing of a file name obeyed."""
    text = render.failure("No file is called a\x1b[2J.", "First.\nThen.", screen())
    assert text == "error: No file is called a\\x1b[2J.\nhint:  First.\n       Then.\n"
    assert render.failure("It failed.", "", screen()) == "error: It failed.\n"


def test_a_disk_that_fills_up_is_told_before_nothing_can_be_saved() -> None:
    """Whoever looks can still do something about it; on a roomy disk it is of no interest."""
    assert "disk " not in render.status(found(), screen())
    told = render.status(found(free_bytes=150_000_000), screen())
    assert "disk         150 MB free; with less than 100 MB, nothing is saved\n" in told


def test_a_daemon_that_does_not_know_of_caps_has_none() -> None:
    """A command that was updated before the daemon must not invent limits."""
    told = render.status(found(max_store_bytes=0, free_bytes=0, min_free_bytes=0), screen())
    assert "345 MB in " in told
    assert "disk " not in told


def test_damage_that_has_been_dealt_with_is_told_under_the_state():
    """Nothing is wrong any more, but its owner should know, and may delete what is left."""
    told = render.status(found(notices=["/store/quarantine holds 1 damaged pack of the store."]), screen())
    assert "watching" in told
    assert "    /store/quarantine holds 1 damaged pack of the store.\n" in told

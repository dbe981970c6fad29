"""Every method that looks into the past or leads away from it, asked over a real socket."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from backtrail import session_values
from support.answering import Bench, answering
from support.git import git


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A workspace with a session of two turns, both of which changed `a`."""
    with answering(tmp_path, auto_checkpoint=False) as server, server.wire() as wire:
        found = Bench(server, wire)
        for turn, content in enumerate(("one\nmore\n", "one\nmore\nlast\n"), 1):
            (found.root / "a").write_text(content)
            found.ask(
                "save",
                session="s",
                turn=turn,
                prompt=f"the turquoise prompt {turn}",
                phase=f"phase {turn}",
                conversation={"messages": [f"message {number}" for number in range(turn)]},
            )
        yield found


def test_the_log_of_a_file_tells_who_changed_it_and_why(bench: Bench):
    """Which conversation broke this?"""
    found = msgspec.convert(bench.ask("log", path="a"), session_values.FileHistory)
    assert [(each.checkpoint, each.status, each.turn) for each in found.versions] == [
        (3, "modified", 2),
        (2, "modified", 1),
        (1, "added", None),
    ]
    newest = found.versions[0]
    assert (newest.path, newest.session, newest.prompt) == ("a", "s", "the turquoise prompt 2")
    assert (newest.insertions, newest.deletions, newest.size) == (1, 0, 14)
    page = bench.ask("log", path=str(bench.root / "a"), limit=1)
    rest = bench.ask("log", path="a", cursor=page["next"])
    assert [each["checkpoint"] for each in page["versions"] + rest["versions"]] == [3, 2, 1]
    assert bench.fail("log", path="nothing")[0] == "unknown-path"
    assert bench.fail("log", path="a", cursor="nowhere")[0] == "usage"


def test_every_line_knows_where_it_is_from(bench: Bench):
    """Per line: the checkpoint, the session and the turn."""
    (bench.root / "a").write_text("one\nmore\nlast\nunsaved\n")
    found = msgspec.convert(bench.ask("blame", path="a"), session_values.Blame)
    assert [(each.line, each.text, each.checkpoint, each.session, each.turn) for each in found.lines] == [
        (1, "one", 1, None, None),
        (2, "more", 2, "s", 1),
        (3, "last", 3, "s", 2),
        (4, "unsaved", None, None, None),
    ]
    assert len(bench.ask("blame", path="a", checkpoint="2")["lines"]) == 2
    assert bench.fail("blame", path="nothing")[0] == "unknown-path"


def test_words_are_found_in_messages_prompts_and_paths(bench: Bench):
    """Where did we talk about this?"""
    found = msgspec.convert(bench.ask("search", words="turquoise 2"), session_values.SearchResult)
    (hit,) = found.hits
    assert (hit.found, hit.session, hit.turn, hit.checkpoint) == ("prompt", "s", 2, 3)
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["turquoise", "2"]
    (said,) = bench.ask("search", words='"message 1"', session="s")["hits"]
    assert (said["found"], said["message"]) == ("message", 1)
    page = bench.ask("search", words="turquoise", limit=1)
    assert len(bench.ask("search", words="turquoise", cursor=page["next"])["hits"]) == 1
    assert bench.ask("search", words="nowhere to be found")["hits"] == []
    assert bench.fail("search", words="x", session="nobody")[0] == "unknown-session"


def test_the_timeline_shows_everything_in_order_and_can_be_narrowed(bench: Bench):
    """One list of what happened, whoever did it."""
    found = msgspec.convert(bench.ask("timeline"), session_values.Timeline)
    assert [each.seq for each in found.events] == sorted(each.seq for each in found.events)
    assert {each.type for each in found.events} == {"task", "chat", "checkpoint", "phase"}
    assert [each.checkpoint for each in found.events if each.subtype == "checkpoint_created"] == [1, 2, 3]
    ended = [each for each in found.events if each.subtype == "turn_ended"]
    assert [(each.session, each.turn) for each in ended] == [("s", 1), ("s", 2)]
    files = bench.ask("timeline", type="file", path="a")["events"]
    assert [(each["path"], each["subtype"], each["checkpoint"]) for each in files] == [
        ("a", "added", 1),
        ("a", "modified", 2),
        ("a", "modified", 3),
    ]
    page = bench.ask("timeline", type="checkpoint", limit=2)
    rest = bench.ask("timeline", type="checkpoint", cursor=page["next"])
    assert [each["checkpoint"] for each in page["events"] + rest["events"]] == [1, 2, 3]
    assert bench.ask("timeline", session="nobody")["events"] == []
    assert bench.ask("timeline", phase="phase 2")["events"]
    assert bench.ask("timeline", until="1 hour ago")["events"] == []
    assert bench.fail("timeline", type="odd")[0] == "usage"
    assert bench.fail("timeline", limit=0)[0] == "usage"


def test_a_fork_is_a_folder_of_its_own_with_a_session_that_goes_on(bench: Bench, tmp_path: Path):
    """Try another way without giving up this one."""
    target = tmp_path / "other"
    found = msgspec.convert(
        bench.ask("fork", folder=str(target), session="s", turn=1, new_session="s2"), session_values.Forked
    )
    assert (found.root, found.session, found.forked_from, found.files) == (str(target), "s2", "s", 2)
    assert (target / "a").read_text() == "one\nmore\n"
    there = bench.wire.result("session_show", workspace=found.workspace, session="s2")
    assert (there["forked_from"], there["forked_at"]) == ("s", found.forked_at)
    said = bench.wire.result("conversation", workspace=found.workspace, session="s2")
    assert said["messages"] == ["message 0"]
    plain = bench.ask("fork", folder=str(tmp_path / "plain"), checkpoint="1")
    assert (tmp_path / "plain" / "a").read_text() == "one\n"
    assert plain["workspace"] != found.workspace
    assert bench.fail("fork", folder=str(target), checkpoint="1")[0] == "refused-workspace"
    assert bench.fail("fork", folder="relative", checkpoint="1")[0] == "usage"


def test_a_branch_holds_the_files_of_a_checkpoint(bench: Bench):
    """Only on request does anything get into the user's own repository."""
    assert bench.fail("branch", checkpoint="2", name="try")[0] == "branch-refused"
    git("init", "-q", cwd=bench.root)
    found = msgspec.convert(bench.ask("branch", checkpoint="2", name="try"), session_values.Branched)
    assert (found.branch, found.checkpoint, found.parent) == ("try", 2, None)
    assert git("show", "try:a", cwd=bench.root) == b"one\nmore\n"
    assert git("rev-parse", "try", cwd=bench.root).decode().strip() == found.commit
    assert bench.fail("branch", checkpoint="2", name="try")[0] == "branch-refused"
    assert bench.ask("branch", checkpoint="3", name="try", force=True)["checkpoint"] == 3
    assert bench.fail("branch", checkpoint="99", name="new")[0] == "unknown-checkpoint"

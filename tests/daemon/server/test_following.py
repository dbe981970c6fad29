"""A session that works in more than one folder, asked over a real socket."""

from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.answering import Answering, Bench, answering
from support.watching import eventually
from support.wire import Wire

SAID = {"messages": [{"role": "user", "content": "both, please"}]}


class Pair(Bench):
    """A project and its worktree, both watched, and a session in the first that follows the second."""

    def __init__(self, server: Answering, wire: Wire) -> None:
        super().__init__(server, wire)
        self.tree = server.folder_with("tree", a="one\n")
        self.other = wire.result("watch", path=str(self.tree))["workspace"]
        self.begun = self.ask("session_start", session="s", title="Fix", follows=[str(self.tree)])

    def elsewhere(self, method: str, **params: Any) -> dict[str, Any]:
        """Asked of the worktree's workspace."""
        return self.wire.result(method, workspace=self.other, **params)

    def turn(self, content: str) -> dict[str, Any]:
        """One exchange, in which a file of each folder is written; the answer of the save."""
        number = self.ask("turn_start", session="s", prompt=f"make it {content}")["turn"]
        (self.root / "a").write_text(content)
        (self.tree / "a").write_text(content)
        return self.ask("save", session="s", turn=number, conversation=SAID)

    def contents(self) -> tuple[str, str]:
        """What is in the file of each folder."""
        return (self.root / "a").read_text(), (self.tree / "a").read_text()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with answering(tmp_path, auto_checkpoint=False) as server, server.wire() as wire:
        yield Pair(server, wire)


def test_a_turn_is_begun_saved_and_ended_in_the_followed_folder_too(pair: Pair):
    """Whoever works in a project and a worktree of it tells of each turn once."""
    assert (pair.begun["follows"], pair.begun["also"][0]["root"]) == ([pair.other], str(pair.tree))
    (pair.tree / "a").write_text("not saved yet")
    before = pair.ask("turn_start", session="s", turn=7, prompt="go")["also"][0]["checkpoint"]
    content = pair.elsewhere("read", checkpoint=str(before), path="a")["content_base64"]
    assert b64decode(content) == b"not saved yet"
    (pair.tree / "a").write_text("done")
    saved = pair.ask("save", session="s", conversation=SAID)["also"]
    assert [(one["workspace"], "error" in one) for one in saved] == [(pair.other, False)]
    found = pair.elsewhere("session_show", session="s")
    (turn,) = found["turns"]
    assert (turn["turn"], turn["before"], turn["after"]) == (7, before, saved[0]["checkpoint"])
    assert (turn["prompt"], found["title"], found["snapshots"]) == ("go", "Fix", [])
    pair.ask("session_end", session="s", reason="merged")
    assert pair.elsewhere("session_show", session="s")["status"] == "ended"


def test_all_folders_go_back_to_the_same_turn_and_each_is_undone_by_itself(pair: Pair):
    """A half that went back and a half that did not is a state that never was."""
    for content in ("first", "second", "third"):
        pair.turn(content)
    planned = pair.ask("rewind", session="s", to_turn=1)
    assert (planned["requires_confirmation"], pair.contents()) == (True, ("third", "third"))
    assert [(one["root"], one["written"]) for one in planned["also"]] == [(str(pair.tree), ["a"])]
    done = pair.ask("rewind", session="s", to_turn=1, confirm=True, plan=planned["plan"])
    assert (done["also"], pair.contents()) == (planned["also"], ("first", "first"))
    shown = pair.elsewhere("session_show", session="s", rewound=False)
    assert [turn["turn"] for turn in shown["turns"]] == [1]
    pair.ask("undo")
    assert pair.contents() == ("third", "first")
    pair.elsewhere("undo")
    assert pair.contents() == ("third", "third")


def test_a_change_in_the_followed_folder_alone_requires_confirmation(pair: Pair):
    """Nothing is overwritten in any folder before somebody said yes to it."""
    pair.turn("first")
    (pair.tree / "a").write_text("by hand")
    planned = pair.ask("rewind", session="s", to_turn=1)
    assert (planned["written"], planned["requires_confirmation"]) == ([], True)
    (pair.tree / "a").write_text("by hand, once more")
    refused = pair.ask("rewind", session="s", to_turn=1, confirm=True, plan=planned["plan"])["also"][0]
    assert "Something has changed" in refused["error"]
    assert pair.contents() == ("first", "by hand, once more")
    pair.ask("rewind", session="s", to_turn=1, confirm=True)
    assert pair.contents() == ("first", "first")


def test_a_conversation_goes_back_without_the_followed_folder(pair: Pair):
    """It lives in the leading one, and the files are not to be touched."""
    pair.turn("first")
    pair.turn("second")
    done = pair.ask("rewind", session="s", to_turn=1, scope="conversation", confirm=True)
    assert ("also" in done, done["turns_rewound"], pair.contents()) == (False, [2], ("second", "second"))


def test_a_followed_folder_that_is_watched_no_more_fails_nothing(pair: Pair):
    """The leading folder's checkpoint must not depend on whether a worktree was removed."""
    pair.turn("first")
    pair.wire.result("unwatch", workspace=pair.other)
    saved = pair.turn("second")
    assert (saved["session"], saved["turn"]) == ("s", 2)
    assert [(one["workspace"], one["root"]) for one in saved["also"]] == [(pair.other, None)]
    assert pair.other in saved["also"][0]["error"]
    done = pair.ask("rewind", session="s", to_turn=1, confirm=True)
    assert (done["written"], "error" in done["also"][0]) == (["a"], True)
    assert pair.contents() == ("first", "second")


def test_a_followed_folder_that_is_busy_holds_nobody_else_up(pair: Pair):
    """Neither the socket nor the leading folder's worker waits for it."""
    with pair.server.busy(pair.other):
        pair.wire.send("save", workspace=pair.id, session="s", turn=1)
        with pair.server.wire() as another:
            eventually(lambda: another.result("session_show", workspace=pair.id, session="s")["turns"])
        assert pair.wire.is_silent(0.05)
    assert pair.wire.receive()["result"]["also"][0]["checkpoint"]


def test_what_is_followed_can_be_changed_and_ended(pair: Pair):
    """A worktree is removed when its branch is merged."""
    assert pair.ask("session_start", session="s", title="Other")["follows"] == [pair.other]
    assert pair.elsewhere("session_show", session="s")["title"] == "Other"
    assert "follows" not in pair.ask("session_start", session="s", follows=[])
    assert "also" not in pair.turn("first")
    assert "follows" not in pair.elsewhere("session_show", session="s")


def test_only_another_folder_that_is_watched_can_be_followed(pair: Pair):
    """Whoever mistypes it must hear of it before the first turn, and not after the last."""
    unwatched = pair.server.folder_with("nobody")
    assert pair.fail("session_start", session="s", follows=[str(unwatched)])[0] == "unknown-workspace"
    assert pair.fail("session_start", session="s", follows=["nothing-1234"])[0] == "unknown-workspace"
    assert pair.fail("session_start", session="s", follows=[str(pair.root / "a")])[0] == "usage"

"""`mirror` asked over a real socket: everything that a store can hold, there and back again."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from backtrail.values import Mirrored
from support.answering import Bench, answering
from support.disk import fsck
from support.git import git
from support.mirrors import make_remote, refs, script
from support.watching import eventually


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with answering(tmp_path, auto_checkpoint=False) as server, server.wire() as wire:
        yield Bench(server, wire)


def fill(bench: Bench) -> None:
    """Something in every corner of the store."""
    said = [{"role": "user", "content": "change it"}]
    bench.ask("turn_start", session="s", prompt="change it")
    (bench.root / "a").write_text("changed\n")
    bench.ask("save", session="s", turn=1, conversation={"messages": said})
    bench.ask("pin", checkpoint="1")
    last = bench.save(a="too much\n")["number"]
    bench.ask("delete", checkpoints=[str(last)])


def test_a_mirror_holds_all_of_a_store_and_becomes_one_again(bench: Bench, tmp_path: Path):
    """A new machine, and nothing is left but the mirror: files, conversations and pins are all there."""
    there = make_remote(tmp_path / "there.git")
    fill(bench)
    git_dir = bench.server.service.store(bench.id) / "repo.git"

    done = msgspec.convert(bench.ask("mirror", remote=str(there)), Mirrored)

    assert {name.split("/")[1] for name in done.new} == {
        *("checkpoints", "pinned", "sessions", "transcripts", "backtrail")
    }
    assert refs(there) == refs(git_dir)
    assert sorted(done.new) == sorted(refs(git_dir))
    assert (done.remote, done.dry_run, done.up_to_date) == (str(there), False, 0)
    fsck(there)
    asked = ("list", "session_show", "conversation")
    before = [bench.ask(method, session="s") for method in asked]

    bench.wire.result("unwatch", workspace=bench.id)
    shutil.rmtree(git_dir.parent)
    git_dir.parent.mkdir(mode=0o700)
    git("clone", "-q", "--mirror", there, git_dir)
    bench.wire.result("watch", path=str(bench.root))

    assert [bench.ask(method, session="s") for method in asked] == before
    assert bench.ask("verify")["damage"] == []
    bench.ask("restore", checkpoint="1", paths=["a"])
    assert (bench.root / "a").read_text() == "one\n"
    assert bench.ask("list")["checkpoints"][0]["number"] > 3


def test_a_conversation_that_went_on_replaces_the_one_at_the_mirror(bench: Bench, tmp_path: Path):
    """Unlike checkpoints, sessions change."""
    there = make_remote(tmp_path / "there.git")
    fill(bench)
    bench.ask("mirror", remote=str(there))
    bench.ask("session_update", session="s", title="Another")
    bench.ask("unpin", checkpoint="1")

    plan = bench.ask("mirror", remote=str(there), delete=True, dry_run=True)
    done = bench.ask("mirror", remote=str(there), delete=True)

    assert ([ref.split("/")[1] for ref in done["updated"]], done["deleted"]) == (
        ["sessions"],
        ["refs/pinned/1"],
    )
    assert plan == {**done, "dry_run": True}
    assert refs(there) == refs(bench.server.service.store(bench.id) / "repo.git")


def test_a_request_that_can_t_be_done_says_why(bench: Bench, tmp_path: Path):
    """A program decides by the code, a person by the sentence."""
    assert bench.fail("mirror", remote="relative") == ("usage", "'relative' is no place for a mirror.")
    assert bench.fail("mirror", remote="--mirror")[0] == "usage"
    assert bench.fail("mirror", remote=f"ext::touch {tmp_path}/ran")[0] == "usage"
    code, sentence = bench.fail("mirror", remote='"/caf\\351"')
    assert code == "mirror-failed"
    assert sentence.startswith('"/caf\\351" could not be made a mirror: fatal: ')
    assert not (tmp_path / "ran").exists()


def test_the_daemon_stops_while_a_remote_does_not_answer(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The worker saves meanwhile, and a shutdown waits for no network."""
    script(tmp_path / "ssh", f"touch {tmp_path}/begun; exec sleep 60")
    monkeypatch.setenv("GIT_SSH_COMMAND", str(tmp_path / "ssh"))
    monkeypatch.setenv("GIT_SSH_VARIANT", "simple")
    with bench.server.wire() as other:
        other.send("mirror", workspace=bench.id, remote="host:x")
        eventually((tmp_path / "begun").exists)
        assert bench.save(a="still at work")["number"] == 2
        bench.server.server.refuse()
        assert other.receive(10)["error"]["data"]["code"] == "daemon-stopping"

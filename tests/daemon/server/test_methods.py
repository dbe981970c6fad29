"""Every method, asked over a real socket."""

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zmq

from backtrail import protocol, values
from backtrail.methods import methods
from backtraild.server import calls, session_calls, session_works, works
from support.answering import Bench, answering
from support.watching import eventually


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with answering(tmp_path, auto_checkpoint=False) as server, server.wire() as wire:
        yield Bench(server, wire)


def test_every_method_of_the_protocol_has_exactly_one_that_does_it():
    """A method that is announced and not there would be found by a user."""
    here = [protocol.PING.name, protocol.STOP.name]
    done = [*here, *works.BY_NAME, *calls.SLOW, *calls.LOOKING, *calls.QUICK]
    done += [*session_works.BY_NAME, *session_calls.SLOW]
    assert sorted(done) == sorted(method.name for method in methods())


def test_ping_tells_which_daemon_answers(bench: Bench):
    """Versions must fit, and a new epoch tells that the daemon was started again."""
    pong = msgspec.convert(bench.wire.result("ping"), values.Pong)
    assert (pong.pid, pong.protocol) == (os.getpid(), protocol.VERSION)
    assert (pong.epoch, pong.seq) == (bench.server.service.log.epoch, bench.server.service.log.newest)


def test_watching_takes_a_baseline_and_says_whether_the_folder_is_new(bench: Bench):
    """`backtrail watch` twice is harmless, and says so."""
    root = bench.server.folder_with("new", file="content")
    first = bench.wire.result("watch", path=str(root))
    assert first["is_new"]
    assert first["root"] == str(root)
    assert first["checkpoint"]["kind"] == "baseline"
    assert first["checkpoint"]["files_changed"] == 1
    again = bench.wire.result("watch", path=str(root))
    assert not again["is_new"]
    assert again["workspace"] == first["workspace"]


def test_settings_come_with_the_folder(bench: Bench):
    """CheckpointConfig of the Python library goes this way."""
    root = bench.server.folder_with("set", file="content", log="noise")
    caps = {"max_checkpoints": 7, "max_store_bytes": 10**9, "min_free_bytes": 0}
    watched = bench.wire.result("watch", path=str(root), exclude_patterns=["log"], **caps)
    assert watched["checkpoint"]["files_changed"] == 1
    config = bench.server.service.entry(watched["workspace"]).config
    assert (config.max_checkpoints, config.max_store_bytes, config.min_free_bytes) == (7, 10**9, 0)
    status = bench.wire.result("status", workspace=watched["workspace"])
    assert (status["max_store_bytes"], status.get("min_free_bytes", 0)) == (10**9, 0)
    assert status["free_bytes"] > 0
    error = bench.wire.error("watch", path=str(root), quiet=-1.0)
    assert error["data"]["code"] == "usage"
    assert "quiet" in error["message"]


def test_a_store_of_its_own_is_where_the_checkpoints_go(bench: Bench, tmp_path: Path):
    """The large disk is another one."""
    root = bench.server.folder_with("elsewhere", file="content")
    watched = bench.wire.result("watch", path=str(root), store=str(tmp_path / "disk"))
    status = bench.wire.result("status", workspace=watched["workspace"])
    assert status["store"].startswith(str(tmp_path / "disk"))
    assert (Path(status["store"]) / "repo.git").is_dir()


def test_a_save_gives_the_checkpoint_with_its_files(bench: Bench):
    """What INTERFACE promises of a checkpoint, field by field."""
    (bench.root / "a").write_text("one\nmore\n")
    saved = bench.ask(
        "save", message="why", session="s", turn=3, metadata={"k": [1, {"x": None}]}, kind="agent"
    )
    checkpoint = msgspec.convert(saved, values.Checkpoint)
    assert (checkpoint.number, checkpoint.kind, checkpoint.message) == (2, "agent", "why")
    assert (checkpoint.session, checkpoint.turn) == ("s", 3)
    assert checkpoint.metadata == {"k": [1, {"x": None}]}
    assert (checkpoint.insertions, checkpoint.deletions, checkpoint.parent) == (1, 0, 1)
    assert saved["files_changed"] == [
        {"path": "a", "status": "modified", "size": 9, "insertions": 1, "deletions": 0}
    ]
    assert bench.ask("get", checkpoint="2") == saved


def test_nothing_to_save_is_an_error_of_its_own(bench: Bench):
    """The command line ends with 3 then."""
    assert bench.fail("save")[0] == "nothing-to-do"
    assert bench.ask("save", allow_empty=True)["number"] == 2


def test_a_save_that_is_repeated_with_its_request_is_made_once(bench: Bench):
    """The answer was lost with the connection; the client asks again."""
    first = bench.ask("save", allow_empty=True, request="r-1")
    assert bench.ask("save", allow_empty=True, request="r-1") == first
    assert bench.ask("save", allow_empty=True, request="r-2")["number"] == first["number"] + 1


def test_what_no_checkpoint_can_carry_is_refused(bench: Bench):
    """It would be there for ever."""
    for params in (
        {"kind": "restore"},
        {"request": ""},
        {"request": "x" * 10_000},
        {"session": "x" * 10_000},
        {"message": "x" * 300_000},
        {"metadata": {"k": "x" * 300_000}},
    ):
        assert bench.fail("save", allow_empty=True, **params)[0] == "usage"
    assert bench.ask("save", allow_empty=True)["number"] == 2


def test_a_list_has_pages(bench: Bench):
    """A cursor leads through thousands of checkpoints."""
    for number in range(4):
        bench.save(a=f"{number}")
    page = bench.ask("list", limit=2)
    assert [each["number"] for each in page["checkpoints"]] == [5, 4]
    assert page["checkpoints"][0]["files_changed"] == 1
    rest = bench.ask("list", limit=10, cursor=page["next"], files=True)
    assert [each["number"] for each in rest["checkpoints"]] == [3, 2, 1]
    assert "next" not in rest
    assert rest["checkpoints"][2]["files_changed"][0]["path"] == "a"


def test_a_list_can_be_narrowed(bench: Bench):
    """Which checkpoint had the working version of this file?"""
    bench.save(a="changed")
    bench.save(b="changed")
    assert [each["number"] for each in bench.ask("list", path="b")["checkpoints"]] == [3, 1]
    assert [each["number"] for each in bench.ask("list", path=f"{bench.root}/b")["checkpoints"]] == [3, 1]
    assert [each["number"] for each in bench.ask("list", kind="baseline")["checkpoints"]] == [1]
    assert len(bench.ask("list", since="1 hour ago", until="now")["checkpoints"]) == 3
    assert bench.ask("list", until="2 hours ago")["checkpoints"] == []


def test_a_file_is_read_by_its_name_and_in_pieces(bench: Bench):
    """`backtrail show 42:file`, also of a file larger than a message."""
    content = os.urandom(9_000_000)
    (bench.root / "large").write_bytes(content)
    bench.save()
    read, answer = b"", {"size": 1}
    while len(read) < answer["size"]:
        answer = bench.ask("read", checkpoint="@", path="large", offset=len(read), length=2_000_000)
        assert answer.get("offset", 0) == len(read)
        read += base64.b64decode(answer["content_base64"])
    assert read == content
    piece = bench.ask("read", checkpoint="@:large", offset=5, length=7)
    assert base64.b64decode(piece["content_base64"]) == content[5:12]
    assert bench.ask("read", checkpoint="@:large", offset=10**12).get("content_base64", "") == ""
    whole = bench.ask("read", checkpoint="@:large", length=10**12)
    assert len(base64.b64decode(whole["content_base64"])) == protocol.MAX_READ_BYTES


def test_folders_and_links_are_read_for_what_they_are(bench: Bench):
    """A folder has names, a link points somewhere."""
    (bench.root / "src").mkdir()
    (bench.root / "src" / "run").write_text("#!/bin/sh\n")
    (bench.root / "src" / "run").chmod(0o755)
    (bench.root / "link").symlink_to("src/run")
    (bench.root / os.fsdecode(b"caf\xe9")).write_text("")
    bench.save()
    root = bench.ask("read", checkpoint="@:")
    assert (root["kind"], root["path"]) == ("folder", "")
    assert root["entries"] == [
        {"name": "a", "kind": "file"},
        {"name": "b", "kind": "file"},
        {"name": '"caf\\351"', "kind": "file"},
        {"name": "link", "kind": "symlink"},
        {"name": "src", "kind": "folder"},
    ]
    assert bench.ask("read", checkpoint="@:src")["entries"] == [{"name": "run", "kind": "executable"}]
    link = bench.ask("read", checkpoint="@", path="link")
    assert (link["kind"], base64.b64decode(link["content_base64"])) == ("symlink", b"src/run")
    assert bench.ask("read", checkpoint='@:"caf\\351"')["size"] == 0
    assert bench.fail("read", checkpoint="@:nothing")[0] == "unknown-path"
    assert bench.fail("read", checkpoint="99:a")[0] == "unknown-checkpoint"


def test_a_diff_has_its_patch_unless_nobody_wants_it(bench: Bench):
    """`--stat` of a large change need not make a large patch."""
    bench.save(a="changed\n", c="new\n")
    (bench.root / "b").unlink()
    diff = bench.ask("diff", **{"from": "1", "to": "2"})
    assert (diff["added_files"], diff["modified_files"], diff["deleted_files"]) == (["c"], ["a"], [])
    assert "+changed" in diff["diff_content"]
    now = bench.ask("diff", content=False)
    assert (now["to_id"], now["deleted_files"], now["diff_content"]) == (None, ["b"], "")
    assert now["deletions"] == 1
    assert bench.ask("diff", **{"from": "1"}, paths=["c"])["added_files"] == ["c"]


def test_a_restore_is_planned_done_and_undone(bench: Bench):
    """The heart of it."""
    bench.save(a="changed")
    plan = bench.ask("restore", checkpoint="1", dry_run=True)
    assert (plan["written"], plan["dry_run"], plan["safety_checkpoint"]) == (["a"], True, None)
    assert (bench.root / "a").read_text() == "changed"
    done = bench.ask("restore", checkpoint="1", request="once")
    assert (done["written"], done["deleted"], done["conflicts"]) == (["a"], [], [])
    assert (bench.root / "a").read_text() == "one\n"
    again = bench.ask("restore", checkpoint="1", request="once")
    assert again["result"] == done["result"]
    undone = bench.ask("undo", request="back")
    assert undone["checkpoint"]["number"] == done["safety_checkpoint"]["number"]
    assert (bench.root / "a").read_text() == "changed"
    bench.ask("undo", request="back")
    assert (bench.root / "a").read_text() == "changed"


def test_a_restore_of_one_path_takes_it_from_the_name(bench: Bench):
    """`backtrail restore 1:a`."""
    bench.save(a="changed", b="changed")
    assert bench.ask("restore", checkpoint="1:a")["written"] == ["a"]
    assert (bench.root / "b").read_text() == "changed"
    assert bench.ask("restore", checkpoint="1", paths=[f"{bench.root}/b"])["written"] == ["b"]


def test_checkpoints_are_deleted_pinned_pruned_and_verified(bench: Bench):
    """Retention by hand."""
    bench.save(a="2")
    bench.save(a="3")
    assert bench.ask("pin", checkpoint="1")["pinned"]
    assert not bench.ask("unpin", checkpoint="1")["pinned"]
    assert bench.fail("delete", checkpoints=["2", "99"])[0] == "unknown-checkpoint"
    assert [each["number"] for each in bench.ask("delete", checkpoints=["2"])["deleted"]] == [2]
    pruned = msgspec.convert(bench.ask("prune", dry_run=True), values.PruneResult)
    assert (pruned.dropped, pruned.kept, pruned.dry_run) == ([], 2, True)
    verified = msgspec.convert(bench.ask("verify"), values.VerifyResult)
    assert (verified.whole, verified.damage, verified.checkpoints) == ([1, 3], [], 2)


def test_damage_is_told_with_the_checkpoints_that_need_it(bench: Bench):
    """`backtrail verify` must say what is lost."""
    bench.save(a="2")
    ref = bench.server.places.store(bench.id) / "repo.git" / "refs" / "checkpoints" / "2"
    ref.write_text("garbage\n")
    found = msgspec.convert(bench.ask("verify", heal=False), values.VerifyResult)
    assert (found.whole, found.healed) == ([1], [])
    assert [damage.checkpoints for damage in found.damage] == [[2]]


def test_a_check_heals_what_it_can_and_still_tells_what_it_found(bench: Bench):
    """The next one finds nothing any more."""
    bench.save(a="2")
    ref = bench.server.places.store(bench.id) / "repo.git" / "refs" / "checkpoints" / "2"
    ref.write_text("garbage\n")
    found = msgspec.convert(bench.ask("verify"), values.VerifyResult)
    assert (found.whole, found.healed) == ([1, 2], [2])
    assert [damage.checkpoints for damage in found.damage] == [[2]]
    assert msgspec.convert(bench.ask("verify"), values.VerifyResult).damage == []


def test_the_status_says_how_a_folder_is_doing(bench: Bench):
    """What `backtrail status` shows."""
    for number in range(12):
        os.mkfifo(bench.root / f"pipe{number:02}")
    bench.save()
    status = msgspec.convert(bench.ask("status"), values.WorkspaceStatus)
    assert (status.root, status.state, status.files) == (str(bench.root), "watching", 2)
    assert status.store == str(bench.server.places.store(bench.id))
    assert (status.skipped_count, len(status.skipped)) == (12, 12)
    assert status.skipped[0] == values.SkippedFile(path="pipe00", size=0, reason="special-file")
    assert status.last_checkpoint is not None
    assert status.last_checkpoint.number == 2


def test_pausing_shows_at_once(bench: Bench):
    """Whoever pauses looks at the answer."""
    assert bench.ask("pause")["state"] == "paused"
    (info,) = bench.wire.result("workspaces")["workspaces"]
    assert info["paused"]
    assert bench.ask("resume_watching")["state"] == "watching"


def test_a_workspace_answers_to_its_id_its_path_and_every_path_in_it(bench: Bench, tmp_path: Path):
    """The command line names the current folder and lets the daemon find out."""
    (bench.root / "deep" / "er").mkdir(parents=True)
    (tmp_path / "link").symlink_to(bench.root / "deep")
    inner = bench.wire.result("watch", path=str(bench.root / "deep" / "er"))["workspace"]
    for name, workspace in [
        (str(bench.root), bench.id),
        (f"{bench.root}/", bench.id),
        (f"{bench.root}/deep", bench.id),
        (f"{bench.root}/deep/er/missing", inner),
        (f"{tmp_path}/link/er", inner),
        (f'"{bench.root}/deep"', bench.id),
    ]:
        assert bench.wire.result("status", workspace=name)["workspace"] == workspace
        assert bench.wire.result("list", workspace=name)["checkpoints"]
    for name in ("nobody-0123456789", "/", "", '"/\\377"'):
        for method in ("status", "list", "unwatch"):
            assert bench.wire.error(method, workspace=name)["data"]["code"] == "unknown-workspace"
    assert bench.wire.error("list", workspace="/a\0b")["data"]["code"] == "usage"


def test_events_are_replayed_from_a_number(bench: Bench):
    """What a subscriber does that missed some."""
    bench.save(a="2")
    page = msgspec.convert(bench.wire.result("events", since=0), values.EventPage)
    assert [event.seq for event in page.events] == list(range(1, page.newest + 1))
    assert page.epoch == bench.server.service.log.epoch
    assert page.events[-1].type == "checkpoint_created"
    assert page.events[-1].checkpoint == 2
    first = bench.wire.result("events", since=0, limit=1)
    assert (len(first["events"]), first["newest"]) == (1, page.newest)
    assert bench.wire.result("events", since=page.newest)["events"] == []
    assert len(bench.wire.result("events", since=0, workspace=str(bench.root))["events"]) == page.newest
    assert bench.wire.result("events", since=0, workspace="gone-0123456789")["events"] == []


def test_a_folder_watched_no_more_keeps_its_store_unless_it_is_purged(bench: Bench):
    """`unwatch` alone loses nothing."""
    store = bench.server.places.store(bench.id)
    assert bench.ask("unwatch") == {"workspace": bench.id, "root": str(bench.root), "store": str(store)}
    assert store.is_dir()
    bench.wire.result("watch", path=str(bench.root))
    assert bench.ask("unwatch", purge=True)["store"] is None
    assert not store.exists()


def test_a_folder_whose_name_is_not_utf_8_is_served_like_any_other(bench: Bench, tmp_path: Path):
    """Old disks have such names, and a sentence about trouble with one must get through as well."""
    root = tmp_path / os.fsdecode(b"caf\xe9")
    root.mkdir()
    shown = f'"{tmp_path}/caf\\351"'
    watched = bench.wire.result("watch", path=shown)
    assert watched["root"] == shown
    root.rename(tmp_path / "away")
    name = watched["workspace"]
    eventually(
        lambda: bench.wire.ask("save", workspace=name)["error"]["data"]["code"] == "workspace-unavailable"
    )
    status = bench.wire.result("status", workspace=name)
    assert status["state"] == "degraded"
    assert "caf" in " ".join(status["reasons"])


def test_a_request_socket_is_answered_with_its_delimiter(bench: Bench):
    """The simplest client of all, in any language."""
    with bench.server.wire(kind=zmq.REQ) as wire:
        assert wire.result("ping")["pid"] == os.getpid()
        assert wire.error("nothing")["code"] == protocol.METHOD_NOT_FOUND


def test_requests_may_be_sent_without_waiting_for_answers(bench: Bench):
    """An asynchronous client has many under way on one connection."""
    wanted = {bench.wire.send("ping") for _ in range(300)}
    wanted |= {bench.wire.send("get", workspace=bench.id, checkpoint="@") for _ in range(300)}
    wanted |= {bench.wire.send("status", workspace=bench.id) for _ in range(300)}
    answers = [bench.wire.receive() for _ in range(900)]
    assert {answer["id"] for answer in answers if "result" in answer} == wanted


def test_a_bug_is_answered_and_logged(bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: Any):
    """Never silence: the client would wait for ever."""

    def stumble(*_: object) -> None:
        raise ZeroDivisionError("inside")

    monkeypatch.setitem(calls.QUICK, "workspaces", stumble)
    monkeypatch.setitem(works.BY_NAME, "get", lambda *_: stumble)
    for method, params in (("workspaces", {}), ("get", {"workspace": bench.id, "checkpoint": "@"})):
        error = bench.wire.error(method, **params)
        assert (error["code"], error["data"]["code"]) == (protocol.INTERNAL_ERROR, "bug")
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["inside"] * 2
    assert bench.wire.result("ping")

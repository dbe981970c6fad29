"""The commands of everyday work, run as processes against a real daemon: results, JSON, exit codes, sentences."""

import base64
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.cli.main import run
from support.commands import Ran, Shell, shell_in
from support.git import git
from support.sources import ROOT

CHECKPOINT = {
    "number", "id", "tree", "kind", "message", "timestamp", "files_changed", "insertions", "deletions",
    "metadata", "skipped", "pinned", "parent",
}  # fmt: skip
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """One daemon for all tests here: each works with what it writes itself."""
    with shell_in(tmp_path_factory.mktemp("cli")) as found:
        found.write("README.md", "hello\n")
        found("watch")
        yield found


def test_watching_tells_what_was_captured_and_what_to_type_next(tmp_path: Path) -> None:
    """Somebody who has just installed it wants to know that it works, and how to go on."""
    with shell_in(tmp_path) as shell:
        shell.write("a.txt", "one\n")
        shell.write("b.log", "two\n")
        first = shell("watch", "--exclude", "*.log")
        assert "1 file" in first.text
        assert first.text.splitlines()[-1].startswith("`backtrail list`")
        assert first.err == ""
        assert "watched already" in shell("watch").text
        again = shell("watch", "--json").json
        assert again["is_new"] is False
        assert again["root"] == str(shell.root)
        assert again["checkpoint"]["number"] == 1
        assert [found["root"] for found in shell("workspaces", "--json").json["workspaces"]] == [
            str(shell.root)
        ]
        assert "work" in shell("workspaces").text
        gone = shell("unwatch", "--json").json
        assert gone["root"] == str(shell.root)
        assert Path(gone["store"]).is_dir()
        refused = shell("status", "--json", status=11)
        assert refused.out == b""
        assert refused.error["code"] == "unknown-workspace"
        assert "backtrail watch" in refused.error["hint"]


def test_a_folder_that_must_not_be_watched_is_refused_with_the_reason(shell: Shell) -> None:
    """The home folder would swallow everything."""
    refused = shell("watch", str(shell.folder), status=1)
    assert "home folder" in refused.err
    assert refused.out == b""
    missing = shell("watch", "nowhere", "--json", status=1)
    assert "There is no folder" in missing.error["message"]


def test_status_has_every_field_that_is_promised(shell: Shell) -> None:
    """Editors show a light in a corner by it."""
    found = shell("status", "--json").json
    promised = {
        "workspace", "root", "state", "reasons", "files", "bytes", "pending", "last_checkpoint", "store_bytes",
        "checkpoints", "skipped", "watcher", "max_store_bytes", "free_bytes", "min_free_bytes",
    }  # fmt: skip
    assert promised <= set(found)
    assert found["root"] == str(shell.root)
    assert found["state"] == "watching"
    assert found["last_checkpoint"]["number"] >= 1
    shell("watch", str(shell.root), "--max-store", "7G")
    text = shell("status").text
    assert "watching" in text
    assert " of 7.0 GB in " in text


def test_a_save_is_a_checkpoint_with_every_field_that_is_promised(shell: Shell) -> None:
    """Frameworks keep its number with the turn that made it."""
    shell.write("fields.txt", "one\ntwo\n")
    words = ["-m", "with fields", "--session", "s1", "--turn", "3", "--meta", "model=x", "--meta", "cost=1=2"]
    made = shell("save", "--json", *words).json
    assert set(made) >= CHECKPOINT
    assert (made["message"], made["session"], made["turn"]) == ("with fields", "s1", 3)
    assert made["kind"] == "manual"
    assert made["metadata"] == {"model": "x", "cost": "1=2"}
    assert TIME.fullmatch(made["timestamp"])
    change = {"path": "fields.txt", "status": "added", "size": 8, "insertions": 2, "deletions": 0}
    assert [{**found} for found in made["files_changed"]] == [change]
    assert (made["insertions"], made["deletions"], made["pinned"]) == (2, 0, False)
    assert made["parent"] == made["number"] - 1
    assert shell("list", "--json", "--session", "s1").json["checkpoints"][0]["number"] == made["number"]


def test_saving_without_a_change_is_nothing_to_do(shell: Shell) -> None:
    """A script has to tell “saved” from “nothing was there to save”."""
    shell.save()
    nothing = shell("save", status=3)
    assert nothing.out == b""
    assert nothing.err.startswith("error: Nothing has changed")
    assert shell("save", "--json", status=3).error["code"] == "nothing-to-do"
    assert "saved" in shell("save", "--allow-empty").text


def test_list_gives_counts_or_files_and_a_cursor(shell: Shell) -> None:
    """A list of a thousand files in each line is no list."""
    shell.write("listed/a", "1\n")
    first = shell.save("list one")
    shell.write("listed/b", "1\n")
    second = shell.save("list two")
    page = shell("list", "--json", "-n", "2").json
    assert [found["message"] for found in page["checkpoints"]] == ["list two", "list one"]
    assert page["checkpoints"][0]["files_changed"] == 1
    assert page["next"] == first["number"]
    assert set(page["checkpoints"][0]) >= CHECKPOINT
    with_files = shell("list", "--json", "-n", "1", "--files").json["checkpoints"][0]["files_changed"]
    assert [found["path"] for found in with_files] == ["listed/b"]
    by_path = shell("list", "--json", "--path", "listed/a").json["checkpoints"]
    assert [found["number"] for found in by_path] == [first["number"]]
    assert shell("list", "--json", "--kind", "baseline").json["checkpoints"][0]["number"] == 1
    assert shell("list", "--json", "--until", "2 hours ago").json == {"checkpoints": []}
    text = shell("list", "-n", "2").text
    assert text.index("list two") < text.index("list one")
    assert str(second["number"]) in text


def test_a_time_that_nobody_understands_is_a_usage_error(shell: Shell) -> None:
    """It must not be taken for “all times”."""
    wrong = shell("list", "--since", "someday", "--json", status=2)
    assert wrong.error["code"] == "usage"
    assert "someday" in wrong.error["message"]


def test_show_gives_a_checkpoint_a_file_or_a_folder(shell: Shell) -> None:
    """The most wanted thing is one old file."""
    content = bytes(range(256)) * 3
    shell.write("shown/data.bin", content)
    shell.write("shown/sub/x", "x\n")
    made = shell.save("shown one")
    number = str(made["number"])
    assert shell("show", number, "--json").json == made
    assert "shown one" in shell("show", made["id"][:10]).text
    assert shell("show", f"{number}:shown/data.bin").out == content
    as_json = shell("show", "--json", f"{number}:shown/data.bin").json
    assert base64.b64decode(as_json["content_base64"]) == content
    assert shell("show", f"{number}:shown").text.split() == ["data.bin", "sub/"]
    entries = shell("show", f"{number}:shown", "--json").json["entries"]
    assert entries == [{"name": "data.bin", "kind": "file"}, {"name": "sub", "kind": "folder"}]
    assert "README.md" in shell("show", f"{number}:").text


def test_a_file_larger_than_one_answer_comes_out_whole(shell: Shell) -> None:
    """Pieces have to fit together, byte for byte."""
    content = os.urandom(9 * 1024 * 1024)
    shell.write("large.bin", content)
    shell.save("large")
    assert shell("show", "@:large.bin").out == content


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (["show", "99999"], 12, "unknown-checkpoint"),
        (["show", "@:no/such/file"], 1, "unknown-path"),
        (["show", "@~9999"], 12, "unknown-checkpoint"),
        (["show", "not-a-name"], 12, "unknown-checkpoint"),
        (["show", "@{someday}"], 2, "usage"),
        (["diff", "1", "99999"], 12, "unknown-checkpoint"),
        (["restore", "99999", "--yes"], 12, "unknown-checkpoint"),
        (["pin", "99999"], 12, "unknown-checkpoint"),
        (["delete", "1", "99999"], 12, "unknown-checkpoint"),
        (["status", "-w", "/nowhere"], 11, "unknown-workspace"),
        (["status", "-w", "work-0123456789"], 11, "unknown-workspace"),
        (["status", "-w", ""], 2, "usage"),
        (["diff", "--", "../elsewhere"], 2, "usage"),
    ],
)
def test_every_failure_has_its_status_and_its_code(
    shell: Shell,
    words: list[str],
    status: int,
    code: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Programs decide by them what to do next."""
    shell.enter(monkeypatch)
    assert run(["--json", *words]) == status
    out, err = capfd.readouterr()
    assert out == ""
    failed = Ran(status, b"", err).error
    assert failed["code"] == code
    assert failed["message"].endswith(".")


def test_diff_is_a_patch_that_git_understands(shell: Shell) -> None:
    """The default is what changed since the newest checkpoint."""
    shell.write("diff.txt", "one\n")
    before = shell.save("before")
    shell.write("diff.txt", "one\ntwo\n")
    assert "+two" in shell("diff").text
    shell.write("diff.new", "new\n")
    after = shell.save("after")
    found = shell("diff", "--json", str(before["number"]), str(after["number"])).json
    assert (found["from_id"], found["to_id"]) == (before["id"], after["id"])
    assert (found["added_files"], found["modified_files"]) == (["diff.new"], ["diff.txt"])
    assert (found["deleted_files"], found["renamed_files"]) == ([], [])
    assert (found["insertions"], found["deletions"]) == (2, 0)
    assert found["diff_content"] == shell("diff", str(before["number"]), "@").text
    assert shell("diff", str(before["number"]), "--name-status").text == "A\tdiff.new\nM\tdiff.txt\n"
    assert "diff.txt | 1 +" in shell("diff", "--stat", str(before["number"]), "--", "diff.txt").text
    assert shell("diff").text == ""


def test_pinning_deleting_pruning_and_verifying(shell: Shell) -> None:
    """Retention by hand."""
    shell.write("kept.txt", "kept\n")
    number = str(shell.save("kept")["number"])
    assert shell("pin", number, "--json").json["pinned"] is True
    assert "no longer pinned" in shell("unpin", number).text
    gone = shell("delete", number, "--json").json
    assert [found["number"] for found in gone["deleted"]] == [int(number)]
    shell("show", number, status=12)
    plan = shell("prune", "--dry-run", "--json").json
    assert plan["dry_run"] is True
    assert {reason: len(numbers) for reason, numbers in plan["kept_numbers"].items()} == plan["kept_reasons"]
    assert "kept" in shell("prune").text
    result = shell("verify", "--json").json["workspaces"]
    assert [found["damage"] for found in result] == [[]]
    assert "All whole" in shell("verify", "-w", ".").text


def test_pausing_and_going_on(shell: Shell) -> None:
    """The state says which of both holds."""
    assert shell("pause", "--json").json["state"] == "paused"
    assert "paused" in shell("status").text
    assert shell("resume-watching", "--json").json["state"] == "watching"


def test_stores_of_an_older_backtrail_are_brought_up_to_date(shell: Shell):
    """Also of a folder that is watched no more: its owner may want it back in years."""
    folder = shell.home / "data" / "workspaces" / "old-project"
    folder.mkdir(parents=True)
    archive = ROOT / "tests" / "fixtures" / "store-format-1.tar.gz"
    subprocess.run(["tar", "-xzf", archive, "-C", folder], check=True)
    for path in (folder / "store").iterdir():
        path.rename(folder / path.name)
    done = shell("migrate", "--json").json["stores"]
    assert {"store": str(folder), "before": 1, "now": 2} in done
    assert {each["now"] for each in done} == {2}
    assert "version 1" not in shell("migrate").text
    assert "up to date already" in shell("migrate").text


def test_a_mirror_is_kept_and_nothing_is_deleted_there_by_accident(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The mirror may be the only copy of what is gone here."""
    shell.enter(monkeypatch)
    git("init", "-q", "--bare", shell.folder / "mirror.git")
    number = str(shell.save()["number"])
    there = str(shell.folder / "mirror.git")

    def mirror(*options: str, status: int = 0) -> str:
        assert run(("mirror", "../mirror.git", *options)) == status
        return "".join(capsys.readouterr())

    assert f"{there} would be a mirror" in mirror("--dry-run")
    assert f"{there} is now a mirror of this workspace. Refs: " in mirror()
    assert f"{there} is up to date" in mirror("--delete")
    assert run(("delete", number)) == 0
    mirror()
    told = mirror("--delete", status=13)
    assert f"would delete 1 ref at {there}, which may be nowhere else. Nothing was changed." in told
    assert json.loads(mirror("--delete", "--yes", "--json"))["deleted"] == [f"refs/checkpoints/{number}"]
    assert run(("mirror", "http://example.org/x")) == 2

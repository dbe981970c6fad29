"""`restore` and `undo` as processes: nothing changes without a yes, and everything can be taken back."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Shell, shell_in


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell_in(tmp_path_factory.mktemp("cli")) as found:
        found.write("README.md", "hello\n")
        found("watch")
        yield found


@pytest.fixture
def shell(place: Shell) -> Shell:
    """The same three files before every test, and one checkpoint more with the first two of them changed."""
    place.write("src/app.py", "one\n")
    place.write("src/lib.py", "lib\n")
    place.write("docs/app.md", "text\n")
    (place.root / "new.txt").unlink(missing_ok=True)
    place.save("before")
    place.write("src/app.py", "two\n")
    place.write("docs/app.md", "other\n")
    place.write("new.txt", "new\n")
    place.save("after")
    return place


def files(shell: Shell) -> list[str]:
    paths = ("src/app.py", "src/lib.py", "docs/app.md", "new.txt")
    return [(shell.root / path).read_text() if (shell.root / path).exists() else "" for path in paths]


BEFORE, AFTER = ["one\n", "lib\n", "text\n", ""], ["two\n", "lib\n", "other\n", "new\n"]


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_without_a_terminal_nothing_is_restored_unless_yes_is_said(shell: Shell, words: list[str]) -> None:
    """A script that forgot --yes must not have its files replaced, and has to learn why."""
    refused = shell("restore", "@~1", *words, status=13)
    assert files(shell) == AFTER
    assert refused.out == b""
    message = refused.error["message"] if words else refused.err
    assert "would write 2 files and delete 1 file. Nothing was changed." in message
    assert "--yes" in (refused.error["hint"] if words else refused.err)


def test_a_dry_run_tells_exactly_what_would_happen(shell: Shell) -> None:
    """Before a restore, people want to see what it would do; a plan needs no confirmation."""
    plan = shell("restore", "@~1", "--dry-run", "--json").json
    assert set(plan) >= {
        "checkpoint",
        "safety_checkpoint",
        "written",
        "deleted",
        "unchanged",
        "conflicts",
        "dry_run",
    }
    assert (plan["written"], plan["deleted"]) == (["docs/app.md", "src/app.py"], ["new.txt"])
    assert (plan["dry_run"], plan["safety_checkpoint"], plan["conflicts"]) == (True, None, [])
    assert plan["checkpoint"]["message"] == "before"
    text = shell("restore", "@~1", "--dry-run", "--yes").text
    assert "would" in text
    assert "src/app.py" in text
    assert files(shell) == AFTER


def test_a_restore_and_its_undo_and_the_undo_of_that(shell: Shell) -> None:
    """Going back is safe because going forward again is."""
    done = shell("restore", "@~1", "--yes", "--json").json
    assert files(shell) == BEFORE
    assert (done["written"], done["deleted"]) == (["docs/app.md", "src/app.py"], ["new.txt"])
    assert done["dry_run"] is False
    assert done["safety_checkpoint"]["kind"] == "pre_restore"
    assert "Restored" in shell("undo").text
    assert files(shell) == AFTER
    shell("undo")
    assert files(shell) == BEFORE


def test_one_path_of_a_checkpoint_is_restored_alone(shell: Shell) -> None:
    """The name of a file in a checkpoint is understood as `show` understands it."""
    assert shell("restore", "@~1:", "--dry-run", "--json").json["deleted"] == ["new.txt"]
    done = shell("restore", "@~1:src/app.py", "--yes", "--json").json
    assert done["written"] == ["src/app.py"]
    assert files(shell) == ["one\n", "lib\n", "other\n", "new\n"]
    both = shell("restore", "@~1:src", "docs", "--yes", status=2)
    assert "more paths follow it" in both.err
    for outside in ("@~1:..", "@~1:src/../../x", "@~1:/etc"):
        assert "does not name anything in the workspace" in shell("restore", outside, "--yes", status=2).err


def test_paths_are_seen_from_the_current_folder(shell: Shell) -> None:
    """As in git: in docs, `app.md` is docs/app.md."""
    done = shell("restore", "@~1", "app.md", "--yes", "--json", cwd=shell.root / "docs").json
    assert done["written"] == ["docs/app.md"]
    elsewhere = shell("restore", "1", "../../x", "--dry-run", status=2, cwd=shell.root / "docs")
    assert "“../../x” is not in the workspace" in elsewhere.err


def test_paths_from_elsewhere_are_seen_from_the_root(shell: Shell, tmp_path: Path) -> None:
    """With -w from another folder there is no other place to see them from; absolute ones are clear anyway."""
    where = ["-w", str(shell.root), "--yes", "--json"]
    done = shell("restore", "@~1", "src", *where, cwd=tmp_path).json
    assert done["written"] == ["src/app.py"]
    done = shell("restore", "@~3", str(shell.root / "docs" / "app.md"), *where, cwd=tmp_path).json
    assert done["written"] == ["docs/app.md"]


def test_a_path_through_a_symlink_is_found(shell: Shell, tmp_path: Path) -> None:
    """The folder may be known under another name than its real one."""
    link = tmp_path / "link"
    link.symlink_to(shell.root)
    words = ["restore", "@~1", str(link / "src" / "app.py"), "--yes", "--json", "-w", str(link)]
    done = shell(*words, cwd=tmp_path).json
    assert done["written"] == ["src/app.py"]


def test_the_current_folder_as_a_path_is_what_is_in_it(shell: Shell) -> None:
    """`.` in the root is everything, and in a folder that folder."""
    assert shell("restore", "@~1", ".", "--dry-run", "--json", cwd=shell.root / "src").json["written"] == [
        "src/app.py"
    ]
    whole = shell("restore", "@~1", ".", "--dry-run", "--json").json
    assert whole["written"] == ["docs/app.md", "src/app.py"]


def test_restoring_what_is_there_already_changes_nothing_and_is_no_failure(shell: Shell) -> None:
    """The wanted state is reached; nobody has to be asked."""
    nothing = shell("restore", "@")
    assert "already" in nothing.text
    done = shell("restore", "@", "--yes", "--json").json
    assert (done["written"], done["deleted"]) == ([], [])


def test_what_no_checkpoint_holds_is_left_alone_and_named(shell: Shell) -> None:
    """An ignored file in the way is somebody's only copy."""
    shell.write("ignored", "captured while it was not ignored\n")
    shell.save("with it")
    (shell.root / "ignored").unlink()
    shell.write(".backtrailignore", "/ignored\n")
    shell.save("ignores it")
    shell.write("ignored", "precious\n")
    done = shell("restore", "@~1", "ignored", "--yes")
    assert (shell.root / "ignored").read_text() == "precious\n"
    assert "warning: ignored was left alone:" in done.err
    assert "left alone" not in done.text
    conflicts = shell("restore", "@~1", "ignored", "--dry-run", "--json").json["conflicts"]
    assert [found["path"] for found in conflicts] == ["ignored"]
    os.unlink(shell.root / ".backtrailignore")


def test_undo_without_a_restore_is_nothing_to_do(tmp_path: Path) -> None:
    """Nothing was restored, so nothing is taken back; least of all somebody's edits."""
    with shell_in(tmp_path) as shell:
        shell("watch")
        nothing = shell("undo", "--json", status=3)
        assert nothing.error["code"] == "nothing-to-do"


def test_a_name_that_is_not_utf8_goes_through_all_commands(tmp_path: Path) -> None:
    """File names are bytes; the terminal's idea of them must not make a file unreachable."""
    with shell_in(tmp_path) as shell:
        name = b"caf\xe9.txt"
        path = os.path.join(os.fsencode(shell.root), name)
        shell("watch")
        with open(path, "wb") as file:
            file.write(b"old\n")
        assert shell("save", "-m", b"caf\xe9", "--json").json["files_changed"][0]["path"] == '"caf\\351.txt"'
        assert shell("show", b"@:" + name).out == b"old\n"
        assert shell("show", '@:"caf\\351.txt"').out == b"old\n"
        with open(path, "wb") as file:
            file.write(b"new\n")
        assert "+new" in shell("diff", "--", name).text
        shell("restore", "@", name, "--yes")
        with open(path, "rb") as file:
            assert file.read() == b"old\n"

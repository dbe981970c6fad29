"""A checkpoint as a branch in the user's repository: what it holds, and that nothing else changes."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild.branching import BranchResult, branch
from backtraild.model import Checkpoint, Limits
from support.disk import fsck, snapshot
from support.git import git
from support.project import Project, files_of
from support.repositories import commit_all, git_folder, make_repository, tree_of


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path, Limits(max_file_size=1000)) as project:
        yield project


def make(project: Project, checkpoint: Checkpoint, name: str = "rescue", **how: bool) -> BranchResult:
    """The branch, after which all but the branch is what it was before."""
    before, disk = git_folder(project.root, name), snapshot(project.root)
    made = branch(str(project.root), str(project.git_dir), checkpoint, name, **how)
    assert git_folder(project.root, name) == before
    assert snapshot(project.root) == disk
    found = git("rev-parse", f"refs/heads/{name}", cwd=project.root).decode().strip()
    assert made.commit == found
    fsck(git("rev-parse", "--path-format=absolute", "--git-dir", cwd=project.root).decode().strip())
    kept = git("rev-parse", "--path-format=absolute", "--git-path", "objects/pack", cwd=project.root)
    assert not list(Path(kept.decode().strip()).glob("*.keep"))
    return made


def shown(project: Project, form: str, revision: str = "rescue") -> str:
    return git("log", "-1", f"--format={form}", revision, cwd=project.root).decode().removesuffix("\n")


def test_a_branch_holds_the_checkpoint_on_top_of_head_and_nothing_else_changes(project: Project):
    """The state of this morning, to be compared, merged or pushed, while work goes on in the folder."""
    make_repository(project.root)
    project.write("src/app.py", b"one\n")
    project.write("gone.txt")
    head = commit_all(project.root)
    project.write("src/app.py", b"two\r\n")
    project.write(b"caf\xe9 \n\\name", b"\xff\0")
    (project.root / "gone.txt").unlink()
    (project.root / "link").symlink_to("src/app.py")
    (project.root / "src/app.py").chmod(0o755)
    checkpoint = project.save("before the\nrefactoring")
    project.write("src/app.py", b"three\n")
    project.write("staged.txt", b"staged\n")
    git("add", "staged.txt", cwd=project.root)
    status = git("status", "--porcelain", cwd=project.root)

    made = make(project, checkpoint)

    assert made == BranchResult(str(project.root), "rescue", made.commit, head, 0)
    assert shown(project, "%T %P") == f"{checkpoint.tree} {head}"
    assert files_of(project.root / ".git", made.commit) == files_of(project.git_dir, checkpoint.tree)
    assert shown(project, "%B").strip() == "Backtrail checkpoint 1: before the\nrefactoring"
    assert shown(project, "%an <%ae> %cn <%ce>") == "Ada <ada@example.org> Ada <ada@example.org>"
    assert shown(project, "%at") == str(int(checkpoint.timestamp.timestamp()))
    assert git("status", "--porcelain", cwd=project.root) == status
    told = git("reflog", "show", "rescue", cwd=project.root).decode()
    assert told.endswith("rescue@{0}: branch: Created from Backtrail checkpoint 1\n")
    assert told.count("\n") == 1


def test_an_empty_repository_gets_a_first_commit_that_is_not_head(project: Project):
    """HEAD stands on a branch that does not exist yet; making that one would change what is checked out."""
    make_repository(project.root)
    project.write("a.txt")
    checkpoint = project.save("")

    made = make(project, checkpoint)

    assert made.parent is None
    assert shown(project, "%T %P|%s") == f"{checkpoint.tree} |Backtrail checkpoint 1"


def test_folders_may_have_any_name(tmp_path: Path):
    """Git takes a colon for the end of a folder's name in a list, unless it is told."""
    odd = tmp_path / 'a:b "c" \\d é'
    odd.mkdir()
    with Project(odd) as project:
        make_repository(project.root)
        project.write("a.txt")
        commit_all(project.root)
        project.write("b.txt")

        made = make(project, project.save())

        assert sorted(tree_of(project.root, made.commit)) == ["a.txt", "b.txt"]


def test_a_checkpoint_without_files_can_be_a_branch(project: Project):
    """Nothing is a state too."""
    make_repository(project.root)
    made = make(project, project.workspace.start())

    assert tree_of(project.root, made.commit) == {}


def test_without_an_identity_backtrail_signs(project: Project):
    """A missing user.name must not keep anybody from getting their files."""
    git("init", "-q", project.root)
    project.write("a.txt")

    make(project, project.save())

    assert shown(project, "%an <%ae>") == "Backtrail <backtrail@localhost>"


def test_the_identity_may_come_from_the_users_own_configuration(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    """Most people have told git once who they are; what the daemon's environment says is somebody else's."""
    git("init", "-q", project.root)
    project.write("a.txt")
    checkpoint = project.save()
    (project.folder / ".gitconfig").write_text("[user]\nname = Grace\nemail = grace@example.org\n")
    with monkeypatch.context() as patch:
        patch.delenv("GIT_CONFIG_GLOBAL")
        patch.setenv("GIT_AUTHOR_NAME", "Somebody")
        patch.setenv("GIT_DIR", "/nowhere")
        branch(str(project.root), str(project.git_dir), checkpoint, "rescue")

    assert shown(project, "%an <%ae> %cn") == "Grace <grace@example.org> Grace"


def test_no_hook_and_no_program_of_the_configuration_runs(project: Project):
    """The repository's settings are files in the workspace: an agent may have written them."""
    make_repository(project.root)
    project.write("a.txt")
    commit_all(project.root)
    trap, sprung = project.folder / "trap", project.folder / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch {sprung}\nexit 1\n")
    trap.chmod(0o755)
    for hook in ("reference-transaction", "pre-commit", "post-commit", "post-checkout", "pre-auto-gc"):
        (project.root / ".git/hooks").mkdir(exist_ok=True)
        (project.root / ".git/hooks" / hook).symlink_to(trap)
    for setting in ("core.fsmonitor", "gpg.program", "core.editor", "core.pager", "core.sshCommand"):
        git("config", setting, str(trap), cwd=project.root)
    for setting, value in (("commit.gpgSign", "true"), ("gc.auto", "1"), ("gc.autoPackLimit", "1")):
        git("config", setting, value, cwd=project.root)
    project.write("a.txt", b"new\n")
    checkpoint = project.save()
    before = git_folder(project.root, "rescue")

    made = branch(str(project.root), str(project.git_dir), checkpoint, "rescue")

    assert not sprung.exists()
    assert git_folder(project.root, "rescue") == before
    assert b"gpgsig" not in git("cat-file", "commit", made.commit, cwd=project.root)


def test_a_workspace_in_a_subfolder_changes_only_that_subfolder(tmp_path: Path):
    """One package of a large repository is watched; the others belong to the commit as they are."""
    top = make_repository(tmp_path / "top")
    (top / "packages/one").mkdir(parents=True)
    (top / "packages/two").mkdir()
    (top / "README").write_text("readme\n")
    (top / "packages/two/b").write_text("b\n")
    with Project(top / "packages/one") as project:
        project.write("old", b"old\n")
        git("add", "README", "packages/two", "packages/one/work", cwd=top)
        git("commit", "-q", "-m", "one", cwd=top)
        before = tree_of(top, "HEAD")
        (project.root / "old").unlink()
        project.write("deep/new", b"new\n")
        (top / "README").write_text("changed outside of the workspace\n")
        checkpoint = project.save()

        made = make(project, checkpoint)

        assert made.repository == str(top)
        after = tree_of(top, made.commit)
        assert {path: after[path] for path in ("README", "packages/two/b")} == {
            path: before[path] for path in ("README", "packages/two/b")
        }
        assert sorted(after) == ["README", "packages/one/work/deep/new", "packages/two/b"]
        assert (
            git("rev-parse", f"{made.commit}:packages/one/work", cwd=top).decode().strip() == checkpoint.tree
        )

        (project.root / "deep/new").unlink()
        emptied = make(project, project.save(), "emptied")
        assert sorted(tree_of(top, emptied.commit)) == ["README", "packages/two/b"]


def test_a_subfolder_that_head_does_not_know_is_added(tmp_path: Path):
    """A new package that was never committed."""
    top = make_repository(tmp_path / "top")
    (top / "README").write_text("readme\n")
    commit_all(top)
    with Project(top) as project:
        project.write("a", b"a\n")

        made = make(project, project.save())

        assert sorted(tree_of(top, made.commit)) == ["README", "work/a"]


def test_worktrees_and_submodules_are_repositories_like_others(tmp_path: Path):
    """Agents work in worktrees; there, `.git` is a file."""
    main = make_repository(tmp_path / "main")
    (main / "a").write_text("a\n")
    commit_all(main)
    outer = make_repository(tmp_path / "outer")
    (tmp_path / "beside").mkdir()
    worktree = ("worktree", "add", "-q", "-b", "side")
    submodule = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(main))
    for folder, add, where in ((tmp_path / "beside", worktree, main), (outer, submodule, outer)):
        with Project(folder) as project:
            project.root.rmdir()
            git(*add, os.path.relpath(project.root, where), cwd=where)
            project.write("b", b"b\n")

            made = make(project, project.save())

            assert (project.root / ".git").is_file()
            assert sorted(tree_of(project.root, made.commit)) == ["a", "b"]
            assert made.repository == str(project.root)


def test_what_backtrail_does_not_capture_is_as_in_head(project: Project):
    """Tracked all the same: vendored packages, a large asset. A branch without them would delete them on merge."""
    make_repository(project.root)
    project.write("node_modules/dep/index.js", b"tracked\n")
    project.write("large.bin", b"x" * 2000)
    project.write("kept/.backtrailignore", b"*.secret\n")
    project.write("kept/a.secret", b"secret\n")
    project.write("normal.txt", b"normal\n")
    project.write("build/out", b"out\n")
    project.write("captured.log", b"log\n")
    head = commit_all(project.root)
    project.write(".gitignore", b"/build/\n")
    (project.root / "normal.txt").unlink()
    (project.root / "node_modules/dep/index.js").write_bytes(b"changed, and not captured\n")
    checkpoint = project.save()

    made = make(project, checkpoint)

    before, after = tree_of(project.root, head), tree_of(project.root, made.commit)
    outside = ["build/out", "kept/a.secret", "large.bin", "node_modules/dep/index.js"]
    assert {path: after.get(path) for path in outside} == {path: before[path] for path in outside}
    captured = {os.fsdecode(path) for path in files_of(project.git_dir, checkpoint.tree)}
    assert set(after) == captured | set(outside)
    assert "normal.txt" not in after
    assert made.kept == len(outside)


def test_the_owners_patterns_count_as_well(project: Project):
    """What was excluded when the folder was watched is not in any checkpoint either."""
    make_repository(project.root)
    project.write("data/set.csv", b"1\n")
    project.write("a.txt")
    commit_all(project.root)
    (project.root / "data/set.csv").unlink()
    (project.root / "data").rmdir()
    checkpoint = project.save()

    def held(name: str, *patterns: str) -> list[str]:
        made = branch(str(project.root), str(project.git_dir), checkpoint, name, exclude_patterns=patterns)
        return sorted(tree_of(project.root, made.commit))

    assert held("without") == ["a.txt"]
    assert held("with", "/data/") == ["a.txt", "data/set.csv"]


def test_a_captured_file_goes_before_an_excluded_one_that_is_in_its_way(project: Project):
    """A name can't be a file and a folder at once."""
    make_repository(project.root)
    project.write(".gitignore", b"build/\nthing\n!/thing/\n")
    project.write("build/out", b"out\n")
    project.write("thing", b"file\n")
    commit_all(project.root)
    (project.root / "build/out").unlink()
    (project.root / "build").rmdir()
    (project.root / "thing").unlink()
    project.write("build", b"a file, which the rule for folders does not exclude\n")
    project.write("thing/inside", b"captured\n")
    checkpoint = project.save()

    made = make(project, checkpoint)

    assert sorted(tree_of(project.root, made.commit)) == [".gitignore", "build", "thing/inside"]
    assert made.kept == 0


def test_a_submodule_in_the_workspace_stays_a_submodule(project: Project, tmp_path: Path):
    """Its files were captured as files; as such they would break the submodule for whoever checks this out."""
    library = make_repository(tmp_path / "library")
    (library / "lib.c").write_text("lib\n")
    commit_all(library)
    make_repository(project.root)
    git(
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(library),
        "lib",
        cwd=project.root,
    )
    head = commit_all(project.root)
    project.write("lib/lib.c", b"changed\n")
    project.write("a.txt")
    checkpoint = project.save()

    made = make(project, checkpoint)

    assert b"lib/lib.c" in files_of(project.git_dir, checkpoint.tree)
    after = tree_of(project.root, made.commit)
    assert after["lib"] == tree_of(project.root, head)["lib"]
    assert sorted(after) == [".gitmodules", "a.txt", "lib"]


def test_only_what_head_does_not_have_is_carried_over(project: Project):
    """A branch of a large repository costs what has changed."""
    make_repository(project.root)
    for number in range(50):
        project.write(f"many/{number}", os.urandom(500))
    commit_all(project.root)
    project.write("one", b"new\n")
    checkpoint = project.save()

    make(project, checkpoint)

    packs = list((project.root / ".git/objects/pack").glob("*.idx"))
    listed = git("show-index", input=packs[0].read_bytes())
    assert len(packs) == 1
    assert listed.count(b"\n") == 3  # the commit, its tree, the file


def test_git_may_be_at_work_in_the_repository_meanwhile(project: Project):
    """Somebody commits and collects garbage while branches are made: nobody gets in the other's way."""
    make_repository(project.root)
    project.write("a.txt", b"0\n")
    commit_all(project.root)
    project.write("a.txt", b"captured\n")
    checkpoint = project.save()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for number in range(6):
                (project.root / "b.txt").write_text(f"{number}\n")
                commit_all(project.root, f"{number}")
                git("gc", "-q", cwd=project.root)
        except BaseException as error:
            failures.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    made = [branch(str(project.root), str(project.git_dir), checkpoint, f"b{number}") for number in range(6)]
    worker.join()

    assert failures == []
    for each in made:
        assert git("show", f"{each.branch}:a.txt", cwd=project.root) == b"captured\n"
    fsck(project.root / ".git")

"""Branches that are not made: what is said, and that nothing happens."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import StoreDamaged, UsageError
from backtraild.branching import BranchFailed, BranchRefused, BranchResult, branch
from backtraild.model import Checkpoint
from support.git import GitFailed, git
from support.project import Project, full_stat
from support.repositories import commit_all, git_folder, make_repository


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        project.write("a.txt", b"a\n")
        yield project


@pytest.fixture
def committed(project: Project) -> Project:
    """A workspace that is a repository with one commit."""
    make_repository(project.root)
    commit_all(project.root)
    return project


def make(
    project: Project, name: str, checkpoint: Checkpoint | None = None, *, force: bool = False
) -> BranchResult:
    newest = checkpoint or project.workspace.history.find("@")
    return branch(str(project.root), str(project.git_dir), newest, name, force=force)


def test_without_a_repository_there_is_no_place_for_a_branch(project: Project):
    """One further down is somebody else's: a dependency, an example."""
    make_repository(project.root / "nested")
    project.workspace.start()
    before = full_stat(project.root)

    with pytest.raises(BranchRefused, match="does not belong to a git repository") as refused:
        make(project, "rescue")

    assert "git init" in refused.value.hint
    assert full_stat(project.root) == before


def test_a_bare_repository_has_no_work_tree(project: Project):
    """The folder is a repository, but nobody works in it."""
    git("init", "-q", "--bare", project.root)
    project.workspace.start()

    with pytest.raises(BranchRefused, match="no work tree"):
        make(project, "rescue")


def test_a_repository_with_other_names_for_objects_is_refused(project: Project):
    """Objects under SHA-1 names have no place in it."""
    make_repository(project.root, "--object-format=sha256")
    project.workspace.start()

    with pytest.raises(BranchRefused, match="SHA-256"):
        make(project, "rescue")


def test_a_name_that_git_would_not_take_is_refused(committed: Project):
    """Neither an option, nor a revision, nor a path."""
    committed.workspace.start()
    odd = ["", "-f", "HEAD", "a..b", "a b", "a/", "/a", "a.lock", "@{-1}", "a\nb", "a\0b", "a~1", "..", "a:b"]
    for name in odd:
        with pytest.raises(UsageError, match="can't be the name of a branch"):
            make(committed, name)


def test_an_existing_branch_is_replaced_only_on_request(committed: Project):
    """Somebody's work may hang on it."""
    root = committed.root
    git("branch", "taken", cwd=root)
    git("pack-refs", "--all", cwd=root)
    committed.write("a.txt", b"new\n")
    checkpoint = committed.save()
    before = git_folder(root)

    with pytest.raises(BranchRefused, match="There is a branch taken already"):
        make(committed, "taken")
    assert git_folder(root) == before

    made = make(committed, "taken", force=True)
    assert git("rev-parse", "taken", cwd=root).decode().strip() == made.commit
    assert git("rev-parse", "taken^{tree}", cwd=root).decode().strip() == checkpoint.tree
    assert git_folder(root, "taken") == git_folder(root, "taken") | {
        name: content for name, content in before.items() if name != "logs/refs/heads/taken"
    }


def test_a_branch_that_is_checked_out_anywhere_is_never_replaced(committed: Project, tmp_path: Path):
    """Its files would look changed without anybody having touched them."""
    root = committed.root
    git("worktree", "add", "-q", "-b", "elsewhere", tmp_path / "elsewhere", cwd=root)
    git("symbolic-ref", "refs/heads/alias", "refs/heads/main", cwd=root)
    committed.workspace.start()
    before = git_folder(root)

    for name in ("main", "elsewhere", "alias"):
        for force in (False, True):
            with pytest.raises(BranchRefused):
                make(committed, name, force=force)
    assert git_folder(root) == before


def test_the_branch_that_a_first_commit_will_make_is_taken(project: Project):
    """HEAD names it already: with it, everything in the folder would look deleted from the index."""
    make_repository(project.root)
    project.workspace.start()

    with pytest.raises(BranchRefused, match="checked out"):
        make(project, "main")


def test_a_branch_in_the_middle_of_a_rebase_is_not_replaced(committed: Project):
    """The rebase returns to it in the end, and would lose one of the two."""
    root = committed.root
    git("checkout", "-q", "-b", "topic", cwd=root)
    committed.write("a.txt", b"topic\n")
    commit_all(root)
    git("checkout", "-q", "main", cwd=root)
    committed.write("a.txt", b"main\n")
    commit_all(root)
    git("checkout", "-q", "topic", cwd=root)
    with pytest.raises(GitFailed, match="could not apply"):
        git("rebase", "-q", "main", cwd=root)
    committed.workspace.start()

    with pytest.raises(BranchRefused, match="rebase"):
        make(committed, "topic", force=True)


def test_what_git_refuses_is_told_in_its_words_and_changes_no_ref(committed: Project):
    """A branch can't lie below another one."""
    git("branch", "a", cwd=committed.root)
    committed.workspace.start()
    before = git_folder(committed.root)

    with pytest.raises(BranchFailed, match="refs/heads/a"):
        make(committed, "a/b")

    assert git_folder(committed.root) == before
    assert not list((committed.root / ".git/objects/pack").glob("*.keep"))


def test_a_store_with_damage_makes_no_branch(committed: Project):
    """Half of the files would be worse than none."""
    committed.write("b.txt", b"only in the store\n" * 50)
    checkpoint = committed.save()
    for pack in (committed.git_dir / "objects/pack").glob("*.pack"):
        content = bytearray(pack.read_bytes())
        content[14:40] = bytes(26)
        pack.chmod(0o600)
        pack.write_bytes(content)
    before = git_folder(committed.root)

    with pytest.raises((BranchFailed, StoreDamaged)):
        make(committed, "rescue", checkpoint)

    assert git_folder(committed.root) == before


def test_a_partial_clone_fetches_nothing_and_runs_no_program_for_it(committed: Project):
    """A missing object would be fetched by a program that the repository's settings, files of the workspace, name."""
    ran = committed.folder / "ran"
    for setting, value in (
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", f"ext::sh -c touch% {ran}"),
        ("remote.origin.uploadpack", f"touch {ran};"),
        ("protocol.ext.allow", "always"),
        ("core.sshCommand", f"touch {ran}"),
    ):
        git("config", setting, value, cwd=committed.root)
    tree = git("rev-parse", "HEAD^{tree}", cwd=committed.root).decode().strip()
    committed.write("new")
    checkpoint = committed.save()
    (committed.root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    with pytest.raises(BranchFailed, match="not allowed"):
        branch(str(committed.root), str(committed.git_dir), checkpoint, "rescue")
    assert not ran.exists()

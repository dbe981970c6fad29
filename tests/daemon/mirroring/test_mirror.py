"""Mirrors of a store: what a repository elsewhere holds after real pushes, and what is left alone there."""

from pathlib import Path

import pytest

from backtraild.mirroring import MirrorFailed, Mirroring
from support.disk import fsck
from support.git import git
from support.mirrors import OTHERS, push, refs, script
from support.project import Project


def test_a_mirror_holds_the_same_refs_and_a_file_comes_back_by_git_alone(project: Project, there: Path):
    """The disk with the store is gone, and with it Backtrail."""
    result = push(project, there)

    assert result.remote == str(there)
    assert result.new == ("refs/checkpoints/1", "refs/checkpoints/2")
    assert (result.updated, result.deleted, result.up_to_date) == ((), (), 0)
    assert refs(there) == refs(project.git_dir)
    fsck(there)
    assert git("show", "refs/checkpoints/1:a.txt", git_dir=there) == b"first\n"


def test_the_second_time_only_what_is_new_is_sent(project: Project, there: Path):
    """A mirror is made every hour."""
    push(project, there)
    project.write("a.txt", b"third\n")
    project.save()

    result = push(project, there)

    assert (result.new, result.updated, result.up_to_date) == (("refs/checkpoints/3",), (), 2)
    assert push(project, there) == Mirroring(str(there), (), (), (), 3)


def test_a_dry_run_tells_the_same_and_sends_nothing(project: Project, there: Path):
    """What leaves the machine can't be called back."""
    plan = push(project, there, dry_run=True)

    assert refs(there) == {}
    assert push(project, there) == plan


def test_a_lock_that_an_interrupted_git_left_there_is_named(project: Project, there: Path):
    """Its disk failed in the middle of the last push. Whose lock it is, only the owner of the repository can know."""
    lock = there / "refs" / "checkpoints" / "2.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()

    with pytest.raises(MirrorFailed, match=r"is locked: .*/refs/checkpoints/2\.lock is there") as failure:
        push(project, there)

    assert "delete that file" in failure.value.hint
    lock.unlink()
    assert len(push(project, there).new) == 2


def test_what_is_gone_here_stays_there_unless_it_is_to_be_deleted(project: Project, there: Path):
    """Retention thins out the store; the mirror may be the archive."""
    push(project, there)
    project.workspace.delete("1")

    assert push(project, there).deleted == ()
    assert "refs/checkpoints/1" in refs(there)

    assert push(project, there, delete=True).deleted == ("refs/checkpoints/1",)
    assert refs(there) == refs(project.git_dir)
    assert git("for-each-ref", "--format=%(refname)", *OTHERS, git_dir=there).decode().split() == list(OTHERS)


def test_branches_and_tags_of_the_store_are_not_sent(
    project: Project, there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Somebody who worked in the store with git did not mean to publish that; nor is a half-written ref one."""
    commit = refs(project.git_dir)["refs/checkpoints/1"]
    git("update-ref", "refs/heads/mine", commit, git_dir=project.git_dir)
    author = ("-c", "user.name=a", "-c", "user.email=a@b")
    git(*author, "tag", "-a", "-m", "x", "mine", commit, git_dir=project.git_dir)
    (tmp_path / "gitconfig").write_text("[push]\n\tfollowTags = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    (project.git_dir / "refs/checkpoints/3.tmp").write_text(f"{commit}\n")

    push(project, there)

    assert list(refs(there)) == ["refs/checkpoints/1", "refs/checkpoints/2"]


def test_the_mirror_of_another_folder_is_left_alone(project: Project, there: Path, tmp_path: Path):
    """Two folders, one address: the second must not take the place of the first."""
    push(project, there)
    before = refs(there)
    (tmp_path / "other").mkdir()
    with Project(tmp_path / "other") as other:
        other.write("b.txt", b"b\n")
        other.workspace.start()
        other.workspace.pin("1")
        for options in ({}, {"delete": True}, {"dry_run": True}):
            with pytest.raises(MirrorFailed, match="has another checkpoint 1, so it is not a mirror of this"):
                push(other, there, **options)

    assert refs(there) == before


def test_a_remote_that_refuses_is_told_in_its_own_words(project: Project, there: Path):
    """A full disk, a quota, a rule: only the remote knows. And nothing is written half."""
    script(
        there / "hooks" / "update", 'case "$1" in */2) echo "https://t0ken@quota/ is full" >&2; exit 1;; esac'
    )

    with pytest.raises(MirrorFailed, match="https://quota/ is full") as failed:
        push(project, there)

    assert failed.value.code == "mirror-failed"
    assert refs(there) == {}


def test_a_place_without_a_repository_is_told_in_git_s_words(project: Project, tmp_path: Path):
    """A typing error, or a disk that is not mounted."""
    with pytest.raises(MirrorFailed, match="does not appear to be a git repository"):
        push(project, tmp_path / "nowhere")


def test_without_git_it_says_so(project: Project, there: Path, monkeypatch: pytest.MonkeyPatch):
    """A daemon that systemd started has another PATH than the shell."""
    monkeypatch.setenv("PATH", str(there))
    with pytest.raises(MirrorFailed, match="Git could not be run") as failed:
        push(project, there)
    assert "PATH of the daemon" in failed.value.hint

"""Repositories that a store is mirrored to, and programs that git meets on its way there."""

from pathlib import Path

from backtraild.mirroring import Mirroring, mirror
from support.git import git
from support.project import Project

OTHERS = ("refs/heads/main", "refs/notes/x", "refs/tags/v1")


def make_remote(place: Path) -> Path:
    """A bare repository that is strict about what it takes, with a branch, a note and a tag of somebody else's."""
    git("init", "-q", "--bare", place)
    with open(place / "config", "a") as config:
        config.write("[receive]\n\tfsckObjects = true\n")
    tree = git("mktree", git_dir=place).decode().strip()
    author = ("-c", "user.name=a", "-c", "user.email=a@b")
    commit = git(*author, "commit-tree", tree, "-m", "x", git_dir=place).decode().strip()
    wanted = "".join(f"create {ref} {commit}\n" for ref in OTHERS)
    git("update-ref", "--stdin", git_dir=place, input=wanted.encode())
    return place


def refs(git_dir: Path) -> dict[str, str]:
    """The refs of a repository but for those that were there from the beginning."""
    listed = git("for-each-ref", "--format=%(refname) %(objectname)", git_dir=git_dir).decode().splitlines()
    found = dict(line.split(" ") for line in listed)
    return {name: found[name] for name in found if name not in OTHERS}


def push(project: Project, remote: Path | str, **options: bool) -> Mirroring:
    """Mirror the store of a project."""
    return mirror(str(project.git_dir), str(remote), **options)


def script(path: Path, text: str) -> Path:
    """A program."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path

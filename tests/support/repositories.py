"""A user's git repository around or in a workspace, and everything in its git folder that must not change."""

from pathlib import Path

from support.git import git


def make_repository(folder: Path, *options: str) -> Path:
    """A repository without a commit, with settings of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    git("init", "-q", "-b", "main", *options, folder)
    git("config", "user.name", "Ada", cwd=folder)
    git("config", "user.email", "ada@example.org", cwd=folder)
    return folder


def commit_all(folder: Path, message: str = "a commit") -> str:
    """Everything in the work tree, ignored files included, as a commit."""
    git("add", "-A", "-f", cwd=folder)
    git("commit", "-q", "--allow-empty", "-m", message, cwd=folder)
    return git("rev-parse", "HEAD", cwd=folder).decode().strip()


def git_folder(folder: Path, branch: str | None = None) -> dict[str, bytes]:
    """Names and contents in a repository's git folder, but for objects, one branch and that branch's log."""
    top = Path(git("rev-parse", "--path-format=absolute", "--git-common-dir", cwd=folder).decode().strip())
    files = {str(path.relative_to(top)): path for path in top.rglob("*") if path.is_file()}
    own = {f"refs/heads/{branch}", f"logs/refs/heads/{branch}"}
    return {
        name: path.read_bytes()
        for name, path in files.items()
        if not name.startswith("objects/") and name not in own
    }


def tree_of(folder: Path, revision: str) -> dict[str, tuple[str, str]]:
    """Mode and id of every entry of a commit."""
    listed = git("ls-tree", "-r", "-z", "--full-tree", revision, cwd=folder).decode().split("\0")[:-1]
    rows = [line.partition("\t") for line in listed]
    return {path: (told.split()[0], told.split()[2]) for told, _, path in rows}

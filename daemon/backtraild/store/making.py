"""An empty repository: bare, private, with a configuration of its own."""

import os

from backtrail.regular import read_regular
from backtraild import durable
from backtraild.store.enclosure import refuse_ways_out

# Everything git would otherwise take from the user's configuration and that changes what is stored.
_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tbare = true
\tfilemode = true
\tautocrlf = false
\tfsync = all
\tlogallrefupdates = false
\thooksPath = /dev/null
[gc]
\tauto = 0
[pack]
\tindexVersion = 2
[commit]
\tgpgSign = false
"""
_FOLDERS = ("objects/pack", "objects/info", "refs/checkpoints", "refs/heads")
_HEAD = "ref: refs/heads/none\n"


def make_empty(git_dir: str) -> None:
    """Make one, durably; harmless if there is one already, of which only what is wrong is written. Raises OSError."""
    refuse_ways_out(git_dir)
    folders = [os.path.join(git_dir, folder) for folder in _FOLDERS]
    is_whole = all(map(os.path.isdir, folders)) and _holds(git_dir, "config", _CONFIG)
    for folder in folders:
        os.makedirs(folder, 0o700, exist_ok=True)
    os.chmod(git_dir, 0o700)
    # HEAD comes last: without it git does not take the folder for a repository, and where it is, all else is durable.
    if is_whole and _holds(git_dir, "HEAD", _HEAD):
        return
    for folder in ("objects", "refs", os.pardir):
        durable.sync_folder(os.path.join(git_dir, folder))
    durable.replace_file(os.path.join(git_dir, "config"), _CONFIG.encode())
    durable.replace_file(os.path.join(git_dir, "HEAD"), _HEAD.encode())


def _holds(git_dir: str, name: str, content: str) -> bool:
    try:
        return read_regular(os.path.join(git_dir, name), len(content), follow=False) == content.encode()
    except OSError:
        return False

"""An empty repository: bare, private, with a configuration of its own."""

import os

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


def make_empty(git_dir: str) -> None:
    """Make one, durably; harmless if there is one already. Raises OSError."""
    refuse_ways_out(git_dir)
    for folder in ("objects/pack", "objects/info", "refs/checkpoints", "refs/heads"):
        os.makedirs(os.path.join(git_dir, folder), 0o700, exist_ok=True)
    os.chmod(git_dir, 0o700)
    for folder in ("objects", "refs", os.pardir):
        durable.sync_folder(os.path.join(git_dir, folder))
    durable.replace_file(os.path.join(git_dir, "config"), _CONFIG.encode())
    # HEAD last: without it git does not take the folder for a repository.
    durable.replace_file(os.path.join(git_dir, "HEAD"), b"ref: refs/heads/none\n")

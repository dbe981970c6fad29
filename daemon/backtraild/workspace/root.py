"""Is the folder that is looked at still the workspace?"""

import os

from backtrail.errors import WorkspaceUnavailable
from backtraild.state import Database

_ROOT = "root"


def is_same_folder(root: bytes, database: Database) -> bool:
    """True for the folder seen last time, False for another one that has taken its place.

    An empty folder in its place is what an unmounted disk leaves behind: it says nothing about the files, so
    WorkspaceUnavailable is raised and nothing is recorded as deleted.
    """
    try:
        status = os.stat(root)
        identity = f"{status.st_dev}:{status.st_ino}"
        known = database.fact(_ROOT)
        if known == identity:
            return True
        empty = not os.listdir(root)
    except OSError as error:
        raise WorkspaceUnavailable(
            f"The workspace's folder {os.fsdecode(root)} can't be looked at: {error.strerror}.",
            "Nothing is recorded as deleted; it is captured again when it is back.",
        ) from error
    if known is not None and empty:
        raise WorkspaceUnavailable(
            f"An empty folder has taken the place of {os.fsdecode(root)}; is a disk not mounted?",
            "Nothing is recorded as deleted. If it shall be empty, put a file into it.",
        )
    database.remember(_ROOT, identity)
    return False

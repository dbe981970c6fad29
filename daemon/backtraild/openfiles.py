"""How many files the daemon may have open at once."""

import contextlib
import resource

from backtrail.errors import BacktrailError

FEW_FILES, MANY_FILES = 48, 65_536


class TooFewFiles(BacktrailError):
    """The daemon may not open what it needs."""

    code = "too-few-files"


def allow_many() -> None:
    """Every connection and every folder that is being entered takes a descriptor; many systems begin with 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MANY_FILES if hard == resource.RLIM_INFINITY else min(MANY_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # what there is must do
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    if wanted < FEW_FILES:
        raise TooFewFiles(
            f"The daemon may have {wanted} files open at once, and needs {FEW_FILES} and some for each folder.",
            "Raise the limit, as with `ulimit -n 1024`.",
        )

"""`backtraild`, or `python -m backtraild`: the daemon in the foreground.

Scouts are sent out as soon as it is sure that this is the one daemon; what takes time to load is loaded while they are
on their way.
"""

import argparse
import gc
import os
import sys
from collections.abc import Sequence

from backtrail import __version__
from backtrail.errors import BacktrailError
from backtrail.paths import places
from backtraild import openfiles
from backtraild.lock import Lock
from backtraild.scouts.party import send_out


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal ends it; the exit status."""
    options = _parser().parse_args(arguments)
    os.umask(0o077)
    where = places()
    try:
        openfiles.allow_many()
        where.make()
        with Lock(where) as lock:
            party = send_out(str(where.registry), str(where.store("")))
            gc.disable()  # hardly anything of what is loaded is garbage; a tenth of the time would go into looking
            from backtraild.app import run  # here, because it loads all the rest

            return run(where, lock, options, party)
    except BacktrailError as error:
        sys.stderr.write(f"backtraild: {error.message}\n")
        if error.hint:
            sys.stderr.write(f"  {error.hint}\n")
        return error.exit_status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="backtraild",
        description="Watch folders and keep every settled state of them.",
        epilog="Example: backtraild --watch ~/project. Ctrl-C or SIGTERM saves what is pending and ends it.",
    )
    parser.add_argument("--watch", action="append", default=[], metavar="PATH", help="also watch this folder")
    parser.add_argument("--verbose", action="store_true", help="log more")
    parser.add_argument("--version", action="version", version=f"backtraild {__version__}")
    return parser


if __name__ == "__main__":
    sys.exit(main())

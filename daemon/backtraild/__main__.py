"""`backtraild`, or `python -m backtraild`: the daemon in the foreground.

Scouts are sent out as soon as it is sure that this is the one daemon; what takes time to load is loaded while they are
on their way.
"""

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from backtrail import __version__
from backtrail.errors import BacktrailError
from backtrail.paths import places
from backtraild import openfiles
from backtraild.lock import Lock
from backtraild.scouts.party import send_out

if TYPE_CHECKING:
    import argparse


class Options(NamedTuple):
    """What the daemon was told when it was started."""

    watch: Sequence[str] = ()
    verbose: bool = False


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal ends it; the exit status."""
    options = _options(sys.argv[1:] if arguments is None else arguments)
    os.umask(0o077)
    where = places()
    try:
        openfiles.allow_many()
        where.make()
        with Lock(where) as lock:
            party = send_out(str(where.registry), str(where.store("")))
            gc.disable()  # hardly anything of what is loaded is garbage; a tenth of the time would go into looking
            from backtraild.app import run  # here, because it loads all the rest

            return run(where, lock, party, options.watch, verbose=options.verbose)
    except BacktrailError as error:
        sys.stderr.write(f"backtraild: {error.message}\n")
        if error.hint:
            sys.stderr.write(f"  {error.hint}\n")
        return error.exit_status


def _options(arguments: Sequence[str]) -> Options:
    if not arguments:  # nearly always; scouts need not wait until a parser is loaded
        return Options()
    told = _parser().parse_args(arguments)
    return Options(told.watch, told.verbose)


def _parser() -> "argparse.ArgumentParser":
    import argparse

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

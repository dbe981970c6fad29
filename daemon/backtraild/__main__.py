"""`python -m backtraild`: what is here so far. The daemon itself starts from here once it watches."""

import sys

from backtrail import __version__


def main() -> int:
    """Say what this installation can do."""
    sys.stdout.write(
        f"Backtrail {__version__}: the store, the scanner and the restorer are installed as a library.\n"
        "The watching daemon is not part of this version yet; see README.md for using the library.\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

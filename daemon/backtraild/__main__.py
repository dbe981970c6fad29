"""`python -m backtraild`: the daemon in the foreground."""

import sys

from backtraild.app import main

if __name__ == "__main__":
    sys.exit(main())

"""`python -m backtrail.cli` is the command line."""

from backtrail.cli.main import main

main()

"""`python -m backtrail` is the command line."""

from backtrail.cli.main import main

main()

"""Backtrail's client side: the contract that daemon, library and command line share."""

__version__ = "0.1.0"

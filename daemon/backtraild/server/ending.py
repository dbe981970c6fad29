"""What is said to those who ask while the daemon ends."""

from backtrail.errors import DaemonStopping


def ending() -> DaemonStopping:
    """Nothing was begun, so that asking again does no harm."""
    return DaemonStopping("The Backtrail daemon is stopping.", "Ask again in a moment.")

"""What a time stamp proves: git's racy-timestamp rule, for files and for folders. Pure, and light to load."""

# Time stamps advance with the kernel's tick, 10 ms at the slowest; whole seconds betray a file system that
# counts seconds, or pairs of them.
TICK_NS = 20_000_000
COARSE_TICK_NS = 2_000_000_000
SECOND_NS = 1_000_000_000
# Two clocks that disagree, of this machine and of a server or of a time zone, are less than a day apart. What is
# dated further ahead was set to it, and a change would set it back to the present.
FAR_AHEAD_NS = 86_400 * SECOND_NS


def is_settled(time: int, started: int, ended: int) -> bool:
    """Would a change after a look between these moments get another time stamp?"""
    tick = TICK_NS if time % SECOND_NS else COARSE_TICK_NS
    return time + tick < started or time > ended + FAR_AHEAD_NS

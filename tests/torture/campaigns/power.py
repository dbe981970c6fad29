"""The power is cut: a real file system drops what has not reached its journal, and is mounted again."""

from support.mounts import DROP, FLUSH, apart
from torture.campaign import Campaign, Counts, Finished, Round

_WAYS = [(how, after) for how in (DROP, FLUSH) for after in (False, True)]


def cut_while_busy(attempt: Round) -> Counts:
    """A daemon, a client, and a cut at a random moment."""
    counts: Counts = apart("support.power_scenarios:cut_while_busy", attempt.number, str(attempt.folder))
    return counts


def cut_at_sync(attempt: Round) -> Counts:
    """A cut at one place of a fixed piece of work: before or after a sync, with the journal's memory or without."""
    place, way = divmod(attempt.number, len(_WAYS))
    counts = apart("support.power_scenarios:cut_at_sync", place + 1, *_WAYS[way], str(attempt.folder))
    if counts is None:
        raise Finished
    return dict(counts)


CAMPAIGNS = (
    Campaign(
        "power-cut",
        "R1",
        "After a power cut at any moment, everything that was acknowledged is there, and the store is sound.",
        200,
        cut_while_busy,
    ),
    Campaign(
        "power-cut-sync",
        "R1",
        "After a power cut right before or after any sync, everything that was acknowledged is there.",
        1000,
        cut_at_sync,
    ),
)

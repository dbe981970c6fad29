"""Disks that are full: of bytes or of files, under the store, under the workspace, or under both."""

from support.mounts import apart
from torture.campaign import Campaign, Counts, Round


def fill_while_busy(attempt: Round) -> Counts:
    """A small disk is filled to a random level while everything goes on, and freed again."""
    counts: Counts = apart("support.full_scenarios:fill_while_busy", attempt.number, str(attempt.folder))
    return counts


def start_on_full(attempt: Round) -> Counts:
    """A daemon is started on a disk without a byte, or without room for one more file, and again afterwards."""
    apart("support.full_scenarios:start_on_full", str(attempt.folder), attempt.number % 2 == 1)
    return {"starts": 3}


CAMPAIGNS = (
    Campaign(
        "disk-full",
        "R10",
        "On a full disk nothing is half done or wrongly acknowledged, space can be freed, and all goes on with it.",
        300,
        fill_while_busy,
    ),
    Campaign(
        "disk-full-start",
        "R10",
        "A daemon that is started on a full disk says so, and loses nothing that the next one needs.",
        20,
        start_on_full,
    ),
)

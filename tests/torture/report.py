"""The table of what came of all rounds, and under it each failure with the way to repeat it."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from torture.campaign import Counts
from torture.ledger import Entry, Standing

_SHOWN = 20  # failures of one campaign that are told in full


def document(standings: Sequence[Standing], machine: str) -> str:
    """The whole text, as Markdown."""
    return "\n".join(
        [
            "# Results of the long runs",
            "",
            f"{datetime.now(UTC):%Y-%m-%d}, {machine}",
            "Written by `make torture`, from all rounds made since it was last begun anew.",
            "",
            *table(standings),
            *failures(standings),
            "",
        ]
    )


def table(standings: Sequence[Standing]) -> Iterator[str]:
    """One row for each campaign."""
    yield "| campaign | bar | what holds in every round | rounds | failures | counted | time |"
    yield "|---|---|---|---|---|---|---|"
    for standing in standings:
        campaign = standing.campaign
        yield (
            f"| {campaign.name} | {campaign.bar} | {campaign.promise} | {rounds(standing)}"
            f" | {verdict(standing)} | {counted(standing.counts)} | {duration(standing.seconds)} |"
        )


def rounds(standing: Standing) -> str:
    """How many of those wanted were made."""
    made = f"{standing.done:,} of {standing.wanted:,}"
    return f"{made}, {len(standing.unable):,} not possible" if standing.unable and standing.done else made


def verdict(standing: Standing) -> str:
    """The number of failures, in words where there is nothing to count."""
    if standing.failures:
        return f"**{len(standing.failures)}**"
    if standing.done:
        return "0"
    if standing.unable:
        return f"not possible here: {standing.unable[0].text}"
    return "not run" if standing.wanted else "0"


def counted(counts: Counts) -> str:
    """The figures with their names, such as `kills 1,000, most seconds until ready 0.8`."""
    return ", ".join(f"{name} {_figure(value)}" for name, value in counts.items())


def _figure(value: float) -> str:
    return f"{value:,.2f}" if value % 1 else f"{value:,.0f}"


def duration(seconds: float) -> str:
    """In the unit that people would choose."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def failures(standings: Sequence[Standing]) -> Iterator[str]:
    """Each failure under a heading that says how to see it again."""
    for standing in standings:
        for entry in standing.failures[:_SHOWN]:
            yield from _failure(entry)
        if len(standing.failures) > _SHOWN:
            more = [str(entry.number) for entry in standing.failures[_SHOWN:]]
            yield from ("", f"{standing.campaign.name} failed in these rounds as well: {', '.join(more)}.")


def _failure(entry: Entry) -> Iterator[str]:
    made_with = f", with {entry.version}" if entry.version else ""
    yield from ("", f"## {entry.campaign}, round {entry.number}", "")
    yield from (f"Again: `make torture ONLY={entry.campaign} ROUND={entry.number}`{made_with}", "")
    yield from (f"    {line}".rstrip() for line in entry.text.splitlines())

"""`make torture`: makes the rounds that are still missing, prints the table, writes tests/faults/RESULTS.md."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from torture import machine, report
from torture.campaign import Campaign
from torture.gathering import chosen, gathered
from torture.ledger import Ledger
from torture.progress import Progress
from torture.running import Bounds, Run

_PROJECT = Path(__file__).parents[2]
_RESULTS = _PROJECT / "tests" / "faults" / "RESULTS.md"


def main() -> int:
    """The exit status is 1 if a round failed and has not passed since."""
    arguments = _arguments()
    found = gathered()
    campaigns = chosen(found, arguments.only.split())
    ledger = Ledger(_PROJECT / ".torture" / "ledger.jsonl")
    if arguments.fresh:
        ledger.forget(campaign.name for campaign in campaigns)
    bounds = Bounds(arguments.jobs, arguments.minutes * 60, arguments.rounds, arguments.round)
    progress = Progress(sys.stdout, lambda: [ledger.standing(campaign) for campaign in campaigns])
    interrupted = _run(Run(campaigns, ledger, bounds, machine.version()), progress)
    text = report.document([ledger.standing(campaign) for campaign in found], machine.described())
    _RESULTS.write_text(text)
    print(text)
    return 1 if _failed(campaigns, ledger, arguments.round) else 130 if interrupted else 0


def _run(run: Run, progress: Progress) -> bool:
    """Whether somebody interrupted it."""
    try:
        run.go(progress.tell)
    except KeyboardInterrupt:
        print("Interrupted. The rounds that were made are kept; start again to go on.")
        return True
    return False


def _failed(campaigns: Sequence[Campaign], ledger: Ledger, number: int | None) -> bool:
    """Whether a round failed, or this one did if one alone was asked for."""
    if number is None:
        return any(ledger.standing(campaign).failures for campaign in campaigns)
    entries = [ledger.find(campaign.name, number) for campaign in campaigns]
    return any(entry is not None and entry.outcome == "failed" for entry in entries)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="torture", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAMES", help="these campaigns, separated by spaces")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no round after this time")
    parser.add_argument("--rounds", type=int, help="at most this many of each campaign")
    parser.add_argument("--round", type=int, help="this round alone, made before or not")
    parser.add_argument("--jobs", type=int, default=2, help="rounds at the same time")
    parser.add_argument("--fresh", action="store_true", help="forget the rounds that were made")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

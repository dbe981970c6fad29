"""The ledger: one line of JSON for every round that was made, from which a later run goes on."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from torture.campaign import Campaign, Counts, added

Outcome = Literal["passed", "failed", "unable", "finished"]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one round."""

    campaign: str
    number: int
    outcome: Outcome
    seconds: float
    counts: dict[str, float] = {}
    text: str = ""  # why it failed, or why this machine is unable
    version: str = ""  # of the tree it was made with


class Standing(msgspec.Struct, frozen=True):
    """Where a campaign stands after all the rounds in the ledger."""

    campaign: Campaign
    wanted: int
    passed: int
    failures: tuple[Entry, ...]
    unable: tuple[Entry, ...]
    counts: Counts
    seconds: float

    @property
    def done(self) -> int:
        """Rounds that were made to their end, whatever the end was."""
        return self.passed + len(self.failures)


class Ledger:
    """The entries of a file. The latest entry of a round counts: a round that failed may be made again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries = {(entry.campaign, entry.number): entry for entry in _read(path)}

    def append(self, entry: Entry) -> None:
        """Writes one line. A run that is killed in the middle of it loses that one round."""
        self._entries[entry.campaign, entry.number] = entry
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(b"\n" * _torn(self._path) + msgspec.json.encode(entry) + b"\n")

    def forget(self, names: Iterable[str]) -> None:
        """Takes out what is known of these campaigns, so that they begin anew."""
        gone = set(names)
        self._entries = {key: entry for key, entry in self._entries.items() if key[0] not in gone}
        if self._path.exists():
            lines = (msgspec.json.encode(entry) + b"\n" for entry in self._entries.values())
            self._path.write_bytes(b"".join(lines))

    def find(self, name: str, number: int) -> Entry | None:
        """What came of this round, if it was made."""
        return self._entries.get((name, number))

    def standing(self, campaign: Campaign) -> Standing:
        """The sum of a campaign's rounds."""
        entries = sorted(self._of(campaign), key=lambda entry: entry.number)
        ends = [entry.number for entry in entries if entry.outcome == "finished"]
        wanted = min([campaign.rounds, *ends])
        within = [entry for entry in entries if entry.number < wanted]
        passed = [entry for entry in within if entry.outcome == "passed"]
        counts: Counts = {}
        for entry in passed:
            counts = added(counts, entry.counts)
        return Standing(
            campaign,
            wanted,
            len(passed),
            tuple(entry for entry in within if entry.outcome == "failed"),
            tuple(entry for entry in within if entry.outcome == "unable"),
            counts,
            sum(entry.seconds for entry in within),
        )

    def _of(self, campaign: Campaign) -> Iterator[Entry]:
        return (entry for entry in self._entries.values() if entry.campaign == campaign.name)


def _read(path: Path) -> Iterator[Entry]:
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            yield msgspec.json.decode(line, type=Entry)
        except msgspec.DecodeError:
            continue  # cut off by a kill: that round is made again


def _torn(path: Path) -> bool:
    """Whether the last line has no end."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - 1, 0))
        return file.read(1) not in (b"", b"\n")

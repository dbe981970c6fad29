"""What a follower of events makes of each thing it hears: decided without any socket, for both clients."""

from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from backtrail.protocol import HEARTBEAT_TOPIC
from backtrail.values import CheckpointEvent, EventPage, Heartbeat
from backtrail.wire.exchange import UNREADABLE

PROGRESS = "progress"
MISSING = "events_missing"


def beginning(since: int | None, newest: int, *, follow: bool) -> int:
    """The number after which to begin. Who does not say it and does not follow wants all that there is."""
    if since is not None:
        return since
    return newest if follow else 0


class Trail:
    """How far a follower has come, and what of the news it hands on.

    Publishing is fast and may lose things; the daemon's log loses nothing. So news in perfect order is handed
    on as it is, and any doubt (a gap, another run of the daemon, a lost connection) sends the follower to the
    log, after which it has everything up to there.
    """

    def __init__(self, since: int, *, workspace: str | None = None, progress: bool = False) -> None:
        self.seq = since
        self._workspace = workspace
        self._progress = progress
        self._epoch: str | None = None
        self.in_doubt = True  # until the log was asked for the first time

    def hear(self, news: CheckpointEvent | Heartbeat) -> Iterator[CheckpointEvent]:
        """What to hand on of something published; nothing, where the log has to be asked first."""
        is_next = isinstance(news, CheckpointEvent) and news.type != PROGRESS and news.seq == self.seq + 1
        self.in_doubt = self.in_doubt or news.epoch != self._epoch or news.seq > self.seq + is_next
        if self.in_doubt or isinstance(news, Heartbeat):
            return
        if is_next or news.type == PROGRESS:
            self.seq = news.seq
            yield from self._wanted(news)

    def read(self, page: EventPage) -> Iterator[CheckpointEvent]:
        """What to hand on of the log after `seq`; `in_doubt` stays where there is more to read."""
        self._epoch = page.epoch
        if page.newest < self.seq:
            # The log was lost and begins anew: all that it has is new.
            self.seq, self.in_doubt = 0, page.newest > 0
            return
        for event in page.events:
            if event.seq > self.seq:
                yield from self._passed_over(event.seq - 1)
                self.seq = event.seq
                yield from self._wanted(event)
        if not page.events:
            yield from self._passed_over(page.newest)
        self.in_doubt = self.seq < page.newest

    def _passed_over(self, last: int) -> Iterator[CheckpointEvent]:
        """Numbers that the log does not have, up to this one: too old to be kept, or lost. Told once, not skipped."""
        first, self.seq = self.seq + 1, last
        if first <= last:
            yield CheckpointEvent(
                epoch=self._epoch or "",
                seq=last,
                type=MISSING,
                workspace="",
                root="",
                timestamp=datetime.now(UTC),
                data={"first": first, "last": last},
            )

    def _wanted(self, event: CheckpointEvent) -> Iterator[CheckpointEvent]:
        if self._workspace in (None, event.workspace) and (self._progress or event.type != PROGRESS):
            yield event


def news_of(message: list[bytes]) -> CheckpointEvent | Heartbeat | None:
    """A published message; None if it can't be read, in which case the next one shows the hole."""
    if len(message) != 2:
        return None
    try:
        if message[0] == HEARTBEAT_TOPIC.encode():
            return msgspec.json.decode(message[1], type=Heartbeat)
        return msgspec.json.decode(message[1], type=CheckpointEvent)
    except UNREADABLE:
        return None

"""P10: from the write of a file to the event of its checkpoint at a subscriber."""

import queue
import threading
import time
from collections.abc import Iterator

from backtrail import CheckpointEvent
from backtrail.wire.streams import EventStream
from bench.course import Course
from bench.figure import Figure, at_most
from bench.sample import sample

QUIET_SECONDS = 0.5  # what holds without a configuration
PATIENCE_SECONDS = 60.0
BARS = {0.5: 0.015, 0.99: 0.060}
CREATED = "checkpoint_created"

Heard = queue.Queue[tuple[float, CheckpointEvent]]


def figures(course: Course) -> Iterator[Figure]:
    """Above the quiet period, which is waited for on purpose."""
    ground = course.main
    ground.settle()
    stream, heard = ground.ours.client.events(ground.workspace), Heard()
    listener = threading.Thread(target=_listen, args=(stream, heard))
    listener.start()
    try:
        delays = [_delay(course, heard) for _ in range(course.effort.events)]
    finally:
        stream.close()
        listener.join()
    for quantile, limit in BARS.items():
        yield Figure(
            name="P10",
            what=f"write of a file → event at a subscriber, above the quiet period, p{quantile * 100:.0f}",
            quantile=quantile,
            ours=sample(delays),
            bar=at_most(limit),
        )


def _listen(stream: EventStream, heard: Heard) -> None:
    for event in stream:
        heard.put((time.perf_counter(), event))


def _delay(course: Course, heard: Heard) -> float:
    course.main.edits.make()
    written = time.perf_counter()
    while True:
        at, event = heard.get(timeout=PATIENCE_SECONDS)
        if event.type == CREATED and at > written:
            return at - written - QUIET_SECONDS

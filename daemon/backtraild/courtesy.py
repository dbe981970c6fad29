"""When a worker puts its own work off, which would take turns with the threads that read requests and send answers."""

# So long is it put off, and so long at most where one request follows the other.
SECONDS, MOST_SECONDS = 0.001, 0.05


class Courtesy:
    """Of one worker. It is told the time, and only decides."""

    def __init__(self) -> None:
        self._until: float | None = None
        self._answered_at: float | None = None

    def is_due(self, answered: bool, marked_at: float | None, now: float) -> bool:
        """Should the worker wait a moment? Yes while an answer is on its way, whatever else has woken it.

        And yes where the first change was noticed in this very moment, because whoever made it may be about to ask for
        a checkpoint.
        """
        if not answered:
            self._until = None
            return _is_recent(self._answered_at, now) or _is_recent(marked_at, now)
        self._answered_at = now
        if self._until is None:
            self._until = now + MOST_SECONDS
        if now < self._until:
            return True
        self._until = None
        return False


def _is_recent(moment: float | None, now: float) -> bool:
    return moment is not None and now < moment + SECONDS

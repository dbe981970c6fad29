"""Numbers of events that may have been given out, in a small file that outlives a damaged log and a power cut."""

import errno

from backtrail.regular import read_regular
from backtraild import durable

# Numbers are set aside this many at a time.
_RESERVE = 1000
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_UNKNOWN = "?"
# A FIFO or a long file in its place tells as little as one that is damaged.
_DAMAGE = (errno.EINVAL, errno.EFBIG)


class Reservation:
    """Which number is the highest that may have been told to anybody.

    The log itself is not synced after each event. A killed daemon loses nothing by that, as long as the machine
    runs; a power cut may take the last events, whose numbers must not be given to others then.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._boot = _boot()
        self.highest, noted = self._read()
        # A file without that is an older one's: it is told nothing about power cuts.
        self.may_have_lost_events = noted is not None and (noted == _UNKNOWN or noted != self._boot)

    def cover(self, seq: int) -> None:
        """Make sure that this number counts as given out, whatever happens; raises OSError."""
        if seq > self.highest:
            self._write(seq + _RESERVE)

    def settle(self, newest: int) -> None:
        """The log is complete and durable: no number beyond its newest was given out; raises OSError."""
        if self.highest != newest:
            self._write(newest)

    def _write(self, highest: int) -> None:
        durable.replace_file(self._path, f"{highest} {self._boot}\n".encode())
        self.highest = highest

    def _read(self) -> tuple[int, str | None]:
        try:
            highest, *boot = read_regular(self._path, 128).decode().split()
            return int(highest), boot[0] if boot else None
        except (FileNotFoundError, ValueError):
            return 0, None
        except OSError as error:
            if error.errno in _DAMAGE:
                return 0, None
            raise


def _boot() -> str:
    """Which start of the machine this is; another one than any, where it does not tell."""
    try:
        with open(_BOOT_ID, encoding="ascii") as file:
            return file.read().strip() or _UNKNOWN
    except OSError:
        return _UNKNOWN

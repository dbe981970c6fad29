"""Whether what scouts have found may take the place of a look at everything."""

import contextlib
import hashlib
import logging
from collections.abc import Callable

from backtrail import __version__
from backtrail.errors import StoreFailed
from backtrail.pathtext import to_text
from backtraild.ignore import DEFAULT_PATTERNS, FolderRules
from backtraild.model import Path
from backtraild.scan import Observer, adopt
from backtraild.scouts.report import Report
from backtraild.workspace.parts import Parts

# Beyond this many hints a look at everything is cheaper.
MOST_HINTS = 50_000
LISTINGS_AT_ONCE = 500  # some milliseconds

_LOOKED_WITH = "looked_with"

_log = logging.getLogger(__name__)


class Scouting:
    """Remembers what everything was looked at with: scouts compare with rows, and apply no rules of their own."""

    def __init__(self, parts: Parts, rules: FolderRules, observer: Observer) -> None:
        self._parts = parts
        self._rules = rules
        self._observer = observer
        self._present = _fingerprint(parts)
        self._listings: list[tuple[bytes, bytes]] = []  # that are not in the table yet
        self._folders = 0

    def looked_at_everything(self) -> None:
        """In the transaction of that look."""
        if self._parts.database.fact(_LOOKED_WITH) != self._present:
            self._parts.database.remember(_LOOKED_WITH, self._present)

    def hints(self, report: Report) -> frozenset[Path] | None:
        """Have the known folders watched; all that may have changed. None if everything has to be looked at."""
        parts = self._parts
        self._listings, self._folders = list(report.listings.items()), len(report.numbers)
        # The scouts read the rows that were there before anything was finished or mended.
        is_the_same = not (parts.table.is_written or parts.database.beginnings)
        if not is_the_same or parts.database.fact(_LOOKED_WITH) != self._present or b"" not in report.numbers:
            return None
        # What was left out may be captured by now, and has no row that would tell.
        hints = report.hints.union(skipped.path for skipped in parts.skips.all())
        if len(hints) > MOST_HINTS:
            return None
        hints.update(adopt(parts.root, self._rules, report, self._observer))
        _log.info(
            "Scouts found %d folders of %s, and %d paths in them to be looked at.",
            len(report.numbers),
            to_text(parts.root),
            len(hints),
        )
        return frozenset(hints)

    def keep_listings(self, is_asked: Callable[[], bool]) -> None:
        """Have the next start know what is in folders that this one had to list, until somebody asks for something."""
        while self._listings and not is_asked():
            some = self._listings[-LISTINGS_AT_ONCE:]
            del self._listings[-LISTINGS_AT_ONCE:]
            # What can't be kept is listed again.
            with contextlib.suppress(StoreFailed), self._parts.database.transaction():
                if self._folders:  # once: to count them takes as long as to keep some
                    self._parts.listings.begin_anew_beyond(2 * self._folders)
                    self._folders = 0
                self._parts.listings.keep(some)


def _fingerprint(parts: Parts) -> str:
    """Of all that decides what is captured, other than the files themselves."""
    config = parts.config
    decisive = (__version__, config.exclude_patterns, config.limits.max_file_size, DEFAULT_PATTERNS)
    return hashlib.sha256(repr(decisive).encode("utf-8", "surrogateescape")).hexdigest()

"""Rows read ahead: a look at very many folders asks the table once for hundreds of them."""

from collections.abc import Sequence

from backtraild.model import Path
from backtraild.state.bundle import Row, unpack
from backtraild.state.connection import Connection
from backtraild.state.places import key_of, range_of

AT_ONCE = 256  # bundles, half a megabyte at most

_QUERY = "SELECT folder, bundle FROM files WHERE folder >= ? AND folder < ? ORDER BY folder LIMIT ?"
_WHOLE = "SELECT bundle FROM files WHERE folder = ?"


class Ahead:
    """The rows of a folder and of those below it, for a walk that enters each before those inside it, in their order.

    Any other order is answered as well, with more questions to the table. What is written after it was read ahead is
    not seen: a look writes the rows of a folder after it asked for them, and asks for them once.
    """

    def __init__(self, connection: Connection, scope: Path) -> None:
        self._connection = connection
        _, self._scope_end = range_of(scope)
        self._begin = self._end = b""  # the keys from one to the other have been read
        self._bundles: dict[bytes, list[bytes]] = {}

    def rows(self, folder: Path) -> dict[bytes, Row]:
        """All files directly in a folder."""
        key = key_of(folder)
        if not self._begin <= key < self._end:
            self._read_on(key)
        rows: dict[bytes, Row] = {}
        with self._connection.failing:
            for bundle in self._bundles.get(key, ()):
                rows.update(unpack(key, bundle))
        return rows

    def _read_on(self, key: bytes) -> None:
        found = self._connection.execute(_QUERY, (key, self._scope_end, AT_ONCE)).fetchall()
        self._bundles = {}
        for place, bundle in found:
            self._bundles.setdefault(place, []).append(bundle)
        self._begin, self._end = key, self._scope_end
        if len(found) == AT_ONCE:
            self._complete(found[-1][0])

    def _complete(self, last: bytes) -> None:
        """The last folder may have more bundles than were read of it."""
        bundles: Sequence[tuple[bytes]] = self._connection.execute(_WHOLE, (last,)).fetchall()
        self._bundles[last] = [bundle for (bundle,) in bundles]
        self._end = last + b"\0"  # the very next key that there could be

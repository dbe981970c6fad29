"""As much of a list as was asked for, which may be more than the daemon gives at once."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from backtrail.protocol import MAX_LIST

_Item = TypeVar("_Item")
_Cursor = TypeVar("_Cursor", int, str)

# Asked for so many from this place on, gives them and where they end, None at the end of the list.
Page = Callable[[int, _Cursor | None], tuple[Sequence[_Item], _Cursor | None]]


def gather(page: Page[_Cursor, _Item], limit: int | None) -> tuple[list[_Item], _Cursor | None]:
    """The first ones, or all without a limit; and where to go on, if there are more."""
    found: list[_Item] = []
    cursor: _Cursor | None = None
    while True:
        wanted = MAX_LIST if limit is None else min(limit - len(found), MAX_LIST)
        items, cursor = page(wanted, cursor)
        found += items
        if cursor is None or (limit is not None and len(found) >= limit):
            return found, cursor

"""What was read or made before, remembered as long as there is room: the most recently used of it."""

from collections import OrderedDict
from typing import Generic, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Kept(Generic[_Key, _Value]):
    """Values that never change, each with the bytes that it takes. Used by one thread."""

    def __init__(self, room: int) -> None:
        self._room = self._left = room
        self._values: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()

    def __contains__(self, key: _Key) -> bool:
        return key in self._values

    @property
    def left(self) -> int:
        """How many bytes can be kept at the cost of nothing else."""
        return self._left

    def get(self, key: _Key) -> _Value | None:
        """A value that is still remembered."""
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[0]

    def keep(self, key: _Key, value: _Value, size: int) -> None:
        """Remember a value, at the cost of those that were not used for the longest time."""
        if key in self._values or size > self._room:
            return
        self._values[key] = value, size
        self._left -= size
        while self._left < 0:
            self._left += self._values.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Forget everything."""
        self._values.clear()
        self._left = self._room

"""Making deltas as git packs them: one object told as copies out of another one and what is new. Pure.

What both begin and end with is found first, which is all there is to find for most edits and for folders. In between,
whole pieces (lines, or the entries of a tree) are looked up among those of the base. Each byte is looked at a few
times, whatever it is: nobody can store a content that keeps upkeep busy for hours.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property

_LONGEST_COPY = 0xFFFF  # of one order; git understands one byte more, which is written as none at all
_LONGEST_NEW = 0x7F
_SHORTEST_PIECE = 12  # an order to copy takes up to eight bytes
_BLOCK = 16
_TINY = 8  # pieces of so few bytes on average are so many that they take more memory than they are worth
_NEARBY = 256  # so far what lies before equal pieces is compared, too


class Material:
    """A content that deltas are made of or from, and what is worked out about it, once."""

    def __init__(self, content: bytes, separator: bytes = b"\n") -> None:
        """Without a separator pieces begin at every byte, which is for small contents only."""
        self.content = content
        self._separator = separator

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, bytes]]:
        """What lies between two places: where each piece begins, and the piece."""
        if not self._separator:
            for at in range(start, end - _BLOCK + 1):
                yield at, self.content[at : at + _BLOCK]
            return
        at = start
        for piece in self.content[start:end].split(self._separator):
            yield at, piece
            at += len(piece) + 1

    @cached_property
    def places(self) -> Mapping[bytes, int]:
        """Where each of the longer pieces begins, the first time."""
        found: dict[bytes, int] = {}
        if self._separator and self.content.count(self._separator) * _TINY > len(self.content):
            return found
        for at, piece in self.pieces(0, len(self.content)):
            if len(piece) >= _SHORTEST_PIECE:
                found.setdefault(piece, at)
        return found

    def shared(self, other: "Material") -> int:
        """How many different pieces it has in common with another one."""
        return len(self.places.keys() & other.places.keys())


def make_delta(base: Material, target: Material) -> bytes | None:
    """What makes the target out of the base; None where more than half of the target would have to be told as new."""
    making = _Making(base, target)
    shorter = min(len(base.content), len(target.content))
    start = common_prefix(base.content, 0, target.content, 0, shorter)
    end = len(target.content)
    tail = common_suffix(base.content, len(base.content), target.content, end, shorter - start)
    making.copy(0, 0, start)
    if making.match(start, end - tail):
        making.copy(end - tail, len(base.content) - tail, tail)
    return making.made()


class _Making:
    """A delta under way."""

    def __init__(self, base: Material, target: Material) -> None:
        self._base = base
        self._material = target
        self._target = target.content
        self._orders = bytearray(_number(len(base.content)) + _number(len(target.content)))
        self._told = 0  # bytes of the target so far
        self._new_left = len(target.content) // 2

    def match(self, start: int, end: int) -> bool:
        """Tell what the base has of the target's pieces between these places; False if it is too little."""
        if not self._base.places or end - start < _SHORTEST_PIECE:
            return end - start <= self._new_left
        for at, piece in self._material.pieces(start, end):
            if at >= self._told:
                place = self._base.places.get(piece)
                if place is not None:
                    self._copy_around(at, place, end)
                elif at - self._told > self._new_left:
                    return False
        return end - self._told <= self._new_left

    def copy(self, at: int, place: int, length: int) -> None:
        """Tell so many bytes of the target as those of the base at a place, and as new what comes before them."""
        if not length:
            return
        self._add(at)
        for begin in range(place, place + length, _LONGEST_COPY):
            self._orders += _copy_order(begin, min(_LONGEST_COPY, place + length - begin))
        self._told = at + length

    def made(self) -> bytes | None:
        """The whole delta; None if it holds too much that is new."""
        self._add(len(self._target))
        return bytes(self._orders) if self._new_left >= 0 else None

    def _copy_around(self, at: int, place: int, end: int) -> None:
        """Copy an equal piece, with all that is equal behind it and what is equal right before it."""
        base = self._base.content
        ahead = common_prefix(base, place, self._target, at, min(len(base) - place, end - at))
        behind = common_suffix(base, place, self._target, at, min(place, at - self._told, _NEARBY))
        self.copy(at - behind, place - behind, ahead + behind)

    def _add(self, end: int) -> None:
        """Tell as new what has not been told before this place of the target."""
        self._new_left -= end - self._told
        if self._new_left < 0:  # nobody will want it
            return
        for begin in range(self._told, end, _LONGEST_NEW):
            piece = self._target[begin : min(begin + _LONGEST_NEW, end)]
            self._orders.append(len(piece))
            self._orders += piece


def common_prefix(one: bytes, at: int, other: bytes, other_at: int, longest: int) -> int:
    """How many bytes are the same from two places on, `longest` at most."""
    same, step, grows = 0, 64, True
    while step and same < longest:
        step = min(step, longest - same)
        if one[at + same : at + same + step] == other[other_at + same : other_at + same + step]:
            same += step
            step = step * 2 if grows else step
        else:  # the first difference is within the step
            step, grows = step // 2, False
    return same


def common_suffix(one: bytes, end: int, other: bytes, other_end: int, longest: int) -> int:
    """How many bytes are the same before two places, `longest` at most."""
    same, step, grows = 0, 64, True
    while step and same < longest:
        step = min(step, longest - same)
        if one[end - same - step : end - same] == other[other_end - same - step : other_end - same]:
            same += step
            step = step * 2 if grows else step
        else:
            step, grows = step // 2, False
    return same


def _copy_order(place: int, length: int) -> bytes:
    """One byte that tells which others follow; those that would be zero do not."""
    order, following = 0x80, bytearray()
    for bit, byte in enumerate(place.to_bytes(4, "little") + length.to_bytes(2, "little")):
        if byte:
            order |= 1 << bit
            following.append(byte)
    return bytes([order, *following])


def _number(value: int) -> bytes:
    """Seven bits a byte, the low ones first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])

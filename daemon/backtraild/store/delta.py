"""Deltas as git packs them: an object told as copies out of another one and what is new. Pure."""


def result_size(delta: bytes) -> int:
    """Length of what the delta makes; its first few bytes are enough."""
    return _number(delta, _number(delta, 0)[1])[0]


def apply_delta(base: bytes, delta: bytes) -> bytes:
    """The object that a delta makes out of its base. ValueError or IndexError where it makes no sense."""
    base_size, at = _number(delta, 0)
    size, at = _number(delta, at)
    pieces: list[bytes] = []
    made, end = 0, len(delta)
    while at < end and made <= size:
        order = delta[at]
        at += 1
        if order & 0x80:
            start, length, at = _copy(order, delta, at)
            piece = base[start : start + length]
        else:
            length = order
            piece = delta[at : at + length]
            at += length
        if not length or len(piece) != length:
            raise ValueError("a delta reaches beyond its base or its end")
        pieces.append(piece)
        made += length
    if base_size != len(base) or size != made:
        raise ValueError("a delta does not fit its base")
    return b"".join(pieces)


def _copy(order: int, delta: bytes, at: int) -> tuple[int, int, int]:
    """Where to copy from, how much, and where the delta goes on; the order's bits tell which bytes follow."""
    start = length = 0
    for bit in range(7):
        if order & (1 << bit):
            if bit < 4:
                start |= delta[at] << 8 * bit
            else:
                length |= delta[at] << 8 * (bit - 4)
            at += 1
    return start, length or 0x10000, at


def _number(delta: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the low ones first, and where it ends."""
    value = shift = 0
    while delta[at] & 0x80:
        value |= (delta[at] & 0x7F) << shift
        shift += 7
        at += 1
    return value | delta[at] << shift, at + 1

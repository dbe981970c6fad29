"""The few bytes before each object in a pack: its type and its size."""

from backtrail.errors import StoreDamaged

MAX_HEADER = 12  # enough for sizes of 80 bits


def encode_header(kind: int, size: int) -> bytes:
    """Three bits of type and four of size, then seven of size a byte, the low ones first."""
    current = (kind << 4) | (size & 15)
    size >>= 4
    header = bytearray()
    while size:
        header.append(current | 0x80)
        current = size & 0x7F
        size >>= 7
    header.append(current)
    return bytes(header)


def decode_header(packed: bytes) -> tuple[int, int, int]:
    """Type, size, and how many bytes the header takes."""
    if not packed:
        raise StoreDamaged("A pack in the store is cut off.")
    kind, size, shift, used = (packed[0] >> 4) & 7, packed[0] & 15, 4, 1
    while packed[used - 1] & 0x80:
        if used == min(len(packed), MAX_HEADER):
            raise StoreDamaged("A pack in the store is cut off.")
        size |= (packed[used] & 0x7F) << shift
        shift += 7
        used += 1
    return kind, size, used

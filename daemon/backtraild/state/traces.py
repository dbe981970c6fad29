"""What was certainly not seen before, told from one bit for each text that was. Pure."""

from collections.abc import Iterable

# 32 KB. Once ten thousand texts were seen, one in thirty others is thought to have been, perhaps.
BITS = 2**18


class Traces:
    """They are only ever left, and never take more room."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._bits = bytearray(BITS // 8)
        for text in texts:
            self.leave(text)

    def leave(self, text: str) -> None:
        """Somebody was here."""
        place, bit = divmod(hash(text) % BITS, 8)
        self._bits[place] |= 1 << bit

    def may_be_of(self, text: str) -> bool:
        """False if this text left none."""
        place, bit = divmod(hash(text) % BITS, 8)
        return bool(self._bits[place] & 1 << bit)

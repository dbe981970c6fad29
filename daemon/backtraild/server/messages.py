"""Messages of a conversation on their way out: lines of JSON as they were stored, others as text. Pure."""

import json

import msgspec

# A reader may be deep in calls of its own when it comes to the message.
_MARGIN = 100
# A line with fewer brackets than this can't be nested too deeply for anybody.
_HARMLESS = 500


def shown(line: bytes) -> msgspec.Raw:
    """A line as JSON that everybody can read: as it is, if it is that already."""
    if is_readable(line):
        return msgspec.Raw(line)
    mended = _mended(line)
    return msgspec.Raw(mended if is_readable(mended) else _text(line))


def is_readable(line: bytes) -> bool:
    """Can a client read this? Reading it to find out is quicker than scanning it, and a page is not long."""
    margin = _MARGIN if line.count(b"[") + line.count(b"{") > _HARMLESS else 0
    try:
        msgspec.json.decode(b"[" * margin + line + b"]" * margin if margin else line)
    except (ValueError, RecursionError):  # of bytes that are not UTF-8, too
        return False
    return True


def _mended(line: bytes) -> bytes:
    """Half of a character, which JavaScript writes as an escape, becomes a question mark."""
    try:
        return json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return b""


def _text(line: bytes) -> bytes:
    return msgspec.json.encode(line.decode("utf-8", "replace"))

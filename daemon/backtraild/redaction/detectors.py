"""All that looks for secrets, together. Its patterns take longer to compile than the rest of the package to load."""

from collections.abc import Iterator, Sequence
from re import Pattern

from backtraild.redaction.assignments import find_assignments
from backtraild.redaction.blocks import find_blocks
from backtraild.redaction.connections import find_connections
from backtraild.redaction.custom import find_custom
from backtraild.redaction.findings import Finding
from backtraild.redaction.tokens import find_tokens


def find_all(raw: bytes, custom: Sequence[Pattern[bytes]]) -> Iterator[Finding]:
    """Every place that may hold a secret; they may overlap."""
    lowered = raw.lower()
    yield from find_blocks(raw)
    yield from find_tokens(raw)
    yield from find_connections(raw, lowered)
    yield from find_assignments(raw, lowered)
    if custom:
        yield from find_custom(raw, custom)

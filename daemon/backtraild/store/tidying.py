"""What the upkeep of a store found out, and what it made ready for the store to put in place."""

from msgspec import Struct

# Everything that upkeep writes begins like this, as git's own unfinished packs do: opening a store removes it.
UPKEEP_PREFIX = "tmp_pack_upkeep_"


class Weighed(Struct, frozen=True):
    """How many bytes of packs and indexes a store needs.

    `others` is for all that is not asked about: conversations, pins, other checkpoints. `cumulative[n]` is for that
    and the first n + 1 of those that were asked about.
    """

    others: int
    cumulative: tuple[int, ...]
    complete: bool  # else something is damaged, and the figures are too small


class Tidied(Struct, frozen=True):
    """Packs that are ready to take the place of others. Nothing has changed until the store puts them in place."""

    made: tuple[str, ...]  # files in the pack folder, complete and durable; beside each its index
    replaced: tuple[str, ...]  # names such as `pack-1234…`
    # A file of ids, 20 bytes each and sorted: what is in the replaced ones and no longer needed. Empty where nothing
    # was made: then that is all that is in them, and not a byte had to be written, which a full disk may refuse.
    let_go: str
    before: int  # bytes of packs and indexes that were looked at
    after: int
    # Packs that were left as they are, because something in them is not what was stored.
    damaged: tuple[str, ...]
    incomplete: str | None  # why it is not known what is still needed, so that nothing was let go
    more: bool  # another round is worth it


class Swept(Struct, frozen=True):
    """What the last round put aside is gone."""


class UpkeepFailed(Struct, frozen=True):
    """A round came to nothing, which costs nothing but its time."""

    reason: str

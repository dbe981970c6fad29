"""What a process of upkeep is asked, as it crosses the pipe."""

import msgspec


class Weigh(msgspec.Struct, frozen=True, tag="weigh"):
    """How many bytes does the store need, if the first of these checkpoints are kept, for each number of them?"""

    git_dir: str
    order: tuple[int, ...]


class Tidy(msgspec.Struct, frozen=True, tag="tidy"):
    """Merge these packs, and leave out what is no longer needed."""

    git_dir: str
    packs: tuple[str, ...]
    room: int  # how many bytes the copies may take before the old ones go
    urgent: bool  # every byte counts


class Sweep(msgspec.Struct, frozen=True, tag="sweep"):
    """Remove what was put aside."""

    git_dir: str


Order = Weigh | Tidy | Sweep

"""What a restore did, or would do."""

from msgspec import Struct

from backtraild.model import Checkpoint, Path
from backtraild.restore import Conflict


class RestoreResult(Struct, frozen=True):
    """What a restore did, or would do. `result` is the checkpoint that records the state afterwards.

    Of what would be done, `fingerprint` names every path with the content that goes and the one that comes.
    """

    checkpoint: Checkpoint
    safety_checkpoint: Checkpoint | None
    result: Checkpoint | None
    written: tuple[Path, ...]
    deleted: tuple[Path, ...]
    unchanged: int
    conflicts: tuple[Conflict, ...]
    dry_run: bool
    fingerprint: str = ""

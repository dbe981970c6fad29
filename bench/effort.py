"""How often and how long everything is measured."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """Enough for medians that hold, and no more than the time of a run allows."""

    saves: int = 30
    others_every: int = 6  # of the saves: peers that are slow and have no bar have fewer turns
    growth_saves: int = 40
    starts: int = 15
    growth_starts: int = 3
    changed_at_start: int = 100
    restores: int = 20
    many_files: int = 10_000
    many_restores: int = 3
    checkpoints: int = 1_000
    upkeep_seconds: float = 300.0
    workspaces: int = 10
    idle_seconds: float = 60.0
    commands: int = 20
    events: int = 100
    storm_files: int = 100_000
    questions: int = 50
    history: int = 10_000
    first_rounds: int = 3
    first_rounds_up_to: int = 20_000  # files: above, one round takes long enough to be its own average

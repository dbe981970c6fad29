"""What a daemon holds in memory stays as it is, however many checkpoints come and go."""

import json
import os
import subprocess
import sys
from pathlib import Path

# Of objects that others refer to hardly one is new. About 200 pieces come from below Python, where some few hundred are
# remembered, and ever fewer are new: one for each checkpoint would be 300 more.
CONTAINERS, PIECES = 20, 300


def test_as_much_is_held_in_memory_after_six_hundred_checkpoints_as_after_three_hundred(tmp_path: Path):
    """A daemon runs for months: one small object for each checkpoint would be all of its memory in the end."""
    command = [sys.executable, "-m", "support.growing", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    (containers, pieces), (more_containers, more_pieces) = json.loads(done.stdout)
    assert more_containers - containers < CONTAINERS
    assert more_pieces - pieces < PIECES

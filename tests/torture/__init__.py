"""The long runs: faults, damage and attacks, round after round, with a table of what came of them."""

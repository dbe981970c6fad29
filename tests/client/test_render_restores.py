"""Restores, retention and verification as a person sees them."""

from typing import Any

import msgspec

from backtrail.cli import render
from backtrail.values import Conflict, Damage, PrunedCheckpoint, PruneResult, RestoreResult, VerifyResult
from support.answers import screen, summary


def result(**others: Any) -> RestoreResult:
    return RestoreResult(
        **{
            "checkpoint": summary(39, message="before the refactoring\nmore"),
            "safety_checkpoint": None,
            "written": [f"src/m{number:02}.py" for number in range(25)],
            "deleted": ["tab\x1b.txt"],
            "unchanged": 1234,
            "conflicts": [Conflict(path="big.iso", reason="something that no checkpoint holds is there")],
            "dry_run": True,
            **others,
        }
    )


def test_a_plan_says_everything_that_would_happen() -> None:
    """I decide about my files on the ground of this text."""
    lines = render.restore_plan(result(), screen()).splitlines()
    assert lines[0] == "Going back to checkpoint 39 (2 minutes ago: before the refactoring) would"
    assert lines[1:3] == ["  write 25 files", "      src/m00.py"]
    assert lines[21:] == [
        "      src/m19.py",
        "      … and 5 more",
        "  delete 1 file",
        "      tab\\x1b.txt",
        "  leave 1,234 files as they are",
        "  not touch 1 path",
        "      big.iso: something that no checkpoint holds is there",
    ]


def test_a_plan_that_changes_nothing_says_so() -> None:
    """No question is needed then."""
    text = render.restore_plan(result(written=[], deleted=[], conflicts=[]), screen())
    assert text == "Everything is already as in checkpoint 39 (2 minutes ago: before the refactoring).\n"


def test_what_was_done_can_be_taken_back() -> None:
    """And I am told how."""
    text = render.restore_done(
        result(dry_run=False, safety_checkpoint=summary(41), result=summary(42)), screen()
    )
    lines = text.splitlines()
    assert lines[0] == "Restored checkpoint 39 (2 minutes ago: before the refactoring):"
    assert "  written 25 files" in lines
    assert "      … and 15 more" in lines
    assert "  deleted 1 file" in lines
    assert "  unchanged 1,234 files" in lines
    assert "  left alone 1 path" in lines
    assert lines[-1] == "The state before it is checkpoint 41; `backtrail undo` goes back to it."


def test_where_nothing_was_done_there_is_nothing_to_undo() -> None:
    """`backtrail undo` would take back something else."""
    text = render.restore_done(
        result(written=[], deleted=[], conflicts=[], safety_checkpoint=summary(41)), screen()
    )
    assert text.endswith("no file was changed.\n")
    assert "undo" not in text


def test_a_restore_with_its_conversation_says_what_became_of_that() -> None:
    """Turns that are out of sight, or in sight again, are a change too, also where no file changed."""
    plan = render.restore_plan(result(written=[], deleted=[], conflicts=[]), screen(), with_conversation=True)
    assert plan.endswith("The conversation would go back to the turn that ended with it.\n")
    note = {"session": "fix-login", "hidden": [4, 5], "shown": [], "messages_removed": 3}
    made = {"written": [], "deleted": [], "conflicts": [], "safety_checkpoint": summary(41)}
    back = render.restore_done(result(**made, result=summary(42, metadata={"rewind": note})), screen())
    assert "The session fix-login went back: 2 turns and 3 messages are hidden.\n" in back
    assert "`backtrail undo`" in back
    note = {"session": "fix-login", "hidden": [], "shown": [4, 5], "messages_removed": 0}
    again = render.restore_done(result(**made, result=summary(42, metadata={"rewind": note})), screen())
    assert "The session fix-login has 2 turns again.\n" in again


def pruned(**others: Any) -> PruneResult:
    hours = [PrunedCheckpoint(number=number, reason="not the last of its hour") for number in (3, 4, 5, 9)]
    old = [PrunedCheckpoint(number=1, reason="automatic and more than a year old")]
    kept = {"pinned": [2, 6, 7], "less than a day old": list(range(10, 95))}
    reasons = {reason: len(numbers) for reason, numbers in kept.items()}
    told = {
        "dropped": hours + old,
        "kept": 88,
        "kept_reasons": reasons,
        "kept_numbers": kept,
        "dry_run": True,
    }
    return PruneResult(**{**told, **others})


def test_retention_gives_its_reasons() -> None:
    """Nothing is let go silently."""
    assert render.prune(pruned(), screen()) == (
        "Would let go of 5 checkpoints; 88 checkpoints would be kept.\n"
        "  drop      4  not the last of its hour: 3–5, 9\n"
        "  drop      1  automatic and more than a year old: 1\n"
        "  keep     85  less than a day old: 10–94\n"
        "  keep      3  pinned: 2, 6, 7\n"
    )
    assert render.prune(pruned(dry_run=False), screen()).startswith(
        "Let go of 5 checkpoints; 88 checkpoints are kept.\nThe space is given back in the background.\n"
    )
    assert render.prune(pruned(dropped=[], kept=1, kept_reasons={}), screen()) == (
        "Nothing to let go: 1 checkpoint is kept.\n"
    )


def test_what_an_older_daemon_does_not_tell_of_those_that_stay_is_left_out() -> None:
    """The command may be newer than the daemon that still runs."""
    told = render.prune(pruned(kept_numbers={}), screen())
    assert told.endswith("  keep     85  less than a day old\n  keep      3  pinned\n")


def test_a_limit_that_cannot_be_kept_is_explained() -> None:
    """Twelve checkpoints where ten are allowed look like a mistake, unless somebody says why."""
    told = render.prune(pruned(excess=2), screen())
    assert told.endswith("That is 2 more than `max_checkpoints` allows: those that are left are protected.\n")


def verified(*damage: Damage) -> VerifyResult:
    whole = [1, 2, 3, 4] if damage else [1, 2, 3, 4, 5, 6]
    return VerifyResult(
        workspace="w", checkpoints=6, objects=12_345, bytes=34_000_000, whole=whole, damage=list(damage)
    )


def test_a_store_without_damage_is_told_in_a_line() -> None:
    """So many bytes were looked at."""
    assert render.verify(verified(), screen()) == "All whole: 6 checkpoints, 12,345 objects, 34 MB.\n"


def test_damage_names_what_is_lost_and_what_is_not() -> None:
    """I need to know which checkpoints I can still rely on."""
    cut_short = Damage(checkpoints=[5, 6], problem="object 1f is cut short", path="src/\x1bapp.py")
    other = Damage(checkpoints=[6], problem="the tree is missing")
    assert render.verify(verified(cut_short, other), screen()) == (
        "Damaged: 2 of 6 checkpoints (12,345 objects, 34 MB).\n"
        "  src/\\x1bapp.py: object 1f is cut short (checkpoints 5, 6)\n"
        "  the tree is missing (checkpoint 6)\n"
        "Whole and safe to restore: 1–4.\n"
    )


def test_what_was_healed_counts_as_damaged_and_as_safe() -> None:
    """Something happened to the store, and it is over."""
    missing = Damage(checkpoints=[4, 5, 6], problem="object 1f is missing", path="a")
    told = render.verify(msgspec.structs.replace(verified(missing), healed=[4]), screen())
    assert told.startswith("Damaged: 3 of 6 checkpoints")
    assert "Healed: 4, from what the folder still has.\n" in told
    assert "safe to restore: 1–4" in told

"""What retention, a copy elsewhere and a look at every stored byte came to, as text."""

from backtrail.amounts import size
from backtrail.cli.characters import visible
from backtrail.cli.render import cells
from backtrail.cli.terminal import Screen
from backtrail.cli.words import count, numbers
from backtrail.values import Damage, Mirrored, PruneResult, VerifyResult

_DAMAGE_SHOWN = 50


def prune(result: PruneResult, screen: Screen) -> str:
    """What retention let go and kept, by reason."""
    if not result.dropped:
        rows = [f"Nothing to let go: {_kept(result)}."]
    else:
        verb = "Would let go of" if result.dry_run else "Let go of"
        gone = screen.paint(count(len(result.dropped), "checkpoint"), "bold")
        rows = [f"{verb} {gone}; {_kept(result)}."]
        if not result.dry_run:
            rows.append("The space is given back in the background.")
    by_reason: dict[str, list[int]] = {}
    for dropped in result.dropped:
        by_reason.setdefault(dropped.reason, []).append(dropped.number)
    for reason, gone_for_it in by_reason.items():
        rows.append(_decided(screen.paint("drop", "red"), len(gone_for_it), reason, gone_for_it, screen))
    for reason, number in sorted(result.kept_reasons.items(), key=lambda item: -item[1]):
        which = result.kept_numbers.get(reason, [])
        rows.append(_decided(screen.paint("keep", "green"), number, reason, which, screen))
    if result.excess:
        rows.append(
            f"That is {result.excess:,} more than `max_checkpoints` allows: those that are left are protected."
        )
    return cells.together(rows)


def verify(result: VerifyResult, screen: Screen) -> str:
    """Whether every stored byte is what was stored."""
    looked_at = f"{count(result.objects, 'object')}, {size(result.bytes)}"
    if not result.damage:
        whole = count(result.checkpoints, "checkpoint")
        return f"{screen.paint('All whole', 'green')}: {whole}, {looked_at}.\n"
    hurt = result.checkpoints - len(result.whole) + len(result.healed)
    rows = [
        f"{screen.paint('Damaged', 'red')}: {hurt:,} of {count(result.checkpoints, 'checkpoint')} ({looked_at})."
    ]
    few = [_damage(damage, screen) for damage in result.damage[:_DAMAGE_SHOWN]]
    rows += cells.listing(few, len(result.damage), "  ", screen)
    if result.healed:
        told = f"{numbers(result.healed)}, from what the folder still has."
        rows.append(f"{screen.paint('Healed', 'green')}: {screen.sign(told)}")
    if result.whole:
        rows.append(f"Whole and safe to restore: {screen.sign(numbers(result.whole))}.")
    return cells.together(rows)


def mirrored(result: Mirrored, screen: Screen) -> str:
    """What a remote was sent."""
    changes = (
        ("new", result.new, "green"),
        ("updated", result.updated, "yellow"),
        ("deleted", result.deleted, "red"),
    )
    parts = [f"{len(refs):,} {screen.paint(word, colour)}" for word, refs, colour in changes if refs]
    remote = screen.paint(visible(result.remote), "bold")
    if not parts:
        return f"{remote} is up to date: it has {count(result.up_to_date, 'ref')}, as there are here.\n"
    verb = "would be" if result.dry_run else "is now"
    refs = ", ".join([*parts, f"{result.up_to_date:,} as before"])
    return f"{remote} {verb} a mirror of this workspace. Refs: {refs}.\n"


def _decided(verb: str, number: int, reason: str, which: list[int], screen: Screen) -> str:
    """One line a reason, with as many of the checkpoints' numbers as it has room for."""
    told = screen.cut(screen.sign(numbers(which)), screen.width - len(reason) - 16)
    return f"  {verb}  {number:>5,}  {visible(reason)}" + (f": {told}" if which else "")


def _kept(result: PruneResult) -> str:
    if result.dry_run and result.dropped:
        return f"{count(result.kept, 'checkpoint')} would be kept"
    return f"{count(result.kept, 'checkpoint')} {'is' if result.kept == 1 else 'are'} kept"


def _damage(damage: Damage, screen: Screen) -> str:
    where = f"{visible(damage.path)}: " if damage.path else ""
    noun = "checkpoint" if len(damage.checkpoints) == 1 else "checkpoints"
    needed = f" ({noun} {screen.sign(numbers(damage.checkpoints))})" if damage.checkpoints else ""
    return f"{where}{visible(damage.problem)}{needed}"

"""`migrate`: stores of an earlier version, brought up to date."""

from backtrail.cli.characters import visible
from backtrail.cli.command import Command
from backtrail.cli.invocation import Invocation
from backtrail.cli.words import count
from backtrail.protocol import MIGRATE, Migrate
from backtrail.values import MigrateResult


def _migrate(invocation: Invocation) -> int:
    done = invocation.ask_patiently(MIGRATE, Migrate(), "Bringing stores up to date")
    invocation.give(done, lambda _: _text(done))
    return 0


def _text(done: MigrateResult) -> str:
    changed = [store for store in done.stores if store.before != store.now]
    rows = [f"{visible(store.store)}: version {store.before}, now {store.now}\n" for store in changed]
    already = len(done.stores) - len(changed)
    return (
        "".join(rows) + f"{count(already, 'store')} {'is' if already == 1 else 'are'} up to date already.\n"
    )


COMMANDS = {
    "migrate": Command(
        _migrate,
        "Bring the stores of all folders up to date, also of those that are watched no more. The daemon does this\n"
        "with the store of a folder when it begins to watch it; nothing that is in a store is lost by it.",
        "backtrail migrate",
    )
}

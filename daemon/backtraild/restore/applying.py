"""Carrying out a plan from its journal to the last clean-up."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from backtrail.errors import RestoreFailed, RestoreInterrupted
from backtraild.model import Blobs
from backtraild.restore.attempt import (
    Attempt,
    Outcome,
    Recording,
    close_down,
    failed,
    finish,
    interrupted,
    not_recorded,
    number_steps,
)
from backtraild.restore.calls import OS, Calls
from backtraild.restore.folders import Folders
from backtraild.restore.journal import Journal, Record
from backtraild.restore.moves import Site
from backtraild.restore.plan import Plan
from backtraild.restore.staging import Staging
from backtraild.restore.transaction import Transaction


def apply(
    root: str | bytes,
    plan: Plan,
    blobs: Blobs,
    journal: str,
    context: Mapping[str, Any],
    *,
    record: Recording = not_recorded,
    progress: Callable[[int], None] = lambda _: None,
    trash: str | None = None,
    calls: Calls = OS,
) -> Outcome:
    """Carry out a plan as one transaction; `context` is handed back by `pending` until `conclude` is called.

    `record` is called when the files are in place; only when it has returned, the restore is over. What is left then
    nobody has to wait for, but before anything else is recorded, `conclude` has to be called.
    `progress` is called with how much of the plan's `effort` is done. Into the folder `trash` go the old files, for the
    caller to remove.

    Raises StoreDamaged or HostileTree before anything is written, RestoreFailed when everything was undone,
    RestoreInterrupted when that failed too and the journal was kept for `recover`.
    """
    if plan.is_empty:
        return Outcome((), (), (), plan.unchanged, plan.conflicts)
    with Folders(calls, root) as folders:
        book = Journal(journal, calls)
        outcome = _apply(folders, os.fsencode(root), plan, blobs, book, context, progress, trash)
    record(outcome)
    return outcome


def _apply(
    folders: Folders,
    root: bytes,
    plan: Plan,
    blobs: Blobs,
    journal: Journal,
    context: Mapping[str, Any],
    progress: Callable[[int], None],
    trash: str | None,
) -> Outcome:
    try:
        steps, areas = number_steps(plan, folders)
    except OSError as error:
        raise failed(b"", error) from error
    name = _staging_name(journal)
    staging = Staging(folders, name, areas, trash)
    attempt = Attempt(folders, staging, steps, journal, progress)
    supply = attempt.prepare(blobs)
    record = Record(
        root, folders.root.dev, folders.ino, name, areas, plan.folders, plan.unchanged, context, tuple(steps)
    )
    try:
        # Of a staging folder on another disk nobody has heard yet.
        _begin(journal, record, durably=len(areas) > 1)
        try:
            attempt.stage(supply)
            transaction, site = attempt.move(plan.cleared)
        except RestoreInterrupted:
            raise
        except BaseException:
            _tidy_up(staging, journal)
            raise
        _finish(transaction, staging)
    finally:
        staging.close()
    return _outcome(plan, transaction, site)


def _staging_name(journal: Journal) -> bytes:
    with _writing(journal):
        return journal.announced() or journal.announce()


def _begin(journal: Journal, record: Record, *, durably: bool) -> None:
    with _writing(journal):
        journal.begin(record, durably=durably)


@contextmanager
def _writing(journal: Journal) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # It may or may not be on disk; nothing has happened yet, so it is not needed.
        with suppress(OSError):
            journal.remove()
        raise RestoreFailed(
            f"The journal {journal.path} cannot be written: {error.strerror}. Nothing was changed.",
            "Make room on the disk that holds the store.",
        ) from error


def _tidy_up(staging: Staging, journal: Journal) -> None:
    try:
        close_down(staging, journal.remove)
    except OSError as error:
        raise RestoreInterrupted(
            f"The restore failed and was undone, but could not be tidied up: {error.strerror}.",
            "The journal is kept: the rest is done as soon as it can be, which is tried every few seconds.",
        ) from error


def _finish(transaction: Transaction, staging: Staging) -> None:
    try:
        finish(transaction, staging)
    except OSError as error:
        raise interrupted(error) from error


def _outcome(plan: Plan, transaction: Transaction, site: Site) -> Outcome:
    return Outcome(
        tuple(sorted(transaction.written)),
        tuple(sorted(transaction.deleted)),
        tuple(sorted(transaction.mode_changed)),
        plan.unchanged + transaction.vanished,
        tuple(sorted({*plan.conflicts, *transaction.conflicts, *site.kept})),
        transaction.placed,
    )

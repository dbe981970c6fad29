"""What is done for a request without a worker, in a thread that may wait for the disk."""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from msgspec import Struct

from backtrail import protocol, values
from backtrail.errors import UnknownWorkspace
from backtrail.pathtext import to_text
from backtrail.protocol import RequestId
from backtrail.values import Value
from backtraild.registry import Registered
from backtraild.server import asked, convert
from backtraild.server.ending import ending
from backtraild.service import Service


class Case(Struct, frozen=True):
    """What a call works with: the service, the id of the request, and whether the daemon is ending."""

    service: Service
    job: RequestId
    is_ending: Callable[[], bool]

    def entry(self, workspace: str) -> Registered:
        """The workspace that is meant. Looks at the disk where a path names it."""
        return entry_of(self.service, workspace)


Call: TypeAlias = Callable[[Case, Any], Value]


def is_path(workspace: str) -> bool:
    """Is a workspace named by a path, and not by its id?"""
    return workspace.startswith(("/", '"'))


def entry_of(service: Service, workspace: str) -> Registered:
    """The workspace that is meant. Looks at the disk where a path names it."""
    if is_path(workspace):
        return service.find(asked.folder(workspace))
    return service.entry(workspace)


def _watch(case: Case, params: protocol.Watch) -> Value:
    service, path = case.service, asked.folder(params.path)
    known = {entry.id for entry in service.workspaces()}
    entry = service.watch(
        path,
        asked.settings(params),
        force=params.force,
        wait=params.wait,
        store=None if params.store is None else asked.folder(params.store),
        job=case.job,
    )
    facts = service.worker(entry.id).facts
    last = None if facts is None else facts.last
    return values.Watched(
        workspace=entry.id,
        root=convert.local(entry.root),
        is_new=entry.id not in known,
        overlaps=service.overlaps(entry.root),
        checkpoint=convert.summary_of(last),
    )


def _unwatch(case: Case, params: protocol.Unwatch) -> Value:
    entry = case.entry(params.workspace)
    store = convert.local(case.service.store(entry.id))
    case.service.unwatch(entry.id, purge=params.purge)
    left = None if params.purge else store
    return values.Unwatched(workspace=entry.id, root=convert.local(entry.root), store=left)


def _verify(case: Case, params: protocol.Verify) -> Value:
    entry = case.entry(params.workspace)
    found = case.service.verify(entry.id, heal=params.heal, stop=case.is_ending)
    if not found.complete:
        raise ending()
    return convert.verified(entry.id, found)


def _workspaces(case: Case, _: protocol.Workspaces) -> Value:
    return values.WorkspaceList(workspaces=list(_infos(case.service)))


def _infos(service: Service) -> Iterator[values.WorkspaceInfo]:
    for entry in service.workspaces():
        with contextlib.suppress(UnknownWorkspace):  # watched no more since the list was made
            worker, store = service.worker(entry.id), service.store(entry.id)
            yield values.WorkspaceInfo(
                workspace=entry.id,
                root=convert.local(entry.root),
                state=worker.health.state,
                paused=worker.paused,
                checkpoints=0 if worker.facts is None else worker.facts.checkpoints,
                store=convert.local(store),
            )


def _status(case: Case, params: protocol.OfWorkspace) -> Value:
    return _status_of(case.service, case.entry(params.workspace))


def _pause(case: Case, params: protocol.OfWorkspace) -> Value:
    return _paused(case, params, paused=True)


def _resume_watching(case: Case, params: protocol.OfWorkspace) -> Value:
    return _paused(case, params, paused=False)


def _paused(case: Case, params: protocol.OfWorkspace, *, paused: bool) -> Value:
    entry = case.entry(params.workspace)
    case.service.pause(entry.id, paused=paused)
    return _status_of(case.service, entry)


def _status_of(service: Service, entry: Registered) -> Value:
    return convert.status(service.status(entry.id), service.store(entry.id))


def _events(case: Case, params: protocol.Events) -> Value:
    since = asked.count("since", params.since)
    limit = min(asked.count("limit", params.limit, least=1), protocol.MAX_EVENTS)
    workspace = params.workspace
    if workspace is not None and is_path(workspace):
        workspace = case.entry(workspace).id  # an id may be that of a folder watched no more
    log = case.service.log
    newest = log.newest  # first: all events up to this one are found, if they are not too many
    found = case.service.events(since, limit, workspace)
    return values.EventPage(
        events=[convert.event(each) for each in found],
        newest=max(newest, found[-1].seq if found else 0),
        epoch=log.epoch,
        first=log.first,
    )


def _migrate(case: Case, _: protocol.Migrate) -> values.MigrateResult:
    found = case.service.migrate()
    return values.MigrateResult(
        stores=[
            values.StoreVersion(store=to_text(os.fsencode(store)), before=before, now=now)
            for store, before, now in found
        ]
    )


def _mirror(case: Case, params: protocol.Mirror) -> Value:
    entry = case.entry(params.workspace)
    remote = asked.folder(params.remote) if is_path(params.remote) else params.remote
    done = case.service.mirror(
        entry.id, remote, dry_run=params.dry_run, delete=params.delete, stop=case.is_ending
    )
    return values.Mirrored(
        remote=done.remote,
        new=list(done.new),
        updated=list(done.updated),
        deleted=list(done.deleted),
        up_to_date=done.up_to_date,
        dry_run=params.dry_run,
    )


# May take as long as a baseline does.
SLOW: dict[str, Call] = {
    protocol.WATCH.name: _watch,
    protocol.UNWATCH.name: _unwatch,
    protocol.VERIFY.name: _verify,
    protocol.MIGRATE.name: _migrate,
    protocol.MIRROR.name: _mirror,
}
# Look at one store's files and table.
LOOKING: dict[str, Call] = {
    protocol.STATUS.name: _status,
    protocol.PAUSE.name: _pause,
    protocol.RESUME_WATCHING.name: _resume_watching,
}
QUICK: dict[str, Call] = {
    protocol.WORKSPACES.name: _workspaces,
    protocol.EVENTS.name: _events,
}

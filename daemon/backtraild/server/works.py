"""What a workspace's worker does for a request. Answers are made into values in the worker's thread."""

from collections.abc import Callable
from typing import Any, TypeAlias

from backtrail import protocol
from backtrail.values import Value
from backtraild import requests
from backtraild.keeper import Keeper
from backtraild.registry import Registered
from backtraild.requests import Action
from backtraild.server import asked, convert, session_asked
from backtraild.workspace import Scope

# Parameters and the workspace's entry in, what the worker has to do out.
Work: TypeAlias = Callable[[Any, Registered], Action[Value]]


def then(action: Action[Any], shown: Callable[[Any], Value]) -> Action[Value]:
    """An action whose answer is made into a value of the wire."""

    def work(keeper: Keeper) -> Value:
        return shown(action(keeper))

    return work


def _save(params: protocol.Save, _: Registered) -> Action[Value]:
    intent = asked.intent(params)
    talk = session_asked.talk(params)
    action = requests.save(intent, talk=talk, allow_empty=params.allow_empty, full=params.full)
    return then(action, convert.checkpoint)


def _list(params: protocol.List, entry: Registered) -> Action[Value]:
    action = requests.list(asked.query(params, entry.root))
    return then(action, convert.page if params.files else convert.summaries)


def _get(params: protocol.OfCheckpoint, _: Registered) -> Action[Value]:
    return then(requests.get(params.checkpoint), convert.checkpoint)


def _read(params: protocol.Read, entry: Registered) -> Action[Value]:
    name = asked.named(params.checkpoint, params.path, entry.root)
    offset = asked.count("offset", params.offset)
    length = min(asked.count("length", params.length), protocol.MAX_READ_BYTES)
    action = requests.piece(name.checkpoint, name.path or b"", offset, length)
    return then(action, convert.content)


def _diff(params: protocol.Diff, entry: Registered) -> Action[Value]:
    paths = asked.paths(params.paths, entry.root)
    return then(requests.diff(params.from_, params.to, paths, text=params.content), convert.diff)


def _restore(params: protocol.Restore, entry: Registered) -> Action[Value]:
    name = asked.named(params.checkpoint, None, entry.root)
    paths = asked.paths(params.paths, entry.root)
    if name.path:
        paths = (*paths, name.path)
    scope = session_asked.choice(Scope, "scope", params.scope)
    action = requests.restore(
        name.checkpoint, paths, dry_run=params.dry_run, request=params.request, scope=scope
    )
    return then(action, convert.restored)


def _undo(params: protocol.Undo, _: Registered) -> Action[Value]:
    return then(requests.undo(request=params.request), convert.restored)


def _delete(params: protocol.Delete, _: Registered) -> Action[Value]:
    return then(requests.delete(params.checkpoints), convert.deleted)


def _pin(params: protocol.OfCheckpoint, _: Registered) -> Action[Value]:
    return then(requests.pin(params.checkpoint), convert.checkpoint)


def _unpin(params: protocol.OfCheckpoint, _: Registered) -> Action[Value]:
    return then(requests.unpin(params.checkpoint), convert.checkpoint)


def _prune(params: protocol.Prune, _: Registered) -> Action[Value]:
    return then(requests.prune(dry_run=params.dry_run), convert.pruned)


BY_NAME: dict[str, Work] = {
    protocol.SAVE.name: _save,
    protocol.LIST.name: _list,
    protocol.GET.name: _get,
    protocol.READ.name: _read,
    protocol.DIFF.name: _diff,
    protocol.RESTORE.name: _restore,
    protocol.UNDO.name: _undo,
    protocol.DELETE.name: _delete,
    protocol.PIN.name: _pin,
    protocol.UNPIN.name: _unpin,
    protocol.PRUNE.name: _prune,
}

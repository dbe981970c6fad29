"""What a workspace's worker does for a request about sessions and the past, as `works` does for checkpoints."""

from functools import partial

from backtrail import session_protocol as wire
from backtrail import session_values as values
from backtrail.values import Value
from backtraild import session_requests
from backtraild.keeper import Keeper
from backtraild.registry import Registered
from backtraild.requests import Action
from backtraild.server import asked, session_asked, session_convert
from backtraild.server.works import Work, then
from backtraild.sessions import SessionStatus, SnapshotType, Turn


def _start(params: wire.SessionStart, _: Registered) -> Action[Value]:
    action = session_requests.start_session(
        params.session,
        agent=params.agent,
        title=params.title,
        phase=params.phase,
        parent=params.parent,
        metadata=params.metadata,
        follows=params.follows,
    )
    return then(action, session_convert.summary)


def _update(params: wire.SessionUpdate, _: Registered) -> Action[Value]:
    action = session_requests.update_session(
        params.session,
        title=params.title,
        phase=params.phase,
        status=_status(params.status),
        metadata=params.metadata,
    )
    return then(action, session_convert.summary)


def _end(params: wire.SessionEnd, _: Registered) -> Action[Value]:
    return then(session_requests.end_session(params.session, params.reason), session_convert.summary)


def _list(params: wire.SessionList, _: Registered) -> Action[Value]:
    action = session_requests.sessions(
        _status(params.status),
        params.agent,
        params.parent,
        session_asked.limit(params.limit),
        params.cursor,
    )
    return then(action, session_convert.page)


def _show(params: wire.SessionShow, _: Registered) -> Action[Value]:
    return then(session_requests.session(params.session, rewound=params.rewound), session_convert.session)


def _delete(params: wire.OfSession, _: Registered) -> Action[Value]:
    return then(session_requests.delete_session(params.session), session_convert.deleted)


def _start_turn(params: wire.TurnStart, _: Registered) -> Action[Value]:
    number = None if params.turn is None else asked.count("turn", params.turn)
    action = session_requests.begin_turn(
        params.session, number, role=params.role, prompt=params.prompt, metadata=params.metadata
    )
    return _counted(params.session, action)


def _tool_used(params: wire.ToolUsed, _: Registered) -> Action[Value]:
    action = session_requests.tool_used(params.session, session_asked.call(params.tool), params.turn)
    return _counted(params.session, action)


def _conversation(params: wire.ReadConversation, _: Registered) -> Action[Value]:
    limit = session_asked.limit(params.limit, wire.MAX_MESSAGES)
    action = session_requests.conversation(
        params.session, params.turn, params.start, limit, snapshot=params.snapshot
    )
    return then(action, partial(session_convert.excerpt, params.session))


def _attach(params: wire.Attach, _: Registered) -> Action[Value]:
    action = session_requests.attach(
        params.session,
        session_asked.source(params.conversation),
        turn=params.turn,
        checkpoint=params.checkpoint,
        type=session_asked.choice(SnapshotType, "type", params.type),
        metadata=params.metadata,
    )
    return then(
        action,
        lambda found: values.Attached(session=params.session, snapshot=session_convert.snapshot(found)),
    )


def _rewind(params: wire.Rewind, _: Registered) -> Action[Value]:
    action = session_requests.rewind(
        session_asked.rewind(params),
        confirm=params.confirm,
        plan=params.plan,
        contents=params.contents,
        request=params.request,
    )
    return then(action, session_convert.rewound)


def _resume(params: wire.Resume, _: Registered) -> Action[Value]:
    return then(session_requests.resume(params.session, params.checkpoint), session_convert.resumed)


def _log(params: wire.Log, entry: Registered) -> Action[Value]:
    path = asked.path(params.path, entry.root)
    action = session_requests.log(path, session_asked.limit(params.limit), params.cursor)
    return then(action, partial(session_convert.log, path))


def _blame(params: wire.AskBlame, entry: Registered) -> Action[Value]:
    path = asked.path(params.path, entry.root)
    return then(session_requests.blame(path, params.checkpoint), partial(session_convert.blame, path))


def _search(params: wire.Search, _: Registered) -> Action[Value]:
    limit = session_asked.limit(params.limit)
    action = session_requests.search(params.words, params.session, limit, params.cursor)
    return then(action, session_convert.hits)


def _counted(session: str, action: Action[Turn]) -> Action[Value]:
    """A turn by itself, with the length of the conversation after it."""

    def work(keeper: Keeper) -> Value:
        turn, counts = action(keeper), {}
        if turn.snapshot is not None:
            found = keeper.workspace.sessions.snapshot(session, turn.snapshot)
            counts[found.number] = found.message_count
        return session_convert.turn(turn, counts)

    return work


def _status(given: str | None) -> SessionStatus | None:
    return None if given is None else session_asked.choice(SessionStatus, "status", given)


BY_NAME: dict[str, Work] = {
    wire.SESSION_START.name: _start,
    wire.SESSION_UPDATE.name: _update,
    wire.SESSION_END.name: _end,
    wire.SESSION_LIST.name: _list,
    wire.SESSION_SHOW.name: _show,
    wire.SESSION_DELETE.name: _delete,
    wire.TURN_START.name: _start_turn,
    wire.TOOL_USED.name: _tool_used,
    wire.CONVERSATION.name: _conversation,
    wire.ATTACH.name: _attach,
    wire.REWIND.name: _rewind,
    wire.RESUME.name: _resume,
    wire.LOG.name: _log,
    wire.BLAME.name: _blame,
    wire.SEARCH.name: _search,
}

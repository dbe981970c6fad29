"""What is done for a request about the past without a worker of its own, as `calls` does it."""

from backtrail import session_protocol as wire
from backtrail import session_values as values
from backtrail.values import Value
from backtraild.server import asked, convert, session_asked, session_convert
from backtraild.server.calls import Call, Case


def _fork(case: Case, params: wire.Fork) -> Value:
    entry = case.entry(params.workspace)
    found = case.service.fork(
        entry.id,
        asked.folder(params.folder),
        params.session,
        params.turn,
        params.checkpoint,
        params.new_session,
        job=case.job,
    )
    return values.Forked(
        workspace=found.workspace,
        root=convert.local(found.root),
        checkpoint=found.checkpoint,
        session=found.session,
        forked_from=found.forked_from,
        forked_at=found.forked_at,
        files=found.files,
    )


def _branch(case: Case, params: wire.Branch) -> Value:
    entry = case.entry(params.workspace)
    checkpoint, found = case.service.branch(entry.id, params.checkpoint, params.name, force=params.force)
    return values.Branched(
        repository=convert.local(found.repository),
        branch=found.branch,
        commit=found.commit,
        parent=found.parent,
        checkpoint=checkpoint.number,
    )


def _timeline(case: Case, params: wire.AskTimeline) -> Value:
    entry = case.entry(params.workspace)
    query = session_asked.timeline(params, entry.root)
    return session_convert.timeline(case.service.timeline(entry.id, query))


# May take as long as a baseline does.
SLOW: dict[str, Call] = {
    wire.FORK.name: _fork,
    wire.BRANCH.name: _branch,
    wire.TIMELINE.name: _timeline,  # it waits for the worker where files are asked for
}

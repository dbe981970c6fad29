"""How a request about a session becomes one for each workspace that it follows, and their answers one. Pure."""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from backtrail import protocol
from backtrail import session_protocol as wire
from backtrail.session_values import RewindResult, Turn
from backtrail.values import Checkpoint, Followed, Value

Leading: TypeAlias = wire.SessionStart | wire.SessionEnd | wire.TurnStart | wire.Rewind | protocol.Save

# The plan of all is the plans of each; in the name of a single one this does not occur.
_BETWEEN_PLANS = "."


class Part(Struct, frozen=True):
    """What came of a request in a followed workspace: an answer, or an error."""

    workspace: str
    root: str | None
    answer: Value | None = None
    error: str | None = None


def of_leading(params: Leading) -> Leading:
    """What the leading workspace is asked for."""
    if isinstance(params, wire.Rewind) and params.plan is not None:
        return replace(params, plan=_plan(params.plan, 0))
    return params


def of_followed(params: Leading, answer: Value, place: int) -> Leading | None:
    """What the followed workspace at a place, counted from 1, is asked for after the leading one's answer."""
    match params, answer:
        case wire.SessionStart(), _:
            return replace(params, follows=None)
        case wire.TurnStart(), Turn():
            return replace(params, turn=answer.turn)
        case protocol.Save(), Checkpoint():
            # What was said is kept in the leading workspace.
            return None if answer.turn is None else replace(params, turn=answer.turn, conversation=None)
        case wire.Rewind(), _:
            plan = None if params.plan is None else _plan(params.plan, place)
            return None if params.scope == "conversation" else replace(params, plan=plan, contents=False)
    return params


def joined(leading: Value, parts: Sequence[Part]) -> Value:
    """The leading workspace's answer, with what came of the others."""
    also = [_followed(part) for part in parts]
    if not isinstance(leading, RewindResult):
        return replace(leading, also=also)
    rewinds = [part.answer if isinstance(part.answer, RewindResult) else None for part in parts]
    needed = leading.requires_confirmation or any(one and one.requires_confirmation for one in rewinds)
    plans = (leading.plan, *(one.plan if one else "" for one in rewinds))
    return replace(leading, also=also, requires_confirmation=needed, plan=_BETWEEN_PLANS.join(plans))


def _followed(part: Part) -> Followed:
    told = Followed(workspace=part.workspace, root=part.root, error=part.error)
    match part.answer:
        case Turn() as turn:
            return replace(told, checkpoint=turn.before)
        case Checkpoint() as checkpoint:
            return replace(told, checkpoint=checkpoint.number)
        case RewindResult() as rewind:
            return replace(
                told,
                checkpoint=None if rewind.checkpoint is None else rewind.checkpoint.number,
                written=rewind.written,
                deleted=rewind.deleted,
                conflicts=[*rewind.conflicts, *rewind.session_conflicts],
            )
    return told


def _plan(plans: str, place: int) -> str:
    """The plan of one workspace. One that was not planned has an empty one, which is never the right one."""
    found = plans.split(_BETWEEN_PLANS)
    return found[place] if place < len(found) else ""

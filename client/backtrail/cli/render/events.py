"""An event as one line: when, in which workspace, and what happened."""

from collections.abc import Mapping
from datetime import datetime

from backtrail.cli.characters import cut_start, pad, visible
from backtrail.cli.render import cells, session_events
from backtrail.cli.render.session_events import Happened, Tell, number, text
from backtrail.cli.terminal import Screen
from backtrail.cli.words import count
from backtrail.values import CheckpointEvent

_NAME = 16


def event(happened: CheckpointEvent, screen: Screen) -> str:
    """One line, however little is known of this type of event."""
    name = visible(happened.root.rstrip("/").rpartition("/")[2] or "backtrail")
    place = pad(cut_start(name, _NAME, screen.sign("…")), _NAME)
    time = screen.paint(when(happened.timestamp, screen), "dim")
    return f"{time}  {place}  {told(happened.type, happened, screen)}\n"


def told(type_: str, happened: Happened, screen: Screen) -> str:
    """What happened."""
    tell = _TELLS.get(type_)
    return _other(type_, happened) if tell is None else tell(happened, screen)


def when(time: datetime, screen: Screen) -> str:
    """To the second, and the day only if it is another one."""
    local = time.astimezone(screen.zone)
    today = local.date() == screen.now.astimezone(screen.zone).date()
    return f"{local:%H:%M:%S}" if today else f"{local:%Y-%m-%d %H:%M:%S}"


def _checkpoint(happened: Happened, screen: Screen) -> str:
    data = happened.data
    lines = cells.lines(number(data, "insertions"), number(data, "deletions"), screen)
    parts = [
        screen.paint(f"{happened.checkpoint}", "bold"),
        cells.kind(text(data, "kind"), screen),
        visible(str(data.get("message", "")).strip().partition("\n")[0]),
        lines,
    ]
    return "  ".join(filter(None, parts))


def _initialized(happened: Happened, screen: Screen) -> str:
    return f"{screen.paint('ready', 'green')}: {count(number(happened.data, 'files'), 'file')} captured"


def _deleted(happened: Happened, _: Screen) -> str:
    return f"checkpoint {happened.checkpoint} deleted"


def _pruned(happened: Happened, _: Screen) -> str:
    return f"{count(number(happened.data, 'count'), 'checkpoint')} let go by retention"


def _added(_happened: Happened, _: Screen) -> str:
    return "watched from now on"


def _removed(happened: Happened, _: Screen) -> str:
    return "watched no more" + (", its checkpoints are deleted" if happened.data.get("purged") else "")


def _degraded(happened: Happened, screen: Screen) -> str:
    return f"{screen.paint('degraded', 'yellow')}: {text(happened.data, 'reason')}"


def _recovered(happened: Happened, screen: Screen) -> str:
    return f"{screen.paint('recovered', 'green')}; it was: {text(happened.data, 'reason')}"


def _healed(happened: Happened, screen: Screen) -> str:
    stored = f"{count(number(happened.data, 'objects'), 'object')} stored again"
    return f"{screen.paint('healed', 'green')}, {stored}; it was: {text(happened.data, 'reason')}"


def _failed(happened: Happened, screen: Screen) -> str:
    told = f"{screen.paint('error', 'red')}: {text(happened.data, 'reason')}"
    return " ".join(filter(None, (told, text(happened.data, "hint"))))


def _missing(happened: Happened, screen: Screen) -> str:
    first, last = number(happened.data, "first"), number(happened.data, "last")
    which = f"event {first:,} is" if first == last else f"events {first:,} to {last:,} are"
    return f"{screen.paint('missing', 'yellow')}: {which} not in the log any more"


def _mass_change(happened: Happened, screen: Screen) -> str:
    data = happened.data
    deleted, rewritten = (f"{number(data, name):,} {name}" for name in ("deleted", "rewritten"))
    of = count(number(data, "files"), "file")
    kept = f"checkpoint {happened.checkpoint}, made before it, is kept"
    return f"{screen.paint('many files at once', 'yellow')}: {deleted} and {rewritten} of {of}; {kept}"


def _progress(happened: Happened, screen: Screen) -> str:
    data = happened.data
    total = data.get("total")
    of = f" of {total:,}" if isinstance(total, int) else ""
    return screen.paint(f"{text(data, 'phase')} {number(data, 'done'):,}{of} {text(data, 'unit')}", "dim")


def _other(type_: str, happened: Happened) -> str:
    checkpoint = "" if happened.checkpoint is None else f" {happened.checkpoint}"
    return f"{visible(type_).replace('_', ' ')}{checkpoint}"


_TELLS: Mapping[str, Tell] = {
    "checkpoint_created": _checkpoint,
    "checkpoint_restored": _checkpoint,
    "checkpoint_deleted": _deleted,
    "checkpoints_pruned": _pruned,
    "initialized": _initialized,
    "workspace_added": _added,
    "workspace_removed": _removed,
    "degraded": _degraded,
    "recovered": _recovered,
    "healed": _healed,
    "error": _failed,
    "events_missing": _missing,
    "mass_change": _mass_change,
    "progress": _progress,
    **session_events.TELLS,
}

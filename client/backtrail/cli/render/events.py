"""An event as one line: when, in which workspace, and what happened."""

from collections.abc import Callable, Mapping
from typing import Any

from backtrail.cli.characters import cut_start, pad, visible
from backtrail.cli.render import cells
from backtrail.cli.terminal import Screen
from backtrail.cli.words import count
from backtrail.values import CheckpointEvent

_NAME = 16
Tell = Callable[[CheckpointEvent, Screen], str]


def event(happened: CheckpointEvent, screen: Screen) -> str:
    """One line, however little is known of this type of event."""
    time = happened.timestamp.astimezone(screen.zone)
    today = time.date() == screen.now.astimezone(screen.zone).date()
    when = f"{time:%H:%M:%S}" if today else f"{time:%Y-%m-%d %H:%M:%S}"
    name = visible(happened.root.rstrip("/").rpartition("/")[2] or "backtrail")
    place = pad(cut_start(name, _NAME, screen.sign("…")), _NAME)
    told = _TELLS.get(happened.type, _other)(happened, screen)
    return f"{screen.paint(when, 'dim')}  {place}  {told}\n"


def _checkpoint(happened: CheckpointEvent, screen: Screen) -> str:
    data = happened.data
    lines = cells.lines(_number(data, "insertions"), _number(data, "deletions"), screen)
    parts = [
        screen.paint(f"{happened.checkpoint}", "bold"),
        cells.kind(_text(data, "kind"), screen),
        visible(str(data.get("message", "")).strip().partition("\n")[0]),
        lines,
    ]
    return "  ".join(filter(None, parts))


def _initialized(happened: CheckpointEvent, screen: Screen) -> str:
    return f"{screen.paint('ready', 'green')}: {count(_number(happened.data, 'files'), 'file')} captured"


def _deleted(happened: CheckpointEvent, _: Screen) -> str:
    return f"checkpoint {happened.checkpoint} deleted"


def _pruned(happened: CheckpointEvent, _: Screen) -> str:
    return f"{count(_number(happened.data, 'count'), 'checkpoint')} let go by retention"


def _added(_happened: CheckpointEvent, _: Screen) -> str:
    return "watched from now on"


def _removed(happened: CheckpointEvent, _: Screen) -> str:
    return "watched no more" + (", its checkpoints are deleted" if happened.data.get("purged") else "")


def _degraded(happened: CheckpointEvent, screen: Screen) -> str:
    return f"{screen.paint('degraded', 'yellow')}: {_text(happened.data, 'reason')}"


def _recovered(happened: CheckpointEvent, screen: Screen) -> str:
    return f"{screen.paint('recovered', 'green')}; it was: {_text(happened.data, 'reason')}"


def _failed(happened: CheckpointEvent, screen: Screen) -> str:
    told = f"{screen.paint('error', 'red')}: {_text(happened.data, 'reason')}"
    return " ".join(filter(None, (told, _text(happened.data, "hint"))))


def _mass_change(happened: CheckpointEvent, screen: Screen) -> str:
    data = happened.data
    deleted, rewritten = (f"{_number(data, name):,} {name}" for name in ("deleted", "rewritten"))
    of = count(_number(data, "files"), "file")
    kept = f"checkpoint {happened.checkpoint}, made before it, is kept"
    return f"{screen.paint('many files at once', 'yellow')}: {deleted} and {rewritten} of {of}; {kept}"


def _progress(happened: CheckpointEvent, screen: Screen) -> str:
    data = happened.data
    total = data.get("total")
    of = f" of {total:,}" if isinstance(total, int) else ""
    return screen.paint(f"{_text(data, 'phase')} {_number(data, 'done'):,}{of} {_text(data, 'unit')}", "dim")


def _other(happened: CheckpointEvent, _: Screen) -> str:
    number = "" if happened.checkpoint is None else f" {happened.checkpoint}"
    return f"{visible(happened.type).replace('_', ' ')}{number}"


def _text(data: Mapping[str, Any], name: str) -> str:
    return visible(str(data.get(name) or ""))


def _number(data: Mapping[str, Any], name: str) -> int:
    value = data.get(name)
    return value if isinstance(value, int) else 0


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
    "error": _failed,
    "mass_change": _mass_change,
    "progress": _progress,
}

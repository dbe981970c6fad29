"""Watched folders as text: all of them, how one is doing, and what watching or no longer watching one means."""

from backtrail.amounts import size
from backtrail.cli.characters import pad, visible, width
from backtrail.cli.render import cells
from backtrail.cli.terminal import Screen
from backtrail.cli.words import count
from backtrail.values import Unwatched, Watched, WorkspaceList, WorkspaceStatus

_STATES = {
    "watching": ("●", "green", "every settled change becomes a checkpoint"),
    "scanning": ("●", "blue", "looking at all files"),
    "paused": ("○", "yellow", "no automatic checkpoints"),
    "degraded": ("●", "red", "something is wrong"),
}
_NEXT_STEPS = {
    "paused": "`backtrail resume-watching` makes automatic checkpoints again.",
    "degraded": "`backtrail doctor` looks for the cause; what can be saved is still saved.",
}


def status(found: WorkspaceStatus, screen: Screen) -> str:
    """How a workspace is doing, and what to do about it."""
    meaning = _STATES.get(found.state, ("", "dim", ""))[2]
    rows = [screen.paint(screen.folder(found.root), "bold")]
    rows.append(f"  {_state(found.state, screen)}" + (f": {meaning}" if meaning else ""))
    for reason in [*found.reasons, _NEXT_STEPS.get(found.state, "")]:
        rows += cells.paragraph(reason, "    ", screen)
    for notice in found.notices:
        rows += cells.paragraph(notice, "    ", screen)
    rows.append("")
    rows += cells.facts(_facts(found, screen), "  ", screen)
    rows += cells.skipped(found.skipped, found.skipped_count, " " * 15, screen)
    return cells.together(rows)


def workspaces(found: WorkspaceList, screen: Screen) -> str:
    """All watched folders."""
    if not found.workspaces:
        return "No folder is watched; `backtrail watch FOLDER` begins with one.\n"
    roots = [screen.folder(one.root) for one in found.workspaces]
    others = 35 + max(len(one.workspace) for one in found.workspaces)
    longest = max(width(screen.cut_path(root, max(20, screen.width - others))) for root in roots)
    rows = []
    for one, root in zip(found.workspaces, roots, strict=True):
        name = pad(screen.cut_path(root, longest), longest)
        told = f"{count(one.checkpoints, 'checkpoint'):<17}"
        state = _state(one.state, screen) + " " * (10 - len(one.state))
        rows.append(f"{screen.paint(name, 'bold')}  {state}  {told}  {screen.paint(one.workspace, 'dim')}")
    return cells.together(rows)


def watched(watch: Watched, found: WorkspaceStatus | None, screen: Screen) -> str:
    """What watching a folder has begun with, and what to type next."""
    root = screen.paint(screen.folder(watch.root), "bold")
    rows = [_beginning(watch, root, found, screen)]
    if found is not None and found.skipped_count:
        rows.append(screen.paint(f"Not captured: {count(found.skipped_count, 'file')}", "yellow"))
        rows += cells.skipped(found.skipped[:5], found.skipped_count, "  ", screen)
    rows += [f"It overlaps with {screen.folder(other)}, which is watched too." for other in watch.overlaps]
    rows.append("`backtrail list` shows its checkpoints, `backtrail restore NUMBER` goes back to one.")
    return cells.together(rows)


def unwatched(gone: Unwatched, screen: Screen) -> str:
    """What no longer watching a folder leaves behind."""
    root = screen.folder(gone.root)
    if gone.store is None:
        return f"{root} is watched no more, and its checkpoints are deleted.\n"
    return f"{root} is watched no more. Its checkpoints stay in {screen.folder(gone.store)}.\n"


def _state(state: str, screen: Screen) -> str:
    mark, colour, _ = _STATES.get(state, ("○", "dim", ""))
    return screen.paint(screen.sign(f"{mark} {visible(state)}"), colour)


def _beginning(watch: Watched, root: str, found: WorkspaceStatus | None, screen: Screen) -> str:
    newest = watch.checkpoint
    if not watch.is_new:
        which = (
            ""
            if newest is None
            else f"; its newest checkpoint is {newest.number}, {screen.ago(newest.timestamp)}"
        )
        return f"{root} is watched already{which}."
    if newest is None:
        return f"Watching {root} from now on; its first checkpoint is being made."
    held = "" if found is None else f": {count(found.files, 'file')}, {size(found.bytes)}"
    return f"Watching {root} from now on. Checkpoint {newest.number} holds it as it is{held}."


def _store_size(found: WorkspaceStatus) -> str:
    limit = f" of {size(found.max_store_bytes)}" if found.max_store_bytes else ""
    return f"{size(found.store_bytes)}{limit}"


def _facts(found: WorkspaceStatus, screen: Screen) -> list[tuple[str, str]]:
    last = found.last_checkpoint
    facts = [("files", f"{found.files:,} ({size(found.bytes)})")]
    facts.append(("pending", count(found.pending, "change") if found.pending else "nothing"))
    facts.append(("checkpoints", f"{found.checkpoints:,}"))
    if last is not None:
        message = screen.cut(visible(last.message.strip().partition("\n")[0]), screen.width - 42)
        facts.append(("newest", f"{last.number}, {screen.ago(last.timestamp)}: {message}"))
    facts.append(("store", f"{_store_size(found)} in {screen.folder(found.store)}"))
    if found.free_bytes < 2 * found.min_free_bytes:
        floor = size(found.min_free_bytes)
        facts.append(("disk", f"{size(found.free_bytes)} free; with less than {floor}, nothing is saved"))
    facts.append(("watcher", visible(found.watcher)))
    facts += [("overlaps", screen.folder(other)) for other in found.overlaps]
    if found.skipped_count:
        facts.append(("skipped", count(found.skipped_count, "file")))
    return facts

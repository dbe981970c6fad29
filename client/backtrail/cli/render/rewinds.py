"""Going back and going on as text: a rewind before and after it, what a session is resumed with, a fork, a branch."""

from backtrail.cli.characters import visible
from backtrail.cli.render import cells, sessions
from backtrail.cli.render.restores import conflicts, section
from backtrail.cli.terminal import Screen
from backtrail.cli.words import count, numbers
from backtrail.session_values import Branched, Forked, Resumption, RewindResult

_PLANNED_SHOWN = 20
_DONE_SHOWN = 10
_CHANGES_SHOWN = 10
_MESSAGES_SHOWN = 4
_ID = 10


def rewind_plan(plan: RewindResult, target: str, screen: Screen) -> str:
    """What a rewind would change, before somebody decides; `target` is where it leads."""
    if not plan.requires_confirmation:
        rows = [f"Everything is already in {visible(target)}."]
    else:
        rows = [f"Going back to {screen.paint(visible(target), 'bold')} would"]
        rows += section("write", "green", plan.written, _PLANNED_SHOWN, screen)
        rows += section("delete", "red", plan.deleted, _PLANNED_SHOWN, screen)
        rows += _hidden("hide", plan, screen)
        rows += _elsewhere(("write", "delete", "not touch"), plan, _PLANNED_SHOWN, screen)
    return cells.together(rows + _left_alone("not touch", plan, _PLANNED_SHOWN, screen))


def rewind_done(result: RewindResult, target: str, screen: Screen) -> str:
    """What a rewind changed, how to take it back, and the prompt to try again with."""
    rows = [f"{screen.paint('Went back', 'green')} to {visible(target)}:"]
    rows += section("written", "green", result.written, _DONE_SHOWN, screen)
    rows += section("deleted", "red", result.deleted, _DONE_SHOWN, screen)
    rows += _hidden("hidden", result, screen)
    rows += _elsewhere(("written", "deleted", "left alone"), result, _DONE_SHOWN, screen)
    if len(rows) == 1:
        rows = [f"Everything was already in {visible(target)}."]
    else:
        rows.append(f"The conversation has {count(result.message_count, 'message')}.")
    rows += _left_alone("left alone", result, _DONE_SHOWN, screen)
    if result.safety_checkpoint is not None:
        number = result.safety_checkpoint.number
        rows.append(f"The state before it is checkpoint {number}; `backtrail undo` goes back to it.")
    if result.prompt:
        rows += ["The prompt to change and send again:", *sessions.said_rows(result.prompt, "  ", screen)]
    return cells.together(rows)


def resumption(found: Resumption, screen: Screen) -> str:
    """All that somebody needs to know before going on."""
    rows = [sessions.session_told(found.session, screen).rstrip("\n"), ""]
    if found.last_turn is not None:
        if found.interrupted:
            rows.append(screen.paint("Its last turn was interrupted:", "yellow"))
        rows += sessions.turn_rows(found.last_turn, screen)
    rows += _differences(found, screen)
    said = found.conversation[-_MESSAGES_SHOWN:]
    if said:
        rows += ["", f"The conversation has {count(found.message_count, 'message')}; it ends:", ""]
        rows.append(sessions.messages(said, found.message_count - len(said), screen).rstrip("\n"))
    return cells.together(rows)


def forked(made: Forked, what: str, screen: Screen) -> str:
    """A new folder, and how to go on in it; `what` is the checkpoint or the session that was taken."""
    root = screen.folder(made.root)
    rows = [
        f"{screen.paint(root, 'bold')} holds {count(made.files, 'file')} of {visible(what)}, and is watched."
    ]
    if made.session is not None:
        rows.append(
            f"The session {screen.paint(visible(made.session), 'bold')} goes on there with its conversation."
        )
    rows.append(f"`backtrail list -w {root}` shows its checkpoints.")
    return cells.together(rows)


def branched(made: Branched, screen: Screen) -> str:
    """A branch in the user's own repository."""
    name = screen.paint(visible(made.branch), "bold")
    onto = f", after {visible(made.parent[:_ID])}" if made.parent else ""
    where = screen.folder(made.repository)
    return cells.together(
        [
            f"The branch {name} of {where} holds checkpoint {made.checkpoint}: commit {made.commit[:_ID]}{onto}.",
            f"Index, HEAD and files are as they were; `git switch {visible(made.branch)}` goes there.",
        ]
    )


def _hidden(verb: str, result: RewindResult, screen: Screen) -> list[str]:
    """The turns and messages that are out of sight after it."""
    told = []
    if result.turns_rewound:
        plural = "" if len(result.turns_rewound) == 1 else "s"
        told.append(f"turn{plural} {screen.sign(numbers(result.turns_rewound))}")
    if result.messages_removed:
        told.append(count(result.messages_removed, "message"))
    return [f"  {screen.paint(verb, 'red')} {' and '.join(told)}"] if told else []


def _elsewhere(verbs: tuple[str, str, str], result: RewindResult, shown: int, screen: Screen) -> list[str]:
    """The same for each folder that the session follows, if anything changes there."""
    rows = []
    for one in result.also:
        found = section(verbs[0], "green", one.written, shown, screen)
        found += section(verbs[1], "red", one.deleted, shown, screen)
        found += conflicts(one.conflicts, verbs[2], shown, screen)
        rows += [f"in {screen.folder(one.root or one.workspace)}", *found] if found else []
    return rows


def _left_alone(title: str, result: RewindResult, shown: int, screen: Screen) -> list[str]:
    return conflicts([*result.conflicts, *result.session_conflicts], title, shown, screen)


def _differences(found: Resumption, screen: Screen) -> list[str]:
    changed = (
        ("added", found.added_files, "A", "green"),
        ("modified", found.modified_files, "M", "yellow"),
        ("deleted", found.deleted_files, "D", "red"),
    )
    paths = [(letter, colour, path) for _, items, letter, colour in changed for path in items]
    if found.checkpoint is None:
        return []
    number = found.checkpoint.number
    if not paths:
        return ["", f"The files are as in checkpoint {number}."]
    few = [
        f"{screen.paint(letter, colour)}  {screen.cut_path(visible(path), screen.width - 5)}"
        for letter, colour, path in paths[:_CHANGES_SHOWN]
    ]
    rows = ["", f"Since its checkpoint {number}, {count(len(paths), 'file')} changed:"]
    rows += cells.listing(few, len(paths), "  ", screen)
    return [*rows, f"`backtrail restore {number}` makes them what they were."]

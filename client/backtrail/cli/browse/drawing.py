"""The state as rows of a window. Pure: only what is in sight is made, whatever the length of the conversation."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice

import msgspec

from backtrail.cli.browse.layout import Piece, Row, fitted, paragraphs, row
from backtrail.cli.browse.model import State, View
from backtrail.cli.characters import cut, pad, pad_start, visible
from backtrail.cli.render import sessions
from backtrail.cli.terminal import Screen
from backtrail.cli.words import count
from backtrail.session_values import RewindResult, Turn

_TIME = 16
_FILES = 11
# Below this, times and files are told of the selected turn alone.
_WIDE = 72
_KEYS = {
    View.TURNS: "Enter edit  Space messages  q leave",
    View.MESSAGES: "Left back  PgUp/PgDn scroll",
    View.PLAN: "y go back  n leave it as it is",
    View.DONE: "Enter print the prompt  u undo",
}


def draw(state: State, screen: Screen) -> list[Row]:
    """All rows of the window: a head, what the view shows, and the keys or what there is to say."""
    body = list(islice(_BODIES[state.view](state, screen), state.room))
    body += [row("")] * (state.room - len(body))
    foot = row(visible(state.status), "yellow") if state.status else row(_KEYS[state.view], "dim")
    mark = screen.sign("…")
    return [fitted(one, state.columns, mark) for one in (_head(state), *body, foot)][: state.lines]


def result(done: RewindResult) -> str:
    """What going back did, in a sentence."""
    files = f"{count(len(done.written), 'file')} written, {count(len(done.deleted), 'file')} deleted"
    return (
        f"Went back to before turn {done.turn}: {files}, {count(done.messages_removed, 'message')} set aside."
    )


def _head(state: State) -> Row:
    title = f": {visible(state.session.title)}" if state.session.title else ""
    turns = f"  {count(len(state.session.turns), 'turn')}"
    return Piece(visible(state.session.session), "bold"), Piece(title), Piece(turns, "dim")


def _turns(state: State, screen: Screen) -> Iterable[Row]:
    if not state.session.turns:
        yield row("Nothing was asked yet.", "dim")
        return
    digits = len(str(max(turn.turn for turn in state.session.turns)))
    end = state.top + state.list_room
    shown = state.session.turns[state.top : end]
    for place, turn in enumerate(shown, state.top):
        yield _listed(turn, place == state.selected, digits, state, screen)
    yield from [row("")] * (state.list_room - len(shown))
    if state.turn is not None:
        yield from _detail(state.turn, state, screen)


def _listed(turn: Turn, is_selected: bool, digits: int, state: State, screen: Screen) -> Row:
    """One turn of the list. A mark too, not only the style: some terminals have none."""
    parts = [">" if is_selected else " ", pad_start(str(turn.turn), digits)]
    if state.columns >= _WIDE:
        parts += [pad(screen.ago(turn.started), _TIME), pad(_files(turn, state.changed), _FILES)]
    # A cut prompt is enough for a line, and the whole of it may be megabytes.
    prompt = turn.prompt[: 4 * state.columns].strip().split("\n")[0]
    text = "  ".join([" ".join(parts[:2]), *parts[2:], visible(prompt)])
    if is_selected:
        return row(pad(cut(text, state.columns, screen.sign("…")), state.columns), "reverse")
    return row(text, "dim" if turn.rewound else "")


def _files(turn: Turn, changed: Mapping[int, int]) -> str:
    if turn.after is None or turn.after not in changed:
        return ""
    return count(0 if turn.after == turn.before else changed[turn.after], "file")


def _detail(turn: Turn, state: State, screen: Screen) -> Iterable[Row]:
    """When, between which checkpoints, what was asked and which tools were used, in the lines that there are."""
    left = state.detail_room - 2
    if left < 0:
        return
    yield row(screen.sign("–") * state.columns, "dim")
    bare = msgspec.structs.replace(turn, prompt="", tools=[])
    yield row("  ".join(filter(None, [_first_row(bare, screen), _files(turn, state.changed)])), "bold")
    tools = [f"{visible(tool.name)} {visible(tool.input)}".rstrip() for tool in turn.tools]
    shown = min(len(tools), left // 2)
    prompt = paragraphs(turn.prompt[: left * state.columns], max(state.columns - 2, 1))
    yield from (row(f"  {line}") for line in prompt[: left - shown])
    yield from (row(f"  {line}", "cyan") for line in tools[: shown - 1])
    if shown:
        more = len(tools) - shown
        yield row(f"  {tools[shown - 1]}" + (f"  and {count(more, 'more tool')}" if more else ""), "cyan")


def _first_row(turn: Turn, screen: Screen) -> str:
    return sessions.turn_rows(turn, screen, "")[0]


def _messages(state: State, _: Screen) -> Iterable[Row]:
    if not state.rows:
        yield row("Nothing was recorded of what was said.", "dim")
    yield from state.rows[state.offset : state.offset + state.room]


def _plan(state: State, screen: Screen) -> Iterable[Row]:
    """What would be done, before somebody decides, and as many of the files as there is room for."""
    plan = state.rewind
    if plan is None:
        return
    yield row(f"Go back to before turn {plan.turn}?", "bold")
    yield row(f"  {count(len(plan.written), 'file')} will be restored", "green")
    yield row(f"  {count(len(plan.deleted), 'file')} will be deleted", "red")
    yield row(f"  {count(plan.messages_removed, 'message')} will be set aside", "yellow")
    alone = [*plan.conflicts, *plan.session_conflicts]
    if alone:
        yield row(f"  {count(len(alone), 'file')} will be left alone", "yellow")
    yield from (row(f"  {line}", "yellow") for line in _elsewhere(plan))
    yield row("")
    room = max(state.room - 10 - len(plan.also), 3)
    yield from _paths(plan, room, state, screen)
    yield row("")
    yield from (row(line, "dim") for line in paragraphs(state.prompt[:1000], state.columns))


def _elsewhere(result: RewindResult) -> Iterable[str]:
    """Folders that the session follows go back as well; each is undone by itself."""
    for one in result.also:
        files = f"{count(len(one.written), 'file')} written, {count(len(one.deleted), 'file')} deleted"
        yield f"also in {visible(one.root or one.workspace)}: {visible(one.error or files)}"


def _paths(plan: RewindResult, room: int, state: State, screen: Screen) -> Iterable[Row]:
    named = [("write ", "green", path) for path in plan.written[:room]]
    named += [("delete", "red", path) for path in plan.deleted[: room - len(named)]]
    for verb, style, path in named:
        yield Piece(f"  {verb} ", style), Piece(screen.cut_path(visible(path), state.columns - 9))
    more = len(plan.written) + len(plan.deleted) - len(named)
    if more:
        yield row(f"  and {count(more, 'more file')}", "dim")


def _done(state: State, _: Screen) -> Iterable[Row]:
    done = state.rewind
    if done is None:
        return
    yield from (row(line, "green") for line in paragraphs(result(done), state.columns))
    for conflict in (*done.conflicts, *done.session_conflicts)[: state.room]:
        told = f"{conflict.path} was left alone: {conflict.reason}"
        yield from (row(line, "yellow") for line in paragraphs(told, state.columns))
    yield from (row(line, "yellow") for line in _elsewhere(done))
    keys = "u takes that back, now; `backtrail undo` does later. Enter leaves, and prints the edited prompt."
    yield from (row(line) for line in ("", *paragraphs(keys, state.columns), ""))
    yield from (row(line, "dim") for line in paragraphs(state.prompt[:1000], state.columns))


_BODIES: Mapping[View, Callable[[State, Screen], Iterable[Row]]] = {
    View.TURNS: _turns,
    View.MESSAGES: _messages,
    View.PLAN: _plan,
    View.DONE: _done,
}

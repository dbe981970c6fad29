"""What a key does on the full screen, without a screen."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from backtrail.cli.browse import model
from backtrail.cli.browse.asking import messages_of, snapshot_of
from backtrail.cli.browse.model import State, View, Wish
from support.answers import NOW
from support.turns import looking, rewind, session, snapshot, turn


def after(state: State, *keys: str) -> State:
    for key in keys:
        state, _ = model.press(state, key)
    return state


def selected(state: State) -> int:
    assert state.turn is not None
    return state.turn.turn


@pytest.mark.parametrize(
    ("keys", "chosen"),
    [
        ([], 100),
        (["up"], 99),
        (["k", "k", "j"], 99),
        (["down"], 100),
        (["home"], 1),
        (["home", "up"], 1),
        (["home", "down", "down"], 3),
        (["home", "end"], 100),
        (["g", "G"], 100),
        (["x", "", "é"], 100),
    ],
)
def test_keys_move_from_turn_to_turn_and_stop_at_the_ends(keys: list[str], chosen: int):
    """The newest turn is the one that most often went wrong, so it is where one starts."""
    assert selected(after(looking(100), *keys)) == chosen


def test_a_page_is_as_many_turns_as_are_in_sight():
    """Nothing is jumped over unseen."""
    state = looking(100)
    assert selected(after(state, "page up")) == 100 - state.list_room
    assert selected(after(state, "page up", "page down")) == 100
    assert selected(after(state, *["page up"] * 50)) == 1


@pytest.mark.parametrize("lines", [1, 3, 4, 8, 24, 200])
def test_the_selected_turn_is_always_in_sight(lines: int):
    """Whatever the keys and the size of the window."""
    state = looking(100, lines=lines)
    for key in ["up", "home", "page down", "down", "end", "page up", "k", "home", "end"] * 3:
        state = after(state, key)
        assert state.top <= state.selected < state.top + state.list_room
        assert 0 <= state.top <= max(0, 100 - state.list_room)


def test_the_selected_turn_stays_in_sight_when_the_window_changes_its_size():
    """A window is tiled and untiled while one reads."""
    state = after(looking(100), *["up"] * 40)
    for lines in (5, 60, 2, 24, 150):
        state = model.resized(state, lines, 80)
        assert selected(state) == 60
        assert state.top <= state.selected < state.top + state.list_room
    assert state.top == 0, "a window that holds all turns shows all of them"


@pytest.mark.parametrize("key", ["escape", "q"])
def test_escape_leaves_the_list(key: str):
    """The way out is the same key everywhere."""
    assert model.press(looking(), key)[1] is Wish.LEAVE


def test_a_session_without_turns_can_be_left_and_nothing_else():
    """It has just been started."""
    state = looking(0)
    for key in ("enter", " ", "right", "up", "end", "page down"):
        state, wish = model.press(state, key)
        assert wish is None
        assert state.turn is None
    assert model.press(state, "escape")[1] is Wish.LEAVE


@pytest.mark.parametrize("key", [" ", "right"])
def test_a_turns_messages_are_read_scrolled_and_left_for_the_list(key: str):
    """The list is where it was."""
    state, wish = model.press(after(looking(), "up"), key)
    assert wish is Wish.READ
    said = [{"role": "user", "content": f"line {number}"} for number in range(50)]
    state = model.reading(state, said, 7)
    assert (state.view, state.offset) == (View.MESSAGES, 0)
    assert after(state, "up").offset == 0
    assert after(state, "down", "down").offset == 2
    assert after(state, "page down").offset == state.room
    end = after(state, "end")
    assert end.offset == len(state.rows) - state.room
    assert after(end, "down", "page down") == end
    assert after(end, "home").offset == 0
    for back in ("left", "escape", "q"):
        found, wish = model.press(end, back)
        assert (found.view, wish, selected(found)) == (View.TURNS, None, 2)


def test_messages_are_laid_out_again_for_a_window_of_another_width():
    """Lines that were wrapped for a wide window would be cut in a narrow one."""
    state = model.reading(looking(), [{"role": "user", "content": "word " * 100}], 0)
    narrow = model.resized(after(state, "end"), 10, 40)
    assert len(narrow.rows) > len(state.rows)
    assert narrow.offset <= len(narrow.rows) - narrow.room
    assert model.resized(narrow, 100, 200).offset == 0


def test_enter_edits_a_turn_but_not_one_that_is_set_aside():
    """What is hidden has no files to go back from."""
    assert model.press(looking(), "enter")[1] is Wish.EDIT
    aside = model.opened(session(turn(1), turn(2, rewound=True)), {}, 24, 80)
    state, wish = model.press(aside, "enter")
    assert wish is None
    assert "Turn 2" in state.status
    assert after(state, "").status == state.status, "nobody has pressed a key"
    assert after(state, "up").status == "", "what was said is gone with the next key"


@pytest.mark.parametrize(
    ("key", "wish"), [("y", Wish.GO_BACK), ("enter", Wish.GO_BACK), ("x", None), ("u", None)]
)
def test_only_a_clear_yes_goes_back(key: str, wish: Wish | None):
    """A slip of the finger must not change files."""
    state, found = model.press(model.planned(looking(), "ask better", rewind(3)), key)
    assert (state.view, found) == (View.PLAN, wish)


@pytest.mark.parametrize("key", ["n", "escape", "q"])
def test_a_no_returns_to_the_list_and_forgets_the_edit(key: str):
    """Leaving afterwards must not print a prompt that nobody agreed to."""
    state, wish = model.press(model.planned(looking(), "ask better", rewind(3)), key)
    assert (state.view, state.prompt, state.rewind, wish) == (View.TURNS, "", None, None)
    assert state.status == "Nothing was changed."


def test_after_going_back_one_leaves_with_the_prompt_or_undoes():
    """Both are one key."""
    state = model.gone_back(model.planned(looking(), "ask better", rewind(3)), rewind(3))
    assert model.press(state, "u")[1] is Wish.UNDO
    assert model.press(state, "j")[1] is None
    for key in ("enter", "escape", "q"):
        found, wish = model.press(state, key)
        assert (found.view, found.prompt, wish) == (View.DONE, "ask better", Wish.LEAVE)
    again = model.undone(state, session(turn(1)), "Undone.")
    assert (again.view, again.prompt, again.rewind, selected(again)) == (View.TURNS, "", None, 1)


def test_the_messages_of_a_turn_are_those_since_the_turn_before_it_that_counts():
    """A turn that is set aside is no part of the conversation as it is."""
    talk = session(
        turn(1), turn(2, rewound=True, messages=9), turn(2, ordinal=3, messages=6), turn(3, ordinal=4)
    )
    first, aside, again, last = talk.turns
    assert messages_of(talk, first, 2) == (0, 2)
    assert messages_of(talk, aside, 9) == (2, 9)
    assert messages_of(talk, again, 6) == (2, 6)
    assert messages_of(talk, last, 8) == (6, 8)
    assert messages_of(talk, last, 5) == (0, 5), "the agent has shortened it"
    skipping = session(turn(1), turn(2, rewound=True, messages=3), turn(3))
    assert messages_of(skipping, skipping.turns[-1], 8) == (2, 8)


def test_a_turn_that_is_set_aside_is_read_from_its_own_snapshot():
    """Its number has come again, with other messages."""
    second = NOW + timedelta(minutes=5)
    talk = session(
        turn(1, rewound=True),
        turn(1, ordinal=2, started=second),
        turn(2, ordinal=3, messages=None),
        snapshots=[snapshot(1), snapshot(2, turn=1, created=second)],
    )
    found = [snapshot_of(talk, one) for one in talk.turns]
    assert [one and one.number for one in found] == [1, 2, None]


def test_a_state_of_the_same_size_is_not_made_again():
    """Every key asks for the size."""
    state = replace(looking(), status="kept")
    assert model.resized(state, state.lines, state.columns) is state

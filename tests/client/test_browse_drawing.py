"""The full screen as rows of text, without a terminal."""

import pytest

from backtrail.cli.browse import drawing, model
from backtrail.cli.browse.layout import LONGEST_MESSAGE, Piece, Row, fitted, paragraphs
from backtrail.cli.browse.model import State
from backtrail.cli.characters import width
from backtrail.session_values import ToolUse
from backtrail.values import Conflict, Followed
from support.answers import screen
from support.turns import looking, rewind, session, turn


def drawn(state: State) -> list[Row]:
    return drawing.draw(state, screen(state.columns))


def texts(state: State) -> list[str]:
    return ["".join(piece.text for piece in row) for row in drawn(state)]


def styles(state: State, line: int) -> set[str]:
    return {piece.style for piece in drawn(state)[line]}


def whole(state: State) -> str:
    return "\n".join(texts(state))


HOSTILE = "\x1b]0;title\x07 \u202e" + "漢字" * 60 + "\ttab\r\n" + "x" * 300


@pytest.mark.parametrize("columns", [1, 40, 300])
@pytest.mark.parametrize("lines", [1, 5, 24])
def test_every_view_fills_the_window_and_never_more(lines: int, columns: int):
    """A row that is too long would wrap and move all others; what steers a terminal must not reach it."""
    hostile = turn(3, prompt=HOSTILE, tools=[ToolUse(name=HOSTILE, input=HOSTILE)] * 9)
    state = model.opened(session(turn(1), hostile, title=HOSTILE), {4: 2}, lines, columns)
    plan = rewind(
        3, written=[HOSTILE] * 90, deleted=[HOSTILE], conflicts=[Conflict(path=HOSTILE, reason=HOSTILE)]
    )
    views = [
        state,
        model.told(state, HOSTILE),
        model.reading(state, [{"role": HOSTILE, "content": HOSTILE}] * 9, 0),
        model.planned(state, HOSTILE, plan),
        model.gone_back(model.planned(state, HOSTILE, plan), plan),
        model.opened(session(), {}, lines, columns),
    ]
    for view in views:
        found = texts(view)
        assert len(found) == max(min(lines, view.room + 2), 1)
        assert max(map(width, found)) <= columns
        assert "".join(found).isprintable()


def test_the_list_tells_number_time_files_and_the_first_line_of_each_prompt():
    """That is how one finds the message that led astray."""
    talk = session(turn(9, prompt="\nAdd a test\nfor it"), turn(10, prompt="Go on"))
    found = texts(model.opened(talk, {10: 1, 11: 3}, 24, 80))
    assert found[0] == "fix-login: Repair the login  2 turns"
    assert found[1] == "   9  1 minute ago      1 file       Add a test"
    assert found[2].rstrip() == "> 10  1 minute ago      3 files      Go on"
    assert found[-1] == "Enter edit  Space messages  q leave"


def test_the_selected_turn_stands_out_and_one_that_is_set_aside_steps_back():
    """Both without reading."""
    state = model.opened(session(turn(1, rewound=True), turn(2)), {}, 24, 80)
    assert styles(state, 1) == {"dim"}
    assert styles(state, 2) == {"reverse"}
    assert width(texts(state)[2]) == 80, "the bar reaches across the window"


def test_a_narrow_window_keeps_number_and_prompt():
    """Times and files are still told of the selected turn, below."""
    state = looking(columns=40)
    assert texts(state)[1] == "  1  ask for 1"
    assert "1 minute ago" in whole(state)


def test_below_the_list_is_the_selected_turn_with_checkpoints_and_tools():
    """What was done, before one decides to take it back."""
    tools = [ToolUse(name="Bash", input=f"make {number}") for number in range(9)]
    state = model.opened(session(turn(4, prompt="one\ntwo", tools=tools)), {5: 2}, 24, 80)
    found = texts(state)
    start = found.index("–" * 80)
    assert found[start + 1] == "turn 4  1 minute ago  checkpoints 4 → 5  2 files"
    assert found[start + 2 : start + 4] == ["  one", "  two"]
    assert "  Bash make 0" in found
    assert any(line.startswith("  Bash make 3") and line.endswith("and 5 more tools") for line in found)


def test_only_what_is_in_sight_is_drawn_of_a_long_conversation():
    """Thousands of turns must not make a key slow: a turn out of sight that can't be drawn is not looked at."""
    state = looking(5000)
    assert "ask for 5000" in whole(state)
    assert sum("ask for" in line for line in texts(state)) == state.list_room + 1
    top = model.press(state, "home")[0]
    assert "ask for 1" in texts(top)[1]
    assert "ask for 5000" not in whole(top)


def test_messages_have_who_and_their_number_and_are_broken_where_they_have_no_spaces():
    """Text in Chinese has none, and none of it may be lost."""
    text = "漢字" * 100
    state = model.reading(looking(columns=40), [{"role": "assistant", "content": text}], 6)
    assert texts(state)[1] == "assistant 7"
    assert "".join(line.strip() for line in texts(state)[2:-1]) == text


def test_a_message_of_megabytes_is_shown_in_part_and_says_so():
    """Nobody scrolls through a file that was pasted."""
    said = [{"role": "user", "content": "word " * 200_000}]
    state = model.press(model.reading(looking(), said, 0), "end")[0]
    assert f"({1_000_000 - LONGEST_MESSAGE:,} more characters)" in whole(state)


def test_a_turn_without_recorded_messages_says_so():
    """An empty screen looks like a fault."""
    assert texts(model.reading(looking(), [], 0))[1] == "Nothing was recorded of what was said."


def test_the_plan_counts_files_and_messages_and_names_the_first_files():
    """That is what one says yes to."""
    plan = rewind(3, written=[f"src/{number}.py" for number in range(40)])
    found = texts(model.planned(looking(), "ask better", plan))
    assert found[1:5] == [
        "Go back to before turn 3?",
        "  40 files will be restored",
        "  2 files will be deleted",
        "  4 messages will be set aside",
    ]
    assert "  write  src/0.py" in found
    assert any("more files" in line for line in found)
    assert "ask better" in found
    small = texts(model.planned(looking(), "ask better", rewind(3)))
    assert {"  write  src/app.py", "  delete src/new.py", "  delete src/newer.py"} <= set(small)


def test_files_that_are_left_alone_are_told_before_and_after():
    """Whoever says yes must know that it is not all."""
    plan = rewind(3, conflicts=[Conflict(path="log.txt", reason="it is being written to")])
    state = model.planned(looking(), "ask better", plan)
    assert "1 file will be left alone" in whole(state)
    assert "log.txt was left alone: it is being written to" in whole(model.gone_back(state, plan))


def test_folders_that_the_session_follows_are_named_before_and_after():
    """A yes here changes files there."""
    also = [
        Followed(workspace="other-1a2b", root="/home/ann/other", written=["a"]),
        Followed(workspace="gone-1a2b", root=None, error="It is not watched."),
    ]
    state = model.planned(looking(), "ask better", rewind(3, also=also))
    for view in (state, model.gone_back(state, rewind(3, also=also))):
        assert "also in /home/ann/other: 1 file written, 0 files deleted" in whole(view)
        assert "also in gone-1a2b: It is not watched." in whole(view)


def test_afterwards_it_tells_what_was_done_and_how_to_undo_it():
    """A second thought comes after the first."""
    state = model.gone_back(model.planned(looking(columns=100), "ask better", rewind(3)), rewind(3))
    assert "Went back to before turn 3: 1 file written, 2 files deleted, 4 messages set aside." in whole(
        state
    )
    assert "u takes that back" in whole(state)
    assert "ask better" in whole(state)


def test_something_to_say_takes_the_place_of_the_keys():
    """The last line is where one looks after pressing a key."""
    state = model.told(looking(), "The daemon is gone.")
    assert drawn(state)[-1] == (Piece("The daemon is gone.", "yellow"),)


def test_a_row_is_cut_at_the_edge_whatever_its_pieces():
    """A wide character does not fit into one column."""
    assert fitted((Piece("ab", "bold"), Piece("漢字")), 5, "…") == (Piece("ab", "bold"), Piece("漢…"))
    assert fitted((Piece("abc"), Piece("d")), 3, "…") == (Piece("abc"),)


def test_lines_keep_their_ends_and_long_words_are_broken():
    """An address or a path has no place to break."""
    assert paragraphs("a b\n\n" + "x" * 12, 5) == ["a b", "", "xxxxx", "xxxxx", "xx"]
    assert paragraphs("", 5) == []
    assert paragraphs("漢字", 1) == ["漢", "字"]

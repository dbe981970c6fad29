"""Finding words in what was said and in what was changed."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from backtrail.errors import UsageError
from backtraild.model import Checkpoint, FileChange, Kind, Status
from backtraild.sessions import Found, indexing
from backtraild.sessions.query import WORD_LIMIT, wanted
from backtraild.sessions.search import SNIPPET_LENGTH, marked
from backtraild.state import Database
from backtraild.transcripts import Lines
from support.conversing import BEGINNING, Desk, said


def checkpoint(desk: Desk, number: int, *paths: bytes, session: str | None = None) -> None:
    """A checkpoint in the index, made so many days after the beginning."""
    files = tuple(FileChange(path, Status.MODIFIED, 1) for path in paths)
    made = Checkpoint(
        number=number,
        id=f"{number:040x}",
        tree="ab" * 20,
        kind=Kind.AUTO,
        message="",
        timestamp=BEGINNING + timedelta(days=number),
        files_changed=files,
        files_changed_count=len(files),
        insertions=0,
        deletions=0,
        session=session,
    )
    with desk.database.transaction():
        desk.index.add(made)


def places(desk: Desk, words: str, **narrowed: str) -> list[tuple[str, str | None, int | None]]:
    hits = desk.sessions.search(words, limit=100, **narrowed).hits
    return [
        (hit.found.value, hit.session, hit.message if hit.found is Found.MESSAGE else hit.turn)
        for hit in hits
    ]


def test_a_hit_tells_where_it_is(desk: Desk) -> None:
    """From a word one gets to the message, its turn, and the files as they were then."""
    desk.sessions.begin_turn("s", prompt="Please repair the flux capacitor", before=2)
    desk.sessions.end_turn("s", after=3)
    desk.sessions.record_conversation(
        "s", said("Please repair the flux capacitor", "The capacitor is fine"), turn=1, checkpoint=3
    )
    checkpoint(desk, 3, b"src/capacitor.py", b"src/other.py", session="s")
    path, answer, question, prompt = desk.sessions.search("CAPACITOR").hits
    assert (path.found, path.path, path.checkpoint, path.session, path.turn) == (
        Found.PATH, b"src/capacitor.py", 3, "s", 1
    )  # fmt: skip
    assert (answer.found, answer.message, answer.role, answer.turn) == (Found.MESSAGE, 1, "assistant", 1)
    assert (question.message, question.generation, question.checkpoint) == (0, 1, 3)
    assert (prompt.found, prompt.turn, prompt.checkpoint, prompt.role) == (Found.PROMPT, 1, 3, "user")
    assert answer.snippet == "The capacitor is fine"
    assert [answer.snippet[start:end] for start, end in answer.marks] == ["capacitor"]


def test_all_words_are_wanted_phrases_stand_together_and_minus_excludes(desk: Desk) -> None:
    """What people know from other searches works here."""
    desk.sessions.record_conversation(
        "s", said("red green blue", "green red", "red blue", "the foo_bar(x) call", "Ünïcödé café")
    )
    for words, expected in (
        ("red", {0, 1, 2}),
        ("red green", {0, 1}),
        ('"red green"', {0}),
        ("red -blue", {1}),
        ('red -"red green"', {1, 2}),
        ("foo_bar", {3}),
        ("foo bar", {3}),
        ("unicode CAFE", {4}),
        ("violet", set()),
        ("red OR violet", set()),
        ("NOT", set()),
        ("re*", set()),
    ):
        assert {index for _, _, index in places(desk, words)} == expected, words


def test_common_shapes_of_messages_are_understood(desk: Desk) -> None:
    """Every agent writes its transcript in its own way."""
    lines = [
        b'{"type":"user","message":{"role":"user","content":"apple pie"},"timestamp":"2026-01-02T03:04:05Z"}',
        b'{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"banana"},'
        b'{"type":"tool_use","id":"toolu_77","name":"Bash","input":{"command":"ls cherry"}}]}}',
        b'{"role":"tool","content":[{"type":"tool_result","tool_use_id":"x","content":[{"text":"damson"}]}]}',
        b'{"anything":{"else":["elderberry",5,null]}}',
        b'["fig"]',
        b'"grape"',
        b"not json: huckleberry",
        b'{"role":"user","content":[{"type":"image","source":{"data":"' + b"QUJD" * 100 + b'"}},'
        b'{"type":"text","text":"jujube"}]}',
    ]
    desk.sessions.record_conversation("s", Lines(b"\n".join(lines) + b"\n"))
    fruit = ["apple", "banana", "cherry", "damson", "elderberry", "fig", "grape", "huckleberry", "jujube"]
    found = [[hit.message for hit in desk.sessions.search(word).hits] for word in fruit]
    assert found == [[0], [1], [1], [2], [3], [4], [5], [6], [7]]
    assert places(desk, "toolu_77") == places(desk, "QUJD" * 100) == []
    (apple,) = desk.sessions.search("apple").hits
    assert (apple.role, apple.time.isoformat()) == ("user", "2026-01-02T03:04:05+00:00")


def test_what_was_compacted_or_rewound_is_still_found_where_it_was(desk: Desk) -> None:
    """The agent forgot it; that is when one searches for it."""
    desk.sessions.record_conversation("s", said("alpha", "yes", "beta", "yes"), turn=1)
    desk.sessions.record_conversation("s", said("a summary", "yes", "beta", "yes", "gamma"), turn=2)
    (alpha,), (beta,) = desk.sessions.search("alpha").hits, desk.sessions.search("beta").hits
    assert (alpha.generation, alpha.message, alpha.turn) == (1, 0, 1)
    assert (beta.generation, beta.message, beta.turn) == (2, 2, 2)
    twice = desk.sessions.search("yes").hits
    assert sorted((hit.generation, hit.message) for hit in twice) == [(2, 1), (2, 3)]
    lines = list(desk.sessions.conversation("s", snapshot=1))
    assert b"alpha" in lines[alpha.message or 0]


def test_prompts_of_rewound_turns_are_marked(desk: Desk) -> None:
    """They are not part of the conversation any more."""
    desk.sessions.begin_turn("s", prompt="first idea")
    desk.sessions.begin_turn("s", prompt="second idea")
    desk.rewind("s", 1)
    assert [(hit.turn, hit.rewound) for hit in desk.sessions.search("idea").hits] == [(2, True), (1, False)]


def test_a_session_narrows_the_search(desk: Desk) -> None:
    """Two agents talk about the same files."""
    for name in ("one", "two"):
        desk.sessions.record_conversation(name, said(f"shared word by {name}"))
    checkpoint(desk, 1, b"shared", session="one")
    checkpoint(desk, 2, b"shared", b"other", session="two")
    checkpoint(desk, 3, b"shared")
    assert places(desk, "shared") == [("path", None, None), ("message", "two", 0), ("message", "one", 0)]
    assert places(desk, "shared", session="one") == [("path", "one", None), ("message", "one", 0)]
    (path, _) = desk.sessions.search("shared", session="two").hits
    assert path.checkpoint == 2


def test_paths_are_found_by_any_part_of_them(desk: Desk) -> None:
    """People remember a piece of a file's name. One that is not UTF-8 has pieces, too."""
    checkpoint(desk, 1, b"src/Parser/lexer_test.py", b"docs/parse.md", b"caf\xe9/parse.txt")
    checkpoint(desk, 2, b"docs/parse.md")
    hits = desk.sessions.search("parse").hits
    assert [(hit.path, hit.checkpoint) for hit in hits] == [
        (b"docs/parse.md", 2), (b"caf\xe9/parse.txt", 1), (b"src/Parser/lexer_test.py", 1)
    ]  # fmt: skip
    assert hits[1].snippet == '"caf\\351/parse.txt"'
    assert [hit.path for hit in desk.sessions.search("parse -docs -.txt").hits] == [
        b"src/Parser/lexer_test.py"
    ]
    assert [hit.path for hit in desk.sessions.search("PARSER lex").hits] == [b"src/Parser/lexer_test.py"]


def test_pages_join_without_a_gap_although_more_is_said_meanwhile(desk: Desk) -> None:
    """Whoever reads page two should not see page one again."""
    desk.sessions.record_conversation("s", said(*[f"word {number}" for number in range(9)]))
    checkpoint(desk, 1, b"word/a", b"word/b", b"word/c")
    found, cursor = [], None
    for step in range(10):
        page = desk.sessions.search("word", limit=5, cursor=cursor)
        found += [(hit.message, hit.path) for hit in page.hits]
        cursor = page.next
        if cursor is None:
            break
        checkpoint(desk, 2 + step, b"word/new%d" % step)
    assert len(found) == len(set(found)) == 12
    assert not any(b"new" in (path or b"") for _, path in found)
    for wrong in ("", "x", "1", "1:2:3", ":5", "9" * 40 + ":1", "1:-2"):
        with pytest.raises(UsageError, match="where a search ended"):
            desk.sessions.search("word", cursor=wrong)


def test_many_messages_at_once_are_made_findable_later(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recording a long transcript must not wait for the index; searching it must find all of it."""
    for name, size in (("AT_ONCE", 20), ("BIT", 5), ("BATCH", 12)):
        monkeypatch.setattr(indexing, name, size)
    desk.sessions.record_conversation("s", said(*[f"item {number}" for number in range(35)]))
    rows = "SELECT COUNT(*) FROM passages"
    assert desk.database.connection.execute(rows).fetchone() == (0,)
    assert desk.sessions.index_some()
    assert desk.database.connection.execute(rows).fetchone() == (5,)
    assert len(desk.sessions.search("item", limit=100).hits) == 35
    assert not desk.sessions.index_some()
    desk.sessions.record_conversation("s", said(*[f"item {number}" for number in range(37)]))
    assert desk.database.connection.execute(rows).fetchone() == (37,)


def test_without_fts5_only_the_search_is_missing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some systems build SQLite without it. Sessions work, and the search says why it does not."""
    monkeypatch.setattr(
        "backtraild.state.database._TEXTS", "CREATE VIRTUAL TABLE passage_text USING fts99(text)"
    )
    poor = desk.reopened(table=False)
    poor.sessions.begin_turn("s", prompt="hello")
    poor.sessions.record_conversation("s", said("hello", "there"), turn=1)
    with pytest.raises(UsageError, match="FTS5"):
        poor.sessions.search("hello")
    assert not poor.sessions.index_some()
    assert len(poor.sessions.turns("s")) == 1
    poor.sessions.start("gone")
    poor.sessions.delete("gone")
    monkeypatch.undo()
    rich = poor.reopened()
    assert places(rich, "hello") == [("message", "s", 0), ("prompt", "s", 1)]
    rich.close()


def test_another_trouble_than_missing_fts5_is_not_taken_for_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that can't be made for another reason is an error, as for all tables."""
    monkeypatch.setattr("backtraild.state.database._TEXTS", "CREATE VIRTUAL nonsense")
    with pytest.raises(Exception, match="syntax error"):
        Database(str(desk.folder / "other.db"))


@pytest.mark.parametrize("words", ["", "   ", "-red", '""', "\0", '-"a b" -c', "*", "...", "🙂", "\ud800"])
def test_where_there_is_no_word_to_look_for_that_is_said(desk: Desk, words: str) -> None:
    """Everything but something is not what a search can find."""
    with pytest.raises(UsageError, match="no word"):
        desk.sessions.search(words)


def test_too_many_words_are_refused(desk: Desk) -> None:
    """SQLite has a limit of its own, with a message that nobody understands."""
    desk.sessions.record_conversation("s", said("x"))
    words = ["x", *["-y"] * (WORD_LIMIT - 1)]
    assert len(desk.sessions.search(" ".join(words)).hits) == 1
    with pytest.raises(UsageError, match="At most"):
        desk.sessions.search(" ".join([*words, "z"]))
    for limit in (0, -1, 1001):
        with pytest.raises(UsageError):
            desk.sessions.search("x", limit=limit)


@pytest.mark.parametrize(
    "words", ['"' + "a " * 10_000 + '"', "a" * 100_000, "-x " * 5000 + "a", '"' * 5001 + "a"]
)
def test_a_question_without_end_is_refused(desk: Desk, words: str) -> None:
    """A phrase of ten thousand words takes the index seconds, and its folder's worker with it."""
    with pytest.raises(UsageError, match="at most 1,000 can be looked for"):
        desk.sessions.search(words)


hostile = st.text(
    alphabet=st.one_of(
        st.sampled_from("\"'-*()^:+{}.,\\;%_ \t\n\0aAbeforNEARNOTANDORtext"),
        st.characters(),
        st.just("\ud800"),
    ),
    max_size=60,
)


ODD_MESSAGES = [
    "x",
    "near a b",
    "unbalanced",
    "a and not",
    "text a",
    'x" OR text:"',
    "before",
    "\0a\x02b\x03 a",
]


@pytest.fixture
def odd_desk(desk: Desk) -> Desk:
    desk.sessions.record_conversation("s", said(*ODD_MESSAGES))
    return desk


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=hostile)
@example(words='x" OR text:"')
@example(words="NEAR(a b)")
@example(words='"unbalanced')
@example(words="a AND NOT")
@example(words="{text}: a^")
@example(words="'; DROP TABLE passages; --")
def test_nothing_that_is_typed_breaks_a_search(odd_desk: Desk, words: str) -> None:
    """Quotes, operators and odd characters are words like any other, or nothing."""
    try:
        asked = wanted(words)
    except UsageError:
        with pytest.raises(UsageError):
            odd_desk.sessions.search(words)
        return
    for hit in odd_desk.sessions.search(words, limit=1000).hits:
        text = ODD_MESSAGES[hit.message or 0].lower()
        letters = [letter for word in asked.present for letter in word.lower() if letter in "abefornxtud"]
        assert all(letter in text for letter in letters), "every word has to be there"
        assert hit.marks
        assert all(0 <= start < end <= len(hit.snippet) for start, end in hit.marks)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=1, max_size=4), min_size=5),
    hostile,
)
def test_a_message_is_found_by_its_own_words(desk: Desk, messages: list[list[str]], odd: str) -> None:
    """Whatever was said can be found again, also as a whole, whatever else was said."""
    texts = [" ".join(words) for words in messages]
    desk.sessions.record_conversation("s", said(odd.replace("\ud800", "?"), *texts))
    for text in texts:
        for query in (text, f'"{text}"'):
            assert text in [hit.snippet for hit in desk.sessions.search(query, limit=1000).hits]


def test_a_snippet_is_short_and_shows_what_was_found(desk: Desk) -> None:
    """One word may be as long as a book."""
    desk.sessions.record_conversation("s", said("w" * 5000 + " needle " + "z" * 5000))
    (hit,) = desk.sessions.search("needle").hits
    assert len(hit.snippet) <= SNIPPET_LENGTH
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["needle"]
    assert marked("no marks") == ("no marks", ())


def test_a_damaged_conversation_keeps_no_other_from_being_found(desk: Desk) -> None:
    """One lost chunk must not end all searching."""
    for name in ("bad", "good"):
        desk.sessions.record_conversation(name, said("hello"))
    for path in (desk.git_dir / "refs" / "transcripts").iterdir():
        if path.name.startswith("bad"):
            path.write_text("no id\n")
    again = desk.reopened(table=False)
    assert places(again, "hello") == [("message", "good", 0)]
    again.close()


def test_the_index_is_used_and_not_all_texts_read(desk: Desk) -> None:
    """A search among a hundred thousand messages asks the index."""
    plan = desk.database.connection.execute(
        "EXPLAIN QUERY PLAN SELECT p.id FROM passage_text JOIN passages p ON p.id = passage_text.rowid"
        " WHERE passage_text MATCH 'x' ORDER BY p.time_us DESC"
    ).fetchall()
    assert any("VIRTUAL TABLE INDEX" in row[3] for row in plan)

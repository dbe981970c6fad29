"""What can be found of a message, decided without any table."""

import json

from hypothesis import given
from hypothesis import strategies as st

from backtraild.sessions.texts import TEXT_LIMIT, asked, passage

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
shapes = st.fixed_dictionaries(
    {},
    optional={"role": values, "type": values, "content": values, "message": values, "timestamp": values},
)


@given(st.one_of(values, shapes, shapes.map(lambda inner: {"message": inner})))
def test_any_message_has_a_text_that_a_table_can_hold(message: object) -> None:
    """No agent's idea of a message may end the indexing of a conversation."""
    found = passage(json.dumps(message).encode())
    assert len(found.text) <= TEXT_LIMIT
    found.text.encode()
    found.role.encode()
    assert not {"\0", "\x02", "\x03"} & {*found.text, *found.role}


@given(st.binary(max_size=200))
def test_any_bytes_have_a_text(line: bytes) -> None:
    """A line need not be JSON, nor UTF-8."""
    passage(line).text.encode()


def test_half_characters_and_deep_nesting_are_no_obstacle() -> None:
    """Both are valid JSON, and both have broken programs."""
    assert passage(b'{"role":"user","content":"a\\ud800b"}').text == "a?b"
    assert passage(b"[" * 100_000).text.startswith("[[[")
    assert passage(b'{"content":' + b"[" * 400 + b'"deep"' + b"]" * 400 + b"}").text == "deep"


def test_a_long_message_is_findable_by_its_beginning() -> None:
    """A log of megabytes in one message would make the index larger than the workspace."""
    found = passage(json.dumps({"role": "tool", "content": ["first", "x " * TEXT_LIMIT, "last"]}).encode())
    assert found.text.startswith("first\nx x")
    assert len(found.text) == TEXT_LIMIT


def test_a_time_is_one_only_if_it_is_written_as_one() -> None:
    """Nothing is guessed: the time of recording is good enough."""
    stamps = ["2026-01-02T03:04:05.678Z", "2026-01-02T05:04:05.678+02:00"]
    times = {passage(json.dumps({"timestamp": stamp}).encode()).time for stamp in stamps}
    assert [time.isoformat() for time in times if time] == ["2026-01-02T03:04:05.678000+00:00"]
    for stamp in ("yesterday", 1700000000, None, "0001-01-01T00:00:00+23:59", {}):
        assert passage(json.dumps({"timestamp": stamp}).encode()).time is None


def test_what_a_person_asks_is_told_from_what_tools_and_agents_say() -> None:
    """Agents write down results of tools in their user's name, and wrap messages in records of their own."""
    question = [
        {"type": "text", "text": "why"},
        {"type": "image", "source": "…"},
        {"type": "text", "text": "?"},
    ]
    result = [{"type": "tool_result", "tool_use_id": "1", "content": "42"}]
    for message, said in [
        ({"role": "user", "content": "why?\x01\n"}, "why?\x01\n"),
        ({"type": "user", "message": {"role": "user", "content": question}}, "why\n?"),
        ({"type": "user", "content": "why?"}, "why?"),
        ({"role": "user", "content": [{"type": "input_text", "text": "why?"}]}, "why?"),
        ({"role": "user", "content": result}, ""),
        ({"role": "assistant", "content": "because"}, ""),
        ({"role": "user", "content": {"text": "why?"}}, ""),
        ({"role": "user"}, ""),
        (["user", "why?"], ""),
    ]:
        assert asked(json.dumps(message).encode()) == said


@given(st.one_of(values, shapes, shapes.map(lambda inner: {"message": inner})))
def test_any_message_may_be_asked_in(message: object) -> None:
    """Nor may it end the recording of a turn."""
    assert isinstance(asked(json.dumps(message).encode()), str)
    assert asked(b"[" * 100_000) == asked(b"\xff") == ""

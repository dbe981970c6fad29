"""Parameters as clients get them wrong: fitting ones, mistyped ones, and any JSON, for every method there is."""

from typing import Any

import msgspec
from hypothesis import strategies as st

from backtrail import protocol

numbers = st.one_of(
    st.integers(-2, 3),
    st.integers(),
    st.sampled_from([2**31, 2**53, 2**63 - 1, 2**63, -(2**63), 10**30]),
)
names = st.sampled_from(
    [
        "",
        "@",
        "1",
        "2",
        "@~1",
        "@~99999999999999999999",
        "@{now}",
        "@{",
        "1:",
        "1:a",
        "1:d",
        "1:../a",
        "1:\0",
        ":",
        "0001",
    ]
)
times = st.sampled_from(
    ["now", "1 hour ago", "yesterday", "9999-12-31", "0001-01-01", "99999999999 years ago"]
)
paths = st.sampled_from(
    ["", ".", "a", "d/b", "d", "..", "/", "a\0", '"', '"\\400"', '"\\377"', "/nowhere", "x" * 5000]
)
texts = st.one_of(names, times, paths, st.text(max_size=20))
leaves = st.one_of(st.none(), st.booleans(), numbers, st.floats(allow_nan=False, allow_infinity=False), texts)
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
tools = st.fixed_dictionaries(
    {"name": texts},
    optional={
        "id": texts,
        "input": anything,
        "started": st.sampled_from(
            ["2026-11-16T08:00:00Z", "0001-01-01T00:00:00+23:59", "2026-11-16T08:00:00", "now"]
        ),
    },
)
conversations = st.one_of(
    st.fixed_dictionaries({"messages": st.lists(anything, max_size=3)}),
    st.fixed_dictionaries({"content": texts}),
    st.fixed_dictionaries({"path": paths}),
)
FITTING: dict[Any, st.SearchStrategy[Any]] = {
    str: texts,
    int: numbers,
    bool: st.booleans(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    str | None: texts | st.none(),
    int | None: numbers | st.none(),
    list[str]: st.lists(texts, max_size=3),
    dict[str, Any]: st.dictionaries(texts, anything, max_size=3),
    dict[str, Any] | None: st.dictionaries(texts, anything, max_size=3) | st.none(),
    protocol.Tool: tools,
    list[protocol.Tool]: st.lists(tools, max_size=2),
    protocol.Conversation: conversations,
    protocol.Conversation | None: conversations | st.none(),
}
turns = st.one_of(st.just(1), st.none(), numbers)
WORDS = {
    "turn": turns,
    "to_turn": turns,
    "before_turn": turns,
    "scope": st.sampled_from(["files", "conversation", "both", "", "none"]),
    "type": st.sampled_from(["auto", "manual", "checkpoint", "task", "chat", "phase", "file", ""]),
    "status": st.sampled_from(["active", "idle", "ended", ""]),
    "folder": texts.filter(lambda text: not text.startswith(("/", '"')))
    | st.sampled_from(["/", "/proc", "/etc"]),
    # Nothing that could be another machine: a test asks nobody else.
    "remote": st.sampled_from(
        ["", "-x", "/nowhere", "a", "..", "ext::sh", "http://x", "a\0", "/" + "x" * 5000]
    ),
}


def asked(method: protocol.Method[Any, Any], workspace: str) -> st.SearchStrategy[dict[str, Any]]:
    """Parameters: all of the types that the method wants, or some of others."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(method.params)}
    fitting = {name: fitting_for(name, field.type) for name, field in fields.items()}
    required = {name: fitting[name] for name, field in fields.items() if field.required}
    if "workspace" in required:
        required["workspace"] = st.just(workspace)
    optional = {name: each for name, each in fitting.items() if name not in required}
    # A folder that happens to fit would be made, and watched from then on; a remote would be asked.
    wild = {name: each if name in ("folder", "remote") else each | anything for name, each in fitting.items()}
    return st.one_of(
        st.fixed_dictionaries(required),
        st.fixed_dictionaries(required, optional=optional),
        st.fixed_dictionaries({}, optional=wild),
        st.dictionaries(texts, anything, max_size=3),
    )


def fitting_for(name: str, kind: Any) -> st.SearchStrategy[Any]:
    """What a parameter of this name and type may well be."""
    if name in WORDS:
        return WORDS[name]
    fitting = FITTING.get(kind, anything)
    return st.just("s") | fitting if name == "session" else fitting

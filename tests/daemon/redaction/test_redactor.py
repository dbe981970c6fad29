"""Secrets do not survive, harmless texts do, and JSON stays JSON."""

import json
import re
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from time import thread_time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backtraild import redaction
from backtraild.redaction import Redactor
from daemon.redaction.corpus import SEED, positives
from daemon.redaction.harmless import CODE, negatives

REDACTOR = Redactor()
SAMPLES = positives()
HARMLESS = negatives()


def as_message(text: str) -> str:
    return json.dumps({"role": "user", "content": [{"type": "text", "text": text}]}, ensure_ascii=False)


def twice(text: str) -> str:
    return json.dumps({"event": as_message(text)})


FORMS = pytest.mark.parametrize(
    "form", [str, as_message, twice], ids=["plain", "message", "message in a message"]
)


def test_the_corpus_is_large_enough():
    """Figures of a handful of cases say nothing."""
    assert len(SAMPLES) >= 120
    assert len(HARMLESS) >= 150


@FORMS
def test_no_secret_of_the_corpus_survives_and_each_is_counted_by_its_kind(form: Callable[[str], str]):
    """One that survives is in the store for good, and in every copy of it."""
    missed, miscounted = [], []
    for sample in SAMPLES:
        line, counts = REDACTOR.line(form(sample.text).encode())
        if any(secret.encode() in line for secret in sample.secrets):
            missed.append(sample.name)
        elif counts != Counter(sample.kinds):
            miscounted.append((sample.name, counts))
    print(f"seed {SEED}: {len(missed)} of {len(SAMPLES)} secrets missed")
    assert not missed
    assert not miscounted


@FORMS
def test_nearly_no_harmless_text_is_changed(form: Callable[[str], str]):
    """A conversation with holes in it can't be resumed."""
    hit = [text for text in HARMLESS if REDACTOR.line(form(text).encode())[1]]
    print(f"{len(hit)} of {len(HARMLESS)} harmless texts changed: {hit}")
    assert len(hit) <= 0.02 * len(HARMLESS)


def test_a_redacted_message_is_still_json_also_inside_of_another():
    """An agent reads its transcript back with a JSON parser."""
    for sample in SAMPLES:
        line, _ = REDACTOR.line(twice(sample.text).encode())
        message = json.loads(json.loads(line)["event"])
        assert "[REDACTED:" in message["content"][0]["text"], sample.name


def test_a_line_without_secrets_is_returned_as_it_is():
    """Transcripts are kept byte by byte: spaces, escapes and the order of names are the agent's business."""
    line = b'{ "b":1.50,  "a" : "\\u00e9\\/" , "n": 1e5}'
    assert REDACTOR.line(line) == (line, Counter())


def test_around_a_secret_every_byte_stays():
    """Who reads it later must see what was done with the secret."""
    token = "gh" + "p_" + "aB3dE5gH1jK2mN4pQ6sT8vW0yZ1234567xYz"
    line = f'{{ "b":1.50,  "t" : "caf\\u00e9\\nuse {token}, please" }}'
    expected = line.replace(token, "[REDACTED:github-token]")
    assert REDACTOR.line(line.encode()) == (expected.encode(), Counter({"github-token": 1}))


def test_user_and_host_of_a_url_stay_readable():
    """Which database it was is part of the story."""
    text, counts = REDACTOR.text("psql postgres://joe:" + "s3cr" + "etly@db.acme.dev/app")
    assert text == "psql postgres://joe:[REDACTED:url-password]@db.acme.dev/app"
    assert counts == {"url-password": 1}


def test_names_in_metadata_say_what_the_values_are():
    """Tool inputs come as structures and not as lines."""
    secret = "aB3dE5gH" + "1jK2mN4pQ6sT"
    value, counts = REDACTOR.value({"env": [{"api_key": secret, "n": 1}, None, 2.5]})
    assert value == {"env": [{"api_key": "[REDACTED:api-key]", "n": 1}, None, 2.5]}
    assert counts == {"api-key": 1}


def test_a_number_that_json_does_not_quote_is_left_alone():
    """A marker in its place would not be JSON."""
    line = b'{"password": 83746283, "pwd": "x"}'
    assert REDACTOR.line(line)[0] == line


def test_the_lines_of_a_key_in_an_array_each_give_way():
    """Some tools return files as arrays of lines."""
    sample = next(sample for sample in SAMPLES if sample.name == "private key as lines of an array")
    line, counts = REDACTOR.line(sample.text.encode())
    assert set(json.loads(line)) == {"[REDACTED:private-key]"}
    assert counts == {"private-key": 1}


def test_when_switched_off_nothing_is_touched():
    """Whoever says so in the configuration wants the transcript as it was."""
    for sample in SAMPLES[:20]:
        raw = sample.text.encode()
        assert Redactor(enabled=False).line(raw) == (raw, Counter())


def test_text_that_is_no_unicode_passes_through():
    """Prompts may hold half of a surrogate pair, output any bytes."""
    assert REDACTOR.text("a\ud800b") == ("a\ud800b", Counter())
    assert REDACTOR.line(b"\xff\xfe password=\xff")[0] == b"\xff\xfe password=\xff"


def test_redacting_twice_changes_nothing_more():
    """A transcript is redacted again whenever it is saved again."""
    for sample in SAMPLES:
        once, _ = REDACTOR.line(sample.text.encode())
        assert REDACTOR.line(once) == (once, Counter()), sample.name


PIECES = st.one_of(
    st.integers(0, len(SAMPLES) - 1).map(lambda number: SAMPLES[number].text),
    st.integers(0, len(CODE) - 1).map(CODE.__getitem__),
    st.sampled_from(
        ["password=", '"token": "', "\\", '"', "'", "\n", "\\u003d", "://a:", "@", "[REDACTED:", "]", "--"]
    ),
    st.text(max_size=12),
)
TEXTS = st.lists(PIECES, max_size=6).map("".join)
VALUES = st.recursive(
    st.one_of(TEXTS, st.integers(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)


@given(value=VALUES, ascii_only=st.booleans())
@settings(max_examples=150)
@example(value=["-----BEGIN PRIVATE KEY-----", "A1b2" * 8, 7, "-----END PRIVATE KEY-----"], ascii_only=True)
def test_whatever_is_valid_json_stays_valid_and_keeps_its_shape(value: object, ascii_only: bool):
    """Secrets and quotes may meet in any way."""
    raw = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    line, counts = REDACTOR.line(raw)
    try:
        before = json.loads(raw)
    except UnicodeDecodeError:
        return
    after = json.loads(line)
    assert type(after) is type(before)
    assert bool(counts) == (line != raw)
    assert REDACTOR.line(line)[1] == Counter()


@given(text=TEXTS)
@settings(max_examples=150)
def test_redacting_any_text_twice_is_the_same_as_once(text: str):
    """Also where markers and secrets stand side by side."""
    once, _ = REDACTOR.text(text)
    assert REDACTOR.text(once) == (once, Counter())


HOSTILE = {
    "letters": b"a",
    "capitals": b"A",
    "backslashes": b"\\",
    "escaped quotes": b'\\"',
    "beginnings of tokens": b"eyJsk-SG.",
    "beginnings of keys": b"-----BEGIN PRIVATE KEY-----\\n",
    "names without values": b"password token api_key ",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_line_of_a_megabyte_takes_no_more_than_moments(unit: bytes):
    """A page that an agent fetched must not stop the daemon. Quadratic time would be minutes."""
    line = b'["' + unit * (1_000_000 // len(unit)) + b'"]'
    begun = thread_time()
    REDACTOR.line(line)
    assert thread_time() - begun < 5


def test_time_grows_with_the_length_of_a_hostile_line_and_not_with_its_square():
    """The slowest lines known: a value begins at every tenth byte, and each goes on to the end."""
    for unit in (b"password=", b"token=tok", b"://a:", b'password="hunter22x",', b"curl -u a:", b"://&sig="):
        short, long = (
            min(_spent(unit * (size // len(unit))) for _ in range(3))  # a busy machine adds to some of them
            for size in (8_000, 32_000)
        )
        assert long < 10 * short + 0.05, unit


def _spent(line: bytes) -> float:
    begun = thread_time()
    REDACTOR.line(line)
    return thread_time() - begun


@pytest.mark.parametrize("unit", [b"curl -u a:b ", b"://x?sig=", b"token=token="])
def test_a_hostile_line_costs_no_more_than_a_few_times_the_slowest_honest_one(unit: bytes):
    """Words that are looked at closely, again and again: each place of a line may be searched only once for them."""
    spent = {}
    for line in (unit, b'"api_key": "value", '):
        begun = thread_time()
        REDACTOR.line(line * (60_000 // len(line)))
        spent[line] = thread_time() - begun
    assert spent[unit] < 8 * spent[b'"api_key": "value", '] + 0.05, spent


@pytest.mark.parametrize("rest", [b"", b'"', b"-", b"\\n\\n", b"AAAA"])
def test_a_key_file_that_ends_before_its_key_does_not_keep_the_daemon_for_ever(rest: bytes):
    """There is nothing to take out of it, and so nothing to be put in its place again and again."""
    line = b"PuTTY-User-Key-File-2: ssh-rsa\\nPrivate-Lines: 14\\n" + rest
    assert REDACTOR.line(line) == (line, Counter())


def test_options_of_commands_that_follow_one_another_closely_are_all_found():
    """Searching each place once must not mean that some are searched never."""
    for gap in range(0, 420, 7):
        line = (
            b"curl "
            + b"x" * gap
            + b" curl -u ada:Gr3at-Secret https://host; curl --user bob:An0ther-One host"
        )
        redacted, counts = REDACTOR.line(line)
        assert b"Gr3at" not in redacted, gap
        assert b"An0ther" not in redacted, gap
        assert sum(counts.values()) == 2, gap


def test_ordinary_text_is_gone_through_fast():
    """A transcript of 50 MB is saved in about a second; the floor leaves room for a busy machine."""
    sources = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("[a-h]*.py"))
    text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    lines = [as_message(text[at : at + size]).encode() for at, size in _cut(len(text), 200, 100_000)]
    begun = thread_time()
    for line in lines:
        REDACTOR.line(line)
    speed = sum(map(len, lines)) / (thread_time() - begun) / 1e6
    print(f"{speed:.0f} MB/s in {len(lines)} lines")
    assert speed > 10


def _cut(total: int, least: int, most: int) -> Iterator[tuple[int, int]]:
    random, at = Random(SEED), 0
    while at < total:
        size = int(least * (most / least) ** random.random())
        yield at, size
        at += size


def test_no_group_of_a_pattern_is_possessive():
    """Python 3.11 before 3.11.5 matches such groups wrongly, and lets secrets through."""
    folder = Path(redaction.__file__).parent
    sources = {path.name: path.read_text() for path in folder.glob("*.py") if path.name != "custom.py"}
    assert [name for name, text in sources.items() if re.search(r"\)(?:[*+?]|\{[0-9,]*\})\+", text)] == []

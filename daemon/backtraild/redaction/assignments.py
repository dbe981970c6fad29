"""Values given to a name that promises a secret, in any notation: `DB_PASSWORD=…`, `"api_key": "…"`, `--token …`.

Finding goes from the rare to the costly: a word such as “token” by substring search, what follows it by an
anchored expression, the name around it and the look of the value only if there is a value.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from backtraild.redaction.appearance import is_password, is_random
from backtraild.redaction.findings import Finding
from backtraild.redaction.names import is_secret_name

RANK = 3

_NEEDLES = {
    b"pass": "password",
    b"pwd": "password",
    b"secret": "secret",
    b"token": "token",
    b"key": "api-key",
    b"credential": "secret",
    b"_auth": "token",
}
# So much of a value tells what it is; a hostile line may have a value begin at every tenth byte.
_JUDGED = 128
# The shortest value that is taken for a secret; passwords have a test of their own.
_LEAST = {"secret": 10, "token": 16, "api-key": 16}

_QUOTE = rb"\\{0,8}(?:[\"'`]|u0022|u0027)"
_SPACE = rb"(?:[ \t\r\n]|\\{1,8}[nrt]){0,24}"
_SET = rb":[ ]?[A-Za-z_][\w\[\]., |]{0,30}?[ ]?=|:=|=>|={1,3}|:|\\{1,8}u003[aAdD]|%3[aAdD]"
# Kubernetes, Docker and others write {"name": "DB_PASSWORD", "value": "…"}.
_PAIR = rb",?" + _SPACE + rb"(?:" + _QUOTE + rb")?(?i:value)(?:" + _QUOTE + rb")?[ ]?[:=]"
# In a row of `name=name=name=…` a value must not reach to the end of the line, or time would be quadratic.
_BARE = rb"(?:[^\s\"'`\\,;&|<>(){}\[\]=:]{1,2048}+[=:]{0,3}+){1,6}"
_NAME = rb"(?P<rest>[A-Za-z0-9_\-]{3,40}+)(?P<close>" + _QUOTE + rb")?"
_VALUE = (
    rb"(?:[bBrRuU]?(?P<quote>" + _QUOTE + rb")(?!(?P=quote))(?P<quoted>\S{1,512}?)(?<!\\)(?P=quote)"
    rb"|(?P<bare>" + _BARE + rb"))"
)
_ASSIGNED = re.compile(
    _NAME
    + rb"\]?"
    + _SPACE
    + rb"(?:(?P<set>"
    + _SET
    + rb")|(?P<pair>"
    + _PAIR
    + rb")|(?P<tag>>))"
    + _SPACE
    + _VALUE
)
# In a list of arguments, and in a .netrc, a space or a comma is enough.
_ARGUMENT = re.compile(_NAME + rb"(?P<comma>,)?(?P<space>[ ]{0,2}+)" + _VALUE)
_NAME_BEFORE = re.compile(rb"[A-Za-z0-9_\-.]*\Z")
_LONGEST_NAME = 48
_ESCAPED_LETTER = re.compile(rb"\\[nrtbf]")
# Cheap signs that the name could be an argument: the word begins a part of the name, and
# something further before.
_FIRST_SMALL = ord("_")
_BEFORE_ARGUMENT = frozenset(b"-_\"' ")
_ARGUMENT_SIGN = re.compile(rb"--|\(\\{0,8}[\"']|login")
_LOGIN_BEFORE = re.compile(rb"login[ \t]+\S{1,64}(?:\s|\\{1,8}[nt]){1,4}\Z")
_CALL_BEFORE = re.compile(rb"\(" + _QUOTE + rb"\Z")
_TAG_BEFORE = (b"<", b"u003c", b"u003C", b":")
_BEFORE = 100


class _Assignment(Struct, frozen=True):
    """A value, the name it is given to, where in the name the telling word stands, and what comes before."""

    name: bytes
    word_at: int
    before: bytes
    value: bytes
    start: int
    is_quoted: bool
    is_pair: bool

    @property
    def is_option(self) -> bool:
        return self.name.startswith(b"--")

    @property
    def is_certain(self) -> bool:
        """Is this a value for sure, where in program code it could be the name of a variable?"""
        if self.is_quoted or self.is_pair or self.is_option:
            return True
        return self.name.isupper() or self.before.endswith((b"<", b";"))


def find_assignments(raw: bytes, lowered: bytes) -> Iterator[Finding]:
    """Every value that its name and its look give away as a secret."""
    for needle, kind in _NEEDLES.items():
        start = lowered.find(needle)
        while start >= 0:
            given = _assignment_at(raw, start)
            if given and is_secret_name(given.name, given.word_at, kind) and _is_secret_value(given, kind):
                yield Finding(given.start, given.start + len(given.value), RANK, kind)
            start = lowered.find(needle, start + len(needle))


def _assignment_at(raw: bytes, start: int) -> _Assignment | None:
    if match := _ASSIGNED.match(raw, start):
        given = _taken_apart(raw, match)
        return given if not match["tag"] or _is_element(raw, match, given) else None
    if raw[start] >= _FIRST_SMALL and (start == 0 or raw[start - 1] not in _BEFORE_ARGUMENT):
        return None
    if not _ARGUMENT_SIGN.search(raw, max(0, start - _LONGEST_NAME), start):
        return None
    if match := _ARGUMENT.match(raw, start):
        given = _taken_apart(raw, match)
        return given if _is_argument(given, match) else None
    return None


def _is_element(raw: bytes, match: re.Match[bytes], given: _Assignment) -> bool:
    """Is it XML, `<password>…</password>`?"""
    return given.before.endswith(_TAG_BEFORE) and raw[match.end() : match.end() + 1] in (b"<", b"\\")


def _is_argument(given: _Assignment, match: re.Match[bytes]) -> bool:
    if match["comma"]:
        return bool(match["close"]) and (given.is_option or bool(_CALL_BEFORE.search(given.before)))
    if match["close"] or not match["space"]:
        return False
    return given.is_option or bool(_LOGIN_BEFORE.search(given.before))


def _taken_apart(raw: bytes, match: re.Match[bytes]) -> _Assignment:
    prefix = _name_before(raw, match.start())
    start = match.start() - len(prefix)
    group = "bare" if match["quoted"] is None else "quoted"
    # A full stop may end the sentence, and not the value.
    value = match["quoted"] if group == "quoted" else match["bare"].rstrip(b".:")
    is_code = group == "bare" and raw[match.end() : match.end() + 1] in (b"(", b"[", b">")
    return _Assignment(
        name=prefix + match["rest"],
        word_at=len(prefix),
        before=raw[max(0, start - _BEFORE) : start],
        value=b"" if is_code else value,
        start=match.start(group),
        is_quoted=group == "quoted",
        is_pair="pair" in match.re.groupindex and match["pair"] is not None,
    )


def _is_secret_value(given: _Assignment, kind: str) -> bool:
    beginning = given.value[:_JUDGED]
    if kind == "password":
        return is_password(beginning, certain=given.is_certain)
    return is_random(beginning.replace(b"\\", b""), _LEAST[kind])


def _name_before(raw: bytes, start: int) -> bytes:
    """The beginning of the name; of an escaped newline right before it, the letter is not part of it."""
    found = _NAME_BEFORE.search(raw, max(0, start - _LONGEST_NAME), start)
    name = found[0] if found else b""
    first = start - len(name)
    return name[1:] if name and first and _ESCAPED_LETTER.match(raw, first - 1) else name

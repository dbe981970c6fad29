"""Which names promise a secret: `apiKey` and `DB_PASS` do; `monkey`, `token_count` and `public_key` do not."""

import re
from functools import lru_cache

_WORD = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

# What comes after the word tells that the value is about a secret, and is not one.
_ABOUT = frozenset(
    b"""id ids name names file files filename path paths dir url uri endpoint type types kind count counts limit
    length len size min max expires expiry expiration expire exp ttl age index policy field fields prompt header
    env var variable ref refs reference version label title hint placeholder error errors message msg regex pattern
    format algorithm alg method mode status state izer izers ize ized ization izing board code strength rotation
    budget usage used sha sha1 sha256 digest checksum fingerprint thumbprint etag arn scope scopes provider manager
    store class selector column required enabled valid valid8 reset rule rules generator input output pos position
    span start end map list set d s es ing er ers ed word words thumb stone frame frames stroke press up down pair
    pairs chain bindings binding mgr handler realm time date at timeout""".split()
) - {b"word"}
# What comes before it tells that everybody may know it, or that it only names a place.
_OPEN = frozenset(
    b"""public pub primary foreign cache sort partition row page next previous continuation sync cursor idempotency
    map dict group hot short object bucket routing range surrogate translation i18n eos bos pad unk mask sep cls sha
    commit etag digest max min num total input output prompt completion by by_pass""".split()
)
# A key opens something only if its name says what.
_KEYS = frozenset(
    b"""api access secret private signing sign signature encryption encrypt decrypt account master shared client auth
    storage service deploy webhook session app application admin license consumer subscription functions ssh hmac jwt
    cipher aes sas crypto project user server live prod host write read root rsa ingestion instrumentation integration
    sharedaccess openai anthropic stripe""".split()
)
_PASS_BEFORE = frozenset(
    b"db my user root admin pg mysql sql smtp mail ftp ssh redis mongo http proxy login account keystore".split()
)
_WHOLE_WORDS = {
    "password": re.compile(rb"(?i)pass(?:w(?:or)?d?|phrase|wrd|code)?|pwd"),
    "secret": re.compile(rb"(?i)secrets?|cred(?:ential)?s?"),
    "token": re.compile(rb"(?i)tokens?|_auth"),
    "api-key": re.compile(rb"(?i)keys?"),
}


@lru_cache(maxsize=4096)  # a text has few names, and says each of them often
def is_secret_name(name: bytes, at: int, kind: str) -> bool:
    """`at` is where in the name the word stands that drew the attention: its prefix and suffix decide."""
    word = _WHOLE_WORDS[kind].match(name, at)
    if word is None:
        return False
    before, after = _words(name[:at]), _words(name[word.end() :])
    if _ABOUT.intersection(after) or _OPEN.intersection(before[-2:]) or _goes_on(name, word.end()):
        return False
    if kind == "api-key":
        return _is_telling_key(before)
    return word[0].lower() != b"pass" or not before or _stands_alone(name, at) or before[-1] in _PASS_BEFORE


def _is_telling_key(before: list[bytes]) -> bool:
    return any(
        word in _KEYS or word.endswith((b"api", b"access", b"secret", b"account")) for word in before[-2:]
    )


def _goes_on(name: bytes, end: int) -> bool:
    """Is the word only the beginning of a longer one, as in `secretary` and `passenger`?"""
    rest = name[end : end + 1]
    return rest.islower() and not name[end - 1 : end].isupper()


def _stands_alone(name: bytes, at: int) -> bool:
    return not name[at - 1 : at].isalpha() or (name[at - 1 : at].islower() and name[at : at + 1].isupper())


def _words(name: bytes) -> list[bytes]:
    return [word.lower() for word in _WORD.findall(name)]

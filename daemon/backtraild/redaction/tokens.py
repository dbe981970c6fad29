"""Tokens that are known by their shape: a prefix that their issuer gives to them all, and a length."""

import re
from collections.abc import Iterable, Iterator

from backtraild.redaction.appearance import is_random, stands_for_something
from backtraild.redaction.findings import Finding

RANK = 1

# kind, the beginnings that are searched for, what follows them
_SHAPES: tuple[tuple[str, bytes, bytes], ...] = (
    ("aws-access-key", b"AKIA ASIA ABIA ACCA", rb"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("github-token", b"ghp_ gho_ ghu_ ghs_ ghr_", rb"[A-Za-z0-9_]{30,255}"),
    ("github-token", b"github_pat_", rb"[A-Za-z0-9_]{50,255}"),
    ("gitlab-token", b"glpat- gldt- glrt- glptt- glcbt- glft- glsoat- glagent-", rb"[A-Za-z0-9_\-.]{20,300}"),
    ("slack-token", b"xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-", rb"[A-Za-z0-9\-]{16,255}"),
    ("slack-token", b"xapp-", rb"[0-9]-[A-Z0-9]{8,14}-[0-9]{8,16}-[a-f0-9]{32,128}"),
    ("stripe-key", b"sk_live_ rk_live_ sk_test_ rk_test_", rb"[A-Za-z0-9]{16,255}"),
    ("stripe-key", b"whsec_", rb"[A-Za-z0-9+/]{24,128}={0,2}"),
    ("google-api-key", b"AIza", rb"[A-Za-z0-9_\-]{35}"),
    ("google-oauth", b"ya29.", rb"[A-Za-z0-9_\-.]{20,2048}"),
    ("google-oauth", b"GOCSPX-", rb"[A-Za-z0-9_\-]{20,64}"),
    ("anthropic-key", b"sk-ant-", rb"[A-Za-z0-9_\-]{20,255}"),
    ("openai-key", b"sk-proj- sk-svcacct- sk-admin-", rb"[A-Za-z0-9_\-]{20,255}"),
    ("openai-key", b"sk-", rb"[A-Za-z0-9]{20,255}"),
    ("openrouter-key", b"sk-or-v1-", rb"[a-f0-9]{64}"),
    ("npm-token", b"npm_", rb"[A-Za-z0-9]{36}"),
    ("pypi-token", b"pypi-", rb"[A-Za-z0-9_\-]{50,512}"),
    ("huggingface-token", b"hf_ api_org_", rb"[A-Za-z0-9]{30,64}"),
    ("twilio-key", b"SK", rb"[0-9a-f]{32}(?![0-9a-zA-Z])"),
    ("sendgrid-key", b"SG.", rb"[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{32,64}"),
    ("digitalocean-token", b"dop_v1_ doo_v1_ dor_v1_", rb"[a-f0-9]{64}"),
    ("telegram-token", b"AA", rb"(?<=[0-9]{8}:AA)[A-Za-z0-9_\-]{32,34}(?![A-Za-z0-9_\-])"),
    ("discord-token", b"M N O", rb"[A-Za-z0-9_\-]{23,25}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,38}"),
    ("jwt", b"eyJ", rb"[A-Za-z0-9_\-]{8,4096}\.eyJ[A-Za-z0-9_\-]{4,16384}(?:\.[A-Za-z0-9_\-]{0,2048})?"),
    ("shopify-token", b"shpat_ shpca_ shppa_ shpss_", rb"[a-fA-F0-9]{32}"),
    ("databricks-token", b"dapi", rb"[a-f0-9]{32}(?:-[0-9])?"),
    ("vault-token", b"hvs. hvb. hvr.", rb"[A-Za-z0-9_\-]{20,300}"),
    ("doppler-token", b"dp.pt. dp.st. dp.ct. dp.sa.", rb"[A-Za-z0-9_\-.]{32,80}"),
    ("docker-token", b"dckr_pat_ dckr_oat_", rb"[A-Za-z0-9_\-]{20,64}"),
    ("atlassian-token", b"ATATT3", rb"[A-Za-z0-9_\-=]{60,300}"),
    ("grafana-token", b"glsa_ glc_", rb"[A-Za-z0-9+/_]{32,400}={0,2}"),
    ("linear-key", b"lin_api_ lin_oauth_", rb"[A-Za-z0-9]{32,64}"),
    ("notion-token", b"ntn_ secret_", rb"[A-Za-z0-9]{43,50}(?![A-Za-z0-9])"),
    ("rubygems-key", b"rubygems_", rb"[a-f0-9]{48}"),
    ("groq-key", b"gsk_", rb"[A-Za-z0-9]{40,64}"),
    ("xai-key", b"xai-", rb"[A-Za-z0-9]{60,100}"),
    ("perplexity-key", b"pplx-", rb"[A-Za-z0-9]{40,64}"),
    ("replicate-token", b"r8_", rb"[A-Za-z0-9]{37,40}"),
    ("postman-key", b"PMAK-", rb"[a-f0-9]{24}-[a-f0-9]{34}"),
    ("newrelic-key", b"NRAK- NRAL-", rb"[A-Z0-9]{27}"),
    ("sentry-token", b"sntrys_ sntryu_", rb"[A-Za-z0-9+/=_\-]{40,400}"),
    ("supabase-token", b"sbp_ sb_secret_", rb"[A-Za-z0-9_]{30,64}"),
    ("figma-token", b"figd_", rb"[A-Za-z0-9_\-]{40,64}"),
    ("mailgun-key", b"key-", rb"[a-f0-9]{32}(?![0-9a-zA-Z])"),
    ("square-token", b"sq0atp- sq0csp- EAAA", rb"[A-Za-z0-9_\-]{22,60}(?![A-Za-z0-9_\-])"),
    ("age-key", b"AGE-SECRET-KEY-1", rb"[A-Z0-9]{58}"),
)
# These are short, or words of a language, or built like names in programs: the rest must be more than words.
_AMBIGUOUS = frozenset({"notion-token", "square-token", "discord-token"})
_NOT_WORDS = re.compile(rb"[0-9]|[a-z][A-Z]")

# A token may follow an escape of JSON (\n, \u003d), of a URL (%3D) or of a terminal (ESC [32m) without a gap.
# This is tested behind the first letter: an expression that begins with letters is searched much faster.
_BOUNDARY = (
    rb"(?:(?<![A-Za-z0-9].)|(?<=\\[nrtbf].)|(?<=\\u[0-9a-fA-F]{4}.)|(?<=%[0-9a-fA-F]{2}.)"
    rb"|(?<=\[m.)|(?<=[0-9]m.))"
)


def _any_of(words: Iterable[bytes]) -> bytes:
    """An expression for these words at a boundary, by first letter."""
    by_letter: dict[bytes, list[bytes]] = {}
    for word in sorted(words):
        by_letter.setdefault(word[:1], []).append(re.escape(word[1:]))
    return b"|".join(
        letter + _BOUNDARY + b"(?:" + b"|".join(rests) + b")" for letter, rests in by_letter.items()
    )


def _by_letter() -> dict[int, list[tuple[str, re.Pattern[bytes]]]]:
    shapes: dict[int, list[tuple[str, re.Pattern[bytes]]]] = {}
    for kind, beginnings, rest in _SHAPES:
        for word in beginnings.split():
            shapes.setdefault(word[0], []).append((kind, re.compile(re.escape(word) + rest)))
    return shapes


_BEGINNING = re.compile(_any_of(word for _, words, _ in _SHAPES for word in words.split()))
_WHOLE = _by_letter()
_AWS_SECRET = re.compile(rb"(?<![A-Za-z0-9+/=])(?:[A-Za-z0-9+]|\\{0,8}/){40}(?![A-Za-z0-9+/=])")
_NEAR_ACCESS_KEY = 160

# Every token has a run of this many letters, digits, _ and -; few lines of ordinary text have one.
_RUN = b"a" * 20
_TO_RUNS = bytes(97 if re.match(rb"[A-Za-z0-9_\-]", bytes([byte])) else 32 for byte in range(256))
# A beginning such as `SG.` may stand before the run.
_BEFORE_RUN = 6
# Names in snake_case are as long as tokens, but have no digits and no capitals.
_NOT_A_NAME = re.compile(rb"[0-9A-Z]")
# So much base64 without a gap is an image or an archive; what looks like a token in it does so by chance.
_IMAGE = re.compile(rb"[A-Za-z0-9+/]{4096,}+")


def find_tokens(raw: bytes) -> Iterator[Finding]:
    """Every token of a known shape."""
    runs = raw.translate(_TO_RUNS)
    start = runs.find(_RUN)
    while start >= 0:
        image = _IMAGE.match(raw, start)
        end = image.end() if image else runs.find(b" ", start)
        end = len(raw) if end < 0 else end
        if not image and _NOT_A_NAME.search(raw, start, end):
            yield from _tokens_in(raw, max(0, start - _BEFORE_RUN), end)
        start = runs.find(_RUN, end)


def _tokens_in(raw: bytes, start: int, end: int) -> Iterator[Finding]:
    while begun := _BEGINNING.search(raw, start, end):
        found = _token_at(raw, begun.start())
        if found is None:
            start = begun.start() + 1
            continue
        yield found
        if found.kind == "aws-access-key":
            yield from _aws_secret_after(raw, found.end)
        start = found.end


def _token_at(raw: bytes, start: int) -> Finding | None:
    for kind, shape in _WHOLE[raw[start]]:
        match = shape.match(raw, start)
        if match and not _is_harmless(kind, match[0]):
            return Finding(match.start(), match.end(), RANK, kind)
    return None


def _is_harmless(kind: str, token: bytes) -> bool:
    if kind in _AMBIGUOUS:
        return not is_random(token, 16)
    return stands_for_something(token) or not (token.isupper() or _NOT_WORDS.search(token))


def _aws_secret_after(raw: bytes, start: int) -> Iterator[Finding]:
    """The secret half has no beginning of its own, but usually comes right after the public half."""
    match = _AWS_SECRET.search(raw, start, start + _NEAR_ACCESS_KEY)
    if match and is_random(match[0], 40):
        yield Finding(match.start(), match.end(), RANK, "aws-secret-key")

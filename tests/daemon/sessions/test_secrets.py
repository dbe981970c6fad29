"""Secrets are in no git object, no table and no answer."""

from typing import Any

from backtraild.sessions import ToolCall
from support.conversing import Desk, all_objects, said

# Made from parts, so that no scanner takes this file for a leak.
TOKEN = "gh" + "p_" + "Zx9" * 12
PASSWORD = "hun" + "ter2-" + "Vq8Lw3Nz"
LINK = f"postgres://app:{PASSWORD}@db.internal/x"
KEY = "-----BEGIN RSA " + "PRIVATE KEY-----\n" + "MIIEow" * 20 + "\n-----END RSA " + "PRIVATE KEY-----"


def everything_kept(desk: Desk) -> bytes:
    """All that lies on the disk, objects inflated."""
    desk.database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    files = [path.read_bytes() for path in desk.folder.rglob("*") if path.is_file()]
    return all_objects(desk.git_dir) + b"".join(files)


def leak(desk: Desk) -> None:
    """Secrets in every text that a session can be told."""
    metadata: dict[str, Any] = {"env": {"list": [f"export T={TOKEN}"]}, "url": LINK}
    desk.sessions.start(
        "s", agent=f"a {TOKEN}", title=f"use {TOKEN}", phase=f"p {TOKEN}", metadata=metadata, forked_at=TOKEN
    )
    desk.sessions.update("s", title=LINK, phase=LINK, metadata=metadata)
    desk.sessions.begin_turn("s", role=f"r {TOKEN}", prompt=f"key:\n{KEY}\nand {LINK}", metadata=metadata)
    desk.sessions.tool_used("s", 1, ToolCall(f"n {TOKEN}", TOKEN, {"command": f"psql {LINK}"}))
    desk.sessions.tool_used("s", 1, ToolCall("bash", "2", "x" * 485 + " " + TOKEN))
    desk.sessions.end_turn("s", 1, metadata=metadata, tools=[ToolCall("curl", "3", [f"-H {TOKEN}"])])
    desk.sessions.record_conversation("s", said(f"here: {TOKEN}", LINK, KEY), turn=1, metadata=metadata)
    desk.sessions.add_moment("s", f"k {TOKEN}", metadata)
    desk.sessions.end("s", f"because of {TOKEN}")


def test_no_secret_reaches_the_disk(desk: Desk) -> None:
    """Whatever an agent was told, its history can be shown to others."""
    leak(desk)
    kept = everything_kept(desk)
    assert b"[REDACTED:" in kept
    for secret in (TOKEN, PASSWORD, "MIIEow" * 3, TOKEN[:12]):
        assert secret.encode() not in kept, secret


def test_no_secret_is_in_an_answer_and_they_are_counted(desk: Desk) -> None:
    """The one who asks sees that something was taken out, and of which kind."""
    leak(desk)
    answers = repr(desk.picture()) + repr(desk.sessions.search("redacted", limit=100))
    for secret in (TOKEN, PASSWORD, "MIIEow" * 3):
        assert secret not in answers
    session, turn, snapshot = desk.sessions.get("s"), desk.sessions.turn("s", 1), desk.sessions.snapshot("s")
    assert sum(turn.redacted.values()) >= 6
    assert sum(session.redacted.values()) > sum(turn.redacted.values())
    assert sum(snapshot.redacted.values()) == 3


def test_what_is_no_secret_stays_as_it_is(desk: Desk) -> None:
    """Redaction that eats prompts would be worse than none."""
    prompt = "Rename parse() to read(), see commit 3f2a9c1; then run `make test` \N{SNOWMAN}\n"
    metadata = {"tokens": 12, "cost": 0.25, "nested": {"list": [True, None, "text"]}}
    turn = desk.sessions.begin_turn("s", prompt=prompt, metadata=metadata)
    assert (turn.prompt, turn.metadata, turn.redacted) == (prompt, metadata, {})
    assert desk.sessions.turn("s", 1) == turn


def test_a_long_prompt_is_cut_after_its_secrets_are_gone(desk: Desk) -> None:
    """Half of a secret at the border is a secret still."""
    limit = 1024 * 1024
    prompt = "word " * (limit // 5 - 1) + TOKEN + " the end"
    turn = desk.sessions.begin_turn("s", prompt=prompt)
    assert turn.prompt_cut
    assert len(turn.prompt) <= limit
    assert TOKEN[:8] not in turn.prompt
    assert TOKEN[:8].encode() not in all_objects(desk.git_dir)


def test_half_characters_cost_no_prompt(desk: Desk) -> None:
    """A shell may hand over anything."""
    assert desk.sessions.begin_turn("s", prompt="caf\udce9 \ud800").prompt == "caf? ?"

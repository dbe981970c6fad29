"""Conversations that were recorded bit by bit take fewer chunks after a while, and nobody notices."""

import random

import pytest

from backtraild import timers
from backtraild.sessions import session_key
from backtraild.transcripts import Messages, Transcripts
from support.git import git
from support.serving import Site
from support.watching import eventually

APPENDS = 12
BYTES = 17 * 1024  # longer than what the next append would write again


def said(number: int) -> str:
    """A long message, the same each time."""
    return f"{number} " + random.Random(number).randbytes(BYTES // 2).hex()


def record(site: Site, session: str, appends: int = APPENDS) -> None:
    """A conversation that grows by one message at a time."""
    for count in range(1, appends + 1):
        site.desk.service.attach(site.id, session, Messages([said(number) for number in range(count)]))


def chunks(site: Site, session: str) -> int:
    """In how many pieces a conversation lies in the store, told by git."""
    listed = git("ls-tree", "-r", f"refs/transcripts/{session_key(session)}", git_dir=site.git_dir)
    return len([line for line in listed.splitlines() if not line.endswith(b"/about")])


def due_soon(monkeypatch: pytest.MonkeyPatch, site: Site, every: float) -> None:
    """From now on, the worker sees to it almost at once, and then again and again."""
    monkeypatch.setattr(timers, "FIRST_COMPACT_SECONDS", 0.01)
    monkeypatch.setattr(timers, "BUSY_SECONDS", 0.01)
    monkeypatch.setattr(timers, "COMPACT_SECONDS", every)
    site.desk.restart()


def test_many_small_appends_become_few_chunks_and_nothing_else_changes(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    """A year of short turns must not make a conversation slow to read, nor change a word of it."""
    service = site.desk.service
    record(site, "one")
    record(site, "two")
    before = [service.session(site.id, name).snapshots for name in ("one", "two")]
    assert (chunks(site, "one"), chunks(site, "two")) == (APPENDS, APPENDS)
    due_soon(monkeypatch, site, every=3600.0)
    eventually(lambda: max(chunks(site, "one"), chunks(site, "two")) < APPENDS // 2)
    service = site.desk.service
    assert [service.session(site.id, name).snapshots for name in ("one", "two")] == before
    for snapshot in before[0]:
        page = service.conversation(site.id, "one", snapshot=snapshot.number)
        assert len(page.lines) == snapshot.message_count
        assert page.lines[-1].decode() == f'"{said(snapshot.message_count - 1)}"'
    last = service.attach(site.id, "one", Messages([said(number) for number in range(APPENDS + 1)]))
    assert (last.generation, last.message_count) == (1, APPENDS + 1)


def test_a_conversation_is_looked_at_again_only_once_it_has_changed(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    """An idle machine shall stay idle, and what comes later has its turn all the same."""
    looked: list[str] = []
    compact = Transcripts.compact

    def counted(self: Transcripts, key: str) -> list[int]:
        looked.append(key)
        return compact(self, key)

    monkeypatch.setattr(Transcripts, "compact", counted)
    record(site, "one", 1)
    due_soon(monkeypatch, site, every=0.01)
    eventually(lambda: looked)
    record(site, "two")
    eventually(lambda: chunks(site, "two") < APPENDS)
    assert looked.count(session_key("one")) == 1

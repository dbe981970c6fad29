"""Sessions and conversations that no honest program wrote: damage or an answer with an end, and the others go on."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import msgspec

from backtrail.errors import BacktrailError
from backtraild.conversing import Talk
from backtraild.model import Intent, Kind
from backtraild.sessions.model import session_key
from backtraild.timeline import TimelineQuery
from backtraild.transcripts import Messages
from backtraild.workspace import Rewind, Scope
from support.agents import Agent
from support.forging import FILE_MODE, TREE_MODE, Forger, Row
from support.serving import Site, desk
from torture.campaign import Campaign, Counts, Finished, Round

EVIL, HONEST = "evil", "honest"
FAR = 10**12
BEYOND = 10**30
CROWD = 3000
TIME = "2026-11-16T08:00:00Z"
# Of all questions about one forgery together; walking through any of them would take far longer.
SECONDS = 20.0

Files = dict[str, bytes]
Forge = Callable[[Forger], None]


def _session(**facts: Any) -> bytes:
    known = {
        "id": EVIL,
        "created": TIME,
        "updated": TIME,
        "turn_count": 1,
        "snapshot_count": 1,
        "snapshot": 1,
    }
    return json.dumps({**known, **facts}).encode()


def _turn(**facts: Any) -> bytes:
    known = {
        "ordinal": 1,
        "number": 1,
        "started": TIME,
        "ended": TIME,
        "before": 1,
        "after": 1,
        "snapshot": 1,
    }
    return json.dumps({**known, "prompt": "forged", **facts}).encode()


def _snapshot(**facts: Any) -> bytes:
    known = {"number": 1, "generation": 1, "message_count": 2, "type": "auto", "bytes": 4, "created": TIME}
    return json.dumps({**known, "content_hash": "0" * 64, **facts}).encode()


def _about(**facts: Any) -> bytes:
    known = {"format": 1, "messages": 2, "bytes": 4, "hash": "0" * 64, "redacted": {}, "malformed": 0}
    return json.dumps({**known, **facts}).encode()


def _records(**others: bytes) -> Files:
    """A session with a turn and a snapshot; `others` by their first names take their place."""
    known = {"session": _session(), "turn": _turn(), "snapshot": _snapshot(), **others}
    return {
        "session": known["session"],
        "turns/0000/01": known["turn"],
        "snapshots/0000/01": known["snapshot"],
    }


def _told(records: Files, talk: Files | None = None) -> Forge:
    """A session of these records, and a conversation of these files."""
    said = {"000001/about": _about(), "000001/000000000/000000000": b"1\n2\n"} if talk is None else talk

    def forge(forger: Forger) -> None:
        forger.named(f"refs/sessions/{session_key(EVIL)}", forger.folders(records))
        forger.named(f"refs/transcripts/{session_key(EVIL)}", forger.folders(said))

    return forge


def _trees(session: Callable[[Forger], bytes], talk: Callable[[Forger], bytes]) -> Forge:
    def forge(forger: Forger) -> None:
        forger.named(f"refs/sessions/{session_key(EVIL)}", session(forger))
        forger.named(f"refs/transcripts/{session_key(EVIL)}", talk(forger))

    return forge


def _blobs(forger: Forger) -> None:
    """Refs that lead to contents, and not to commits."""
    for kind in ("sessions", "transcripts"):
        forger.ref(f"refs/{kind}/{session_key(EVIL)}", forger.blob().hex())


def _crowded_turns(forger: Forger) -> bytes:
    """As many folders as one has turns, all of them the same one: millions of records in three objects."""
    turn = forger.blob(_turn())
    inner = forger.tree(*((FILE_MODE, b"%04x" % number, turn) for number in range(CROWD)))
    turns = forger.tree(*((TREE_MODE, b"%04x" % number, inner) for number in range(CROWD)))
    facts = forger.blob(_session(turn_count=CROWD**2))
    return forger.tree((FILE_MODE, b"session", facts), (TREE_MODE, b"turns", turns))


def _crowded_talk(forger: Forger) -> bytes:
    about: Row = (FILE_MODE, b"about", forger.blob(_about(messages=FAR, bytes=FAR)))
    chunk = forger.blob(b"x\n")
    inner = forger.tree(*((FILE_MODE, b"%09d" % number, chunk) for number in range(CROWD)))
    folders: list[Row] = [(TREE_MODE, b"%09d" % number, inner) for number in range(CROWD)]
    return forger.tree((TREE_MODE, b"000001", forger.tree(*folders, about)))


def _talk(name: str, content: bytes = b"1\n2\n", **about: Any) -> Forge:
    return _told(_records(), {"000001/about": _about(**about), f"000001/{name}": content})


FORGERIES: dict[str, Forge] = {
    "contents in the place of commits": _blobs,
    "nothing in them": _told({}, {}),
    "another session's id": _told(_records(session=_session(id=HONEST))),
    "an id that climbs": _told(_records(session=_session(id="../../../outside"))),
    "an id of control characters": _told(_records(session=_session(id="\x1b[2J\x07\n"))),
    "an id without end": _told(_records(session=_session(id="x" * 1_000_000))),
    "facts that are a list": _told(_records(session=b"[]")),
    "facts of wrong types": _told(_records(session=_session(turn_count="many", metadata=[]))),
    "facts nested without end": _told(_records(session=b'{"id":' + b"[" * 1_000_000)),
    "facts of a newer version": _told(_records(session=_session(format=99))),
    "a time without a zone": _told(_records(session=_session(updated="2026-11-16T08:00:00"))),
    "a turn's time without a zone": _told(_records(turn=_turn(started="2026-11-16T08:00:00"))),
    "a snapshot's time without a zone": _told(_records(snapshot=_snapshot(created="2026-11-16T08:00:00"))),
    "a time at the end of time": _told(_records(session=_session(updated="9999-12-31T23:59:59Z"))),
    "counts beyond all numbers": _told(_records(session=_session(turn_count=BEYOND, last_number=BEYOND))),
    "counts below nothing": _told(_records(session=_session(turn_count=-5, snapshot_count=-5, open_turn=-1))),
    "counts at the highest number": _told(
        _records(session=_session(turn_count=2**63 - 1, last_number=2**63 - 1))
    ),
    "an open turn that is not there": _told(_records(session=_session(open_turn=7))),
    "a turn beyond all numbers": _told(_records(turn=_turn(number=BEYOND))),
    "an ordinal beyond all numbers": _told(_records(turn=_turn(ordinal=BEYOND))),
    "an ordinal below nothing": _told(_records(turn=_turn(ordinal=-1))),
    "a turn in another's place": _told(_records(turn=_turn(ordinal=77))),
    "checkpoints that never were": _told(_records(turn=_turn(before=FAR, after=FAR + 1))),
    "checkpoints below nothing": _told(_records(turn=_turn(before=-1, after=-2))),
    "a snapshot beyond all numbers": _told(_records(snapshot=_snapshot(generation=BEYOND))),
    "a snapshot of messages below nothing": _told(_records(snapshot=_snapshot(message_count=-3))),
    "a snapshot of a million million messages": _told(_records(snapshot=_snapshot(message_count=FAR))),
    "metadata beyond all numbers": _told(_records(session=_session(metadata={"n": BEYOND, "f": 1e308}))),
    "turns under wrong names": _told(
        {"session": _session(), "turns/x": _turn(), "turns/0000/zz": _turn(), "turns/../1": _turn()}
    ),
    "turns that are a file": _told({"session": _session(), "turns": _turn(), "snapshots": b""}),
    "millions of turns in a few objects": _trees(_crowded_turns, lambda forger: forger.folders({})),
    "a million million records": _trees(
        lambda forger: forger.tree(
            (FILE_MODE, b"session", forger.blob(_session())), (TREE_MODE, b"turns", forger.doubled(40))
        ),
        lambda forger: forger.doubled(40),
    ),
    "a million million messages": _told(
        _records(snapshot=_snapshot(message_count=FAR)), {"000001/about": _about(messages=FAR)}
    ),
    "messages in a crowd of chunks": _trees(lambda forger: forger.folders(_records()), _crowded_talk),
    "messages below nothing": _talk("000000000/000000000", messages=-1),
    "messages beyond all numbers": _talk("000000000/000000000", messages=BEYOND, bytes=BEYOND),
    "chunks that begin later": _talk("000000001/000000001"),
    "chunks that overlap": _told(
        _records(),
        {
            "000001/about": _about(),
            "000001/000000000/000000000": b"1\n2\n",
            "000001/000000000/000000001": b"2\n",
            "000001/000000001/000000000": b"1\n",
        },
    ),
    "a chunk's number without end": _talk("000000000/" + "9" * 5000),
    "a folder's number without end": _talk("9" * 5000 + "/000000000"),
    "generations that are no numbers": _told(_records(), {"-1/about": _about(), "1_0/about": _about()}),
    "a generation beyond all numbers": _told(_records(), {"9" * 30 + "/about": _about()}),
    "one long line": _talk("000000000/000000000", b"x" * 100_000_000 + b"\n", messages=1, bytes=100_000_001),
}


def question_a_hostile_session(attempt: Round) -> Counts:
    """One session of the table in a store, and everything that can be asked about sessions asked of it."""
    if attempt.number >= len(FORGERIES):
        raise Finished
    title = sorted(FORGERIES)[attempt.number]
    (attempt.folder / "outside").mkdir()
    with desk(attempt.folder, auto_checkpoint=False) as at:
        site = at.watch()
        Agent(site, HONEST).turn("one", {"kept": "first"})
        before = _honest(site)
        FORGERIES[title](Forger(site.git_dir))
        begun = process_time()
        at.restart()
        refused = sum(_refuses(call) for call in _questions(site, attempt.folder))
        spent = process_time() - begun
        assert spent < SECONDS, f"{title} kept the daemon busy for {spent:.0f} s"
        assert _honest(site) == before, f"{title}: another session is not what it was"
        at.service.delete_session(site.id, HONEST)
        assert not list((attempt.folder / "outside").iterdir()), title
    return {"sessions": 1, "refusals": refused}


def _honest(site: Site) -> object:
    service = site.desk.service
    said = service.conversation(site.id, HONEST)
    found = [hit for hit in service.search(site.id, "one").hits if hit.session == HONEST]
    return service.session(site.id, HONEST), said.lines, len(found)


def _questions(site: Site, folder: Path) -> Iterator[Callable[[], object]]:
    """All that is asked about a session; what is answered must also fit on the wire."""
    service, name = site.desk.service, site.id
    yield lambda: service.sessions(name)
    yield lambda: service.session(name, EVIL)
    yield lambda: service.conversation(name, EVIL)
    yield lambda: service.conversation(name, EVIL, start=-1)
    yield lambda: service.search(name, "forged")
    yield lambda: service.search(name, "forged", EVIL)
    yield lambda: service.timeline(name, TimelineQuery(session=EVIL))
    yield lambda: service.rewind(name, Rewind(EVIL, 1, False, Scope.BOTH, False), confirm=False)
    yield lambda: service.resume(name, EVIL)
    yield lambda: service.fork(name, str(folder / "fork"), session=EVIL).forked_from
    yield lambda: service.verify(name).problems
    yield lambda: service.ask(name, lambda keeper: keeper.workspace.compaction.one())
    talk = Talk(conversation=Messages([{"role": "user", "content": "after"}]))
    intent = Intent(Kind.AGENT, session=EVIL)
    yield lambda: service.save(name, intent, talk=talk, allow_empty=True)
    yield lambda: service.delete_session(name, EVIL)


def _refuses(call: Callable[[], object]) -> bool:
    try:
        msgspec.json.encode(call())
    except BacktrailError:
        return True
    return False


CAMPAIGNS = (
    Campaign(
        "hostile-sessions",
        "R4",
        "A session that no honest program wrote is damage or bounded, and leaves the others alone.",
        1000,
        question_a_hostile_session,
    ),
)

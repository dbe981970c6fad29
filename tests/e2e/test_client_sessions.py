"""Conversations and history as a Python program uses them, blocking and with await."""

import asyncio
import inspect
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from backtrail import (
    AsyncClient,
    AsyncSession,
    AsyncWorkspace,
    CheckpointConfig,
    CheckpointService,
    Client,
    PlanChanged,
    Session,
    UnknownSession,
    UnknownTurn,
    UsageError,
    Workspace,
)
from support.clients import home_in
from support.git import git

_CALM = CheckpointConfig(auto_checkpoint=False)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """One daemon for all tests of this module."""
    with home_in(tmp_path_factory.mktemp("sessions")) as found:
        yield found


@pytest.fixture
def root(tmp_path):
    """A folder with one file."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("zero\n")
    return tmp_path / "work"


@pytest.fixture
def ws(home, root):
    with Client(home=home) as client:
        found = client.watch(root, _CALM)
        yield found
        found.unwatch(purge=True)


def _said(turn: int) -> list[Any]:
    return [{"role": "user", "content": f"turn {number}"} for number in range(1, turn + 1)]


def _turn(session: Session, number: int) -> int:
    """One exchange; the number of the checkpoint after it."""
    session.start_turn(f"make it {number}")
    (Path(session.workspace.root) / "a.txt").write_text(f"{number}\n")
    return session.save(f"turn {number}", turn=number, conversation=_said(number)).number


def test_a_program_records_a_conversation_and_goes_back_in_it(ws):
    """The story of an agent that edits an earlier message, in Python."""
    session = ws.session("s", agent="codex", title="Numbers", metadata={"model": "x"})
    for number in (1, 2, 3):
        _turn(session, number)
    shown = session.show()
    assert (shown.agent, shown.title, shown.metadata) == ("codex", "Numbers", {"model": "x"})
    assert [(turn.turn, turn.prompt, turn.messages) for turn in shown.turns] == [
        (number, f"make it {number}", number) for number in (1, 2, 3)
    ]
    assert ws.get("@").kind == "agent"
    assert list(session.conversation()) == _said(3)
    assert list(session.conversation(2)) == _said(2)
    plan = session.rewind(before_turn=2)
    assert plan.requires_confirmation
    assert plan.prompt == "make it 2"
    done = session.rewind(before_turn=2, confirm=True, plan=plan.plan)
    assert done.conversation == _said(1)
    assert (Path(ws.root) / "a.txt").read_text() == "1\n"
    assert session.start_turn("another way").turn == 2
    ws.undo()


def test_a_session_is_begun_only_if_something_is_said_about_it(ws):
    """A mistyped id must not become a session."""
    with pytest.raises(UnknownSession):
        ws.session("mistyped").show()
    session = ws.session("s")
    assert session.start(phase="plan").phase == "plan"
    assert session.update(phase="build", status="idle").status == "idle"
    session.start_turn("do it")
    moment = datetime(2026, 11, 16, 8, tzinfo=UTC)
    used = session.tool_used("bash", id="t", input={"command": "ls"}, started=moment)
    assert used.tools[0].started == moment
    assert session.tool_used("bash", id="t", ended=moment + timedelta(seconds=1)).tools[0].ended is not None
    assert session.end("done").status == "ended"
    assert [each.session for each in ws.sessions(status="ended").sessions] == ["s"]
    with pytest.raises(UnknownTurn):
        session.rewind(to_turn=9)
    with pytest.raises(UsageError):
        session.rewind()
    assert session.delete().session == "s"
    assert ws.sessions().sessions == []


def test_a_conversation_is_read_on_over_its_pages(ws):
    """A page holds a thousand messages; who iterates does not see that."""
    session = ws.session("s")
    session.attach(range(2500))
    assert list(session.conversation()) == list(range(2500))
    reading = session.conversation()
    begun = [next(reading) for _ in range(10)]
    session.attach(["compacted"])
    assert begun + list(reading) == list(range(2500))
    assert list(session.conversation()) == ["compacted"]


def test_a_transcript_is_given_by_its_path_however_long_it_is(ws, tmp_path):
    """What does not fit into a request is read by the daemon itself."""
    lines = [json.dumps({"content": "x" * 1_000_000, "number": number}) for number in range(10)]
    transcript = tmp_path / "talk.jsonl"
    transcript.write_text("\n".join(lines) + "\n")
    saved = ws.save("with a transcript", session="s", turn=1, conversation=transcript, prompt="long")
    assert saved.conversation_error is None
    assert [each["number"] for each in ws.session("s").conversation()] == list(range(10))
    with pytest.raises(UsageError, match="bytes") as caught:
        ws.save("too long", session="s", turn=2, conversation=transcript.read_text())
    assert "path" in caught.value.hint
    with pytest.raises(UsageError):
        ws.save("whose?", conversation=["no session"])


def test_a_conversation_that_fails_is_attached_later(ws, tmp_path):
    """The checkpoint is there, and says what is missing."""
    saved = ws.save(session="s", turn=1, conversation=tmp_path / "missing.jsonl", tools=["bash"])
    assert "missing.jsonl" in (saved.conversation_error or "")
    snapshot = ws.session("s").attach('"late"\n', turn=1, checkpoint=saved)
    assert (snapshot.checkpoint, snapshot.message_count) == (saved.number, 1)


def test_a_plan_that_changed_meanwhile_is_an_error_of_its_own(ws):
    """A program asks its user once more then."""
    session = ws.session("s")
    _turn(session, 1)
    _turn(session, 2)
    plan = session.rewind(to_turn=1, scope="files")
    (Path(ws.root) / "b.txt").write_text("new\n")
    ws.save()
    with pytest.raises(PlanChanged):
        session.rewind(to_turn=1, scope="files", confirm=True, plan=plan.plan)


def test_the_past_is_looked_into(ws):
    """Timeline, log, blame and search."""
    session = ws.session("s", title="Numbers", phase="build")
    numbers = [_turn(session, number) for number in (1, 2)]
    before = datetime.now(UTC) - timedelta(hours=1)
    events = ws.timeline(since=before, session="s").events
    assert {each.subtype for each in events} >= {"session_started", "turn_started", "turn_ended"}
    assert ws.timeline(until=before).events == []
    files = ws.timeline(type="file", path=Path(ws.root) / "a.txt").events
    assert [each.checkpoint for each in files][-2:] == numbers
    versions = ws.log(Path(ws.root) / "a.txt", limit=2).versions
    assert [(each.checkpoint, each.prompt) for each in versions] == [
        (numbers[1], "make it 2"),
        (numbers[0], "make it 1"),
    ]
    (line,) = ws.blame("a.txt").lines
    assert (line.text, line.checkpoint, line.session, line.turn) == ("2", numbers[1], "s", 2)
    assert ws.blame("a.txt", numbers[0]).lines[0].text == "1"
    assert {each.found for each in ws.search("make").hits} == {"prompt"}


def test_a_fork_and_a_branch_lead_away(ws, tmp_path):
    """Other ways to go on, without giving up this one."""
    session = ws.session("s")
    _turn(session, 1)
    last = _turn(session, 2)
    fork = session.fork(tmp_path / "fork", at_turn=1, new_session="s2")
    assert (tmp_path / "fork" / "a.txt").read_text() == "1\n"
    other = ws.client.workspace(fork.workspace)
    assert list(other.session("s2").conversation()) == _said(1)
    plain = ws.fork(tmp_path / "plain", 1)
    assert (tmp_path / "plain" / "a.txt").read_text() == "zero\n"
    git("init", "-q", cwd=ws.root)
    assert git("show", f"{ws.branch(last, 'kept').commit}:a.txt", cwd=ws.root) == b"2\n"
    for each in (fork, plain):
        ws.client.workspace(each.workspace).unwatch(purge=True)


def test_an_interrupted_session_is_resumed(ws):
    """Everything the next process needs is in one answer."""
    session = ws.session("s")
    first = _turn(session, 1)
    session.start_turn("make it 2")
    found = session.resume()
    assert found.interrupted
    assert found.conversation == _said(1)
    assert session.resume(first).checkpoint.number == first


def test_an_export_holds_everything_that_was_ever_said(ws, tmp_path):
    """Also what was rewound or compacted away."""
    session = ws.session("s", title="Numbers")
    _turn(session, 1)
    session.attach(["all", "new"])
    session.export(tmp_path / "s.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["session", "turn", "snapshot", "snapshot", *["message"] * 3]
    assert (lines[0]["title"], lines[1]["prompt"]) == ("Numbers", "make it 1")
    messages = [(line["generation"], line["index"], line["message"]) for line in lines[4:]]
    assert messages == [(1, 0, _said(1)[0]), (2, 0, "all"), (2, 1, "new")]
    assert (tmp_path / "s.jsonl").stat().st_mode & 0o777 == 0o600
    held = io.BytesIO()
    session.export(held)
    assert held.getvalue() == (tmp_path / "s.jsonl").read_bytes()


def test_the_small_service_knows_conversations_too(home, root):
    """`save` binds files and conversation in one step; `restore` takes both back."""
    with Client(home=home) as client, CheckpointService(root, config=_CALM, client=client) as service:
        first = service.save("first", conversation=_said(1), session="s", turn=1)
        assert first.conversation is not None
        (root / "a.txt").write_text("changed\n")
        service.save("second", conversation=_said(2), session="s", turn=2)
        service.restore(first.id, scope="both")
        assert (root / "a.txt").read_text() == "zero\n"
        assert list(client.workspace(root).session("s").conversation()) == _said(1)
        client.workspace(root).unwatch(purge=True)


def test_everything_works_with_await(home, root, tmp_path):
    """Whoever knows one client knows the other."""

    async def use() -> None:
        async with AsyncClient(home=home) as client:
            ws = await client.watch(root, _CALM)
            session = await ws.session("s", agent="codex")
            turn = await session.start_turn("make it 1")
            assert (await session.tool_used("bash")).tools[0].name == "bash"
            (root / "a.txt").write_text("1\n")
            saved = await session.save(turn=turn.turn, conversation=_said(1))
            assert [each async for each in session.conversation()] == _said(1)
            assert (await session.attach(range(1200))).message_count == 1200
            assert [each async for each in session.conversation()] == list(range(1200))
            assert (await session.show()).turns[0].after == saved.number
            assert (await session.update(title="T")).title == "T"
            await session.export(tmp_path / "s.jsonl")
            assert len((tmp_path / "s.jsonl").read_text().splitlines()) == 4 + 1201
            second = await session.fork(tmp_path / "second")
            await (await client.workspace(second.workspace)).unwatch(purge=True)
            plan = await session.rewind(before_turn=1)
            assert (await session.rewind(before_turn=1, confirm=True, plan=plan.plan)).written == ["a.txt"]
            assert (await session.resume()).session.session == "s"
            assert (await session.end()).status == "ended"
            assert (await ws.sessions()).sessions[0].agent == "codex"
            assert (await ws.timeline(type="phase")).events == []
            assert (await ws.log("a.txt")).versions
            assert len((await ws.blame("a.txt")).lines) == 1
            assert (await ws.search("nothing")).hits == []
            git("init", "-q", cwd=root)
            assert (await ws.branch(saved, "kept")).checkpoint == saved.number
            fork = await ws.fork(tmp_path / "fork", saved)
            assert (tmp_path / "fork" / "a.txt").read_text() == "1\n"
            await (await client.workspace(fork.workspace)).unwatch(purge=True)
            assert (await session.delete()).session == "s"
            await ws.unwatch(purge=True)

    asyncio.run(use())


@pytest.mark.parametrize(("blocking", "awaited"), [(Session, AsyncSession), (Workspace, AsyncWorkspace)])
def test_both_kinds_have_the_same_methods_with_the_same_parameters(blocking: type, awaited: type):
    """A method that only one of them has would be missed by half of the programs."""

    def methods(kind: type) -> dict[str, list[tuple[str, object]]]:
        found = {name: each for name, each in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}
        parameters = {name: inspect.signature(each).parameters for name, each in found.items()}
        return {name: [(each.name, each.default) for each in of.values()] for name, of in parameters.items()}

    assert methods(blocking) == methods(awaited)


def test_a_session_follows_a_second_folder(ws, tmp_path):
    """An agent that works in a worktree as well tells of each turn once, and goes back in both."""
    (tmp_path / "tree").mkdir()
    tree = ws.client.watch(tmp_path / "tree", _CALM)
    session = ws.session("s", follows=[tmp_path / "tree"])
    assert session.show().follows == [tree.id]
    for number in (1, 2):
        (tmp_path / "tree" / "b.txt").write_text(f"{number}\n")
        _turn(session, number)
    done = session.rewind(to_turn=1, confirm=True)
    assert [(one.workspace, one.written) for one in done.also] == [(tree.id, ["b.txt"])]
    assert (tmp_path / "tree" / "b.txt").read_text() == "1\n"
    tree.unwatch(purge=True)

"""`AsyncClient`: the same promises, for many tasks on one connection."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from backtrail import AsyncClient, CheckpointConfig, DaemonSilent, DaemonUnreachable, UnknownCheckpoint
from backtrail.protocol import PING, Ping
from support.clients import home_in
from support.git import git
from support.lossy import Lossy

_CALM = CheckpointConfig(auto_checkpoint=False)


@pytest.fixture
def home(tmp_path):
    """No daemon outlives the test."""
    with home_in(tmp_path) as found:
        yield found


@pytest.fixture
def root(tmp_path):
    """A folder with one file."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("one\n")
    return tmp_path / "work"


def test_a_workspace_has_the_same_methods_with_await(home, root):
    """Whoever knows one client knows the other."""

    async def use():
        async with AsyncClient(home=home) as client:
            told = []
            ws = await client.watch(root, _CALM, on_progress=told.append)
            (root / "a.txt").write_text("two\n")
            saved = await ws.save("second", metadata={"key": 1})
            assert (await ws.get("@")).id == saved.id
            assert [each.message for each in await ws.list()] == ["second", "Baseline"]
            assert await ws.read(1, "a.txt") == b"one\n"
            assert (await ws.diff(1, saved)).modified_files == ["a.txt"]
            assert (await ws.restore(1)).written == ["a.txt"]
            assert (await ws.undo()).written == ["a.txt"]
            assert (await ws.pin(saved)).pinned
            assert not (await ws.unpin(saved)).pinned
            assert [each.id for each in await ws.delete(saved)] == [saved.id]
            assert (await ws.prune(dry_run=True)).dry_run
            assert (await ws.verify()).damage == []
            git("init", "-q", "--bare", root.parent / "mirror.git")
            assert (await ws.mirror(root.parent / "mirror.git")).remote == f"{root.parent}/mirror.git"
            assert (await ws.pause()).state == "paused"
            assert (await ws.resume_watching()).state == "watching"
            assert (await client.workspace(root / "a.txt")).id == (await ws.status()).workspace == ws.id
            assert [each.workspace for each in await client.workspaces()] == [ws.id]
            with pytest.raises(UnknownCheckpoint):
                await ws.get(999)
            assert (await ws.unwatch(purge=True)).store is None

    asyncio.run(use())


def test_many_tasks_get_their_own_answers_on_one_connection(home, root):
    """Answers come in any order and find their request by its id."""

    async def use():
        async with AsyncClient(home=home) as client:
            ws = await client.watch(root, _CALM)
            saves = [ws.save(f"number {number}") for number in range(30)]
            saved, pongs = await asyncio.gather(
                asyncio.gather(*saves), asyncio.gather(*[client.ping() for _ in range(100)])
            )
            assert [each.message for each in saved] == [f"number {number}" for number in range(30)]
            assert {pong.pid for pong in pongs} == {home.pid()}

    asyncio.run(use())


def test_cancelling_an_await_leaves_the_client_usable(home, root):
    """Timeouts and task groups cancel all the time."""

    async def use():
        async with AsyncClient(home=home) as client:
            ws = await client.watch(root, _CALM)
            with home.frozen():
                task = asyncio.create_task(ws.save("cancelled"))
                other = asyncio.create_task(ws.save("not cancelled"))
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(task, 0.1)
            assert (await other).message == "not cancelled"
            assert (await ws.save("after")).message == "after"

    asyncio.run(use())


def test_the_deadline_and_a_missing_daemon_are_told_as_by_the_blocking_client(home, root):
    """The rules are the same code."""

    async def use():
        async with AsyncClient(home=home, autostart=False) as client:
            with pytest.raises(DaemonUnreachable, match="No daemon is running"):
                await client.ping()
        async with AsyncClient(home=home) as client:
            await client.ping()
            with home.frozen(), pytest.raises(DaemonSilent, match=r"within 0\.2 s"):
                await client.call(PING, Ping(), timeout=0.2)
            assert (await client.ping()).pid == home.pid()

    asyncio.run(use())


def test_a_killed_daemon_is_started_again_and_what_was_under_way_is_done_once(home, root):
    """For all tasks that were waiting at that moment."""

    async def use():
        async with AsyncClient(home=home) as client:
            ws = await client.watch(root, _CALM)
            with home.frozen():
                tasks = [asyncio.create_task(ws.save(f"number {number}")) for number in range(10)]
                await asyncio.sleep(0.05)  # they are sent, and the daemon does not read them
                home.kill()
            saved = await asyncio.gather(*tasks)
            assert sorted(each.message for each in saved) == sorted(
                f"number {number}" for number in range(10)
            )
            assert len(await ws.list()) == 11
            await client.stop()
            assert (await ws.save("again")).message == "again"

    asyncio.run(use())


def test_events_survive_restarts_and_losses(home, root, tmp_path):
    """In order, each once, from the first on."""

    async def collect(events, seqs, newest):
        async with aclosing(events):
            async for event in events:
                seqs.append(event.seq)
                if event.seq >= newest.result() if newest.done() else False:
                    return

    async def use():
        loop = asyncio.get_running_loop()
        async with AsyncClient(home=home) as client:
            ws = await client.watch(root, _CALM)
            seqs, newest = [], loop.create_future()
            following = asyncio.create_task(collect(client.events(since=0), seqs, newest))
            for _ in range(2):
                await asyncio.gather(*[ws.save() for _ in range(10)])
                home.kill()
            await ws.save()
            with Lossy(home.places.connection_file, tmp_path, seed=3) as lossy:
                async with AsyncClient(connection=lossy.file) as other:
                    lost = []
                    unsure = asyncio.create_task(collect(other.events(since=0), lost, newest))
                    for _ in range(30):
                        await ws.save()
                    lossy.is_faithful = True
                    newest.set_result((await client.ping()).seq + 1)
                    await ws.save("the last one")
                    await asyncio.wait_for(asyncio.gather(following, unsure), 20)
            assert seqs == lost == list(range(1, newest.result() + 1))
            assert lossy.dropped > 5

    asyncio.run(use())


def test_events_can_be_read_without_following_and_left_at_any_time(home, root):
    """An async generator that is closed leaves no task behind."""

    async def use():
        async with AsyncClient(home=home) as client:
            ws = await client.watch(root, _CALM)
            found = [
                event.seq async for event in client.events(workspace=Path(ws.root), since=0, follow=False)
            ]
            assert found == list(range(1, (await client.ping()).seq + 1))
            async with aclosing(ws.events(since=0)) as events:
                async for _ in events:
                    break
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(use())

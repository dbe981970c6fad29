"""Cost follows the change, whatever the folder and its history hold: asserted by counts, which no machine changes.

Of one service, with a small folder and a large one, and of one history, while it is short and when it is long.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial, reduce
from operator import and_
from pathlib import Path

import pytest

from backtraild import requests, session_requests, ticks
from backtraild.keeper import Keeper
from backtraild.model import Intent, Kind
from backtraild.requests import Action
from backtraild.state import Query, announcing
from support.counting import OBJECTS, READS, STATEMENTS, SYNCS, WRITTEN, cost_of
from support.serving import Desk, Site, desk

FILES = {"small": 500, "large": 50_000}
IN_A_FOLDER = 500
FIRST, SECOND = "here/1/a.txt", "here/1/b.txt"
SHORT, LONG = 60, 1_000
CHANGED = 5
SLACK_BYTES = 100  # ids are as good as random, and deflate to a few bytes more or less
SLACK_READS = 4  # which thread reads what the kernel tells of a change, is left to chance
Cost = Counter[str]


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    place = tmp_path_factory.mktemp("counts")
    with (
        pytest.MonkeyPatch.context() as patch,
        desk(place, auto_checkpoint=False, max_checkpoints=2 * LONG) as found,
    ):
        # On a busy machine, work may take so long that its events are not held back any more.
        patch.setattr(announcing, "LONGEST_SECONDS", 600.0)
        yield found


@pytest.fixture(scope="module")
def sites(counter: Desk) -> list[Site]:
    """Two folders that are the same where a file is changed; all that makes one of them large is beside it."""
    return [_site(counter, name, count) for name, count in FILES.items()]


@pytest.fixture(scope="module")
def past(counter: Desk) -> Site:
    """A folder with a short history, of which everything has been asked once."""
    site = counter.watch("past", settings={"auto_checkpoint": False})
    site.write(FIRST, b"first\n")
    _grow(site, SHORT)
    return site


def _site(counter: Desk, name: str, count: int) -> Site:
    root = counter.folder / name
    for number in range(count):
        folder = f"{root}/there/{number // IN_A_FOLDER}"
        if number % IN_A_FOLDER == 0:
            os.makedirs(folder)
            Path(folder, "first").write_bytes(b"content\n")
        os.link(f"{folder}/first", f"{folder}/{number}")  # far quicker than a file of its own
    site = counter.watch(name, settings={"auto_checkpoint": False}, force=True)
    # What is opened once is open from then on: the first of everything is not counted.
    for number in range(3):
        site.write(FIRST, b"%d\n" % number)
        site.write(SECOND, b"the same\n")
        counter.service.save(site.id)
    counter.service.restore(site.id, "@~1")
    counter.service.diff(site.id, "@~1", "@")
    return site


def _grow(site: Site, count: int) -> None:
    """Until there are so many checkpoints; the first few changed a file. None of them has to be durable."""

    def save(keeper: Keeper) -> None:
        for number in range(keeper.workspace.checkpoints, count):
            if number <= CHANGED:
                site.write(FIRST, b"%d\n" % number)
            keeper.workspace.save(
                Intent(Kind.MANUAL), [FIRST.encode()] * (number <= CHANGED), allow_empty=True
            )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        site.desk.service.ask(site.id, save)


def _cost(site: Site, action: Action) -> Cost:
    return cost_of(site.desk.service, site.id, action)


def _least(measured: Callable[[int], Cost]) -> Cost:
    """What it costs each time; now and then a page of a table is full and split, or a memory lets go of something."""
    return reduce(and_, (measured(number) for number in range(3)))


def _same(costs: list[Cost]) -> Cost:
    """The cost of what costs the same each time."""
    for name, slack in ((WRITTEN, SLACK_BYTES), (READS, SLACK_READS)):
        counts = [cost.pop(name, 0) for cost in costs]
        assert max(counts) - min(counts) <= slack, name
    assert costs[0] == costs[1]
    return costs[0]


def _syncs(cost: Cost) -> int:
    return sum(cost[name] for name in SYNCS)


def test_saving_one_file_costs_the_same_among_500_and_among_50_000(sites: list[Site]):
    """What makes it possible to leave it on in any project, however large."""

    def saved(site: Site, number: int) -> Cost:
        content = b"changed %d\n" % number
        site.write(FIRST, content)
        cost = _cost(site, requests.save())
        assert site.desk.service.read(site.id, "@", FIRST.encode()) == content
        return cost

    costs = [_least(partial(saved, site)) for site in sites]
    assert costs[0][WRITTEN] < 64 * 1024
    cost = _same(costs)
    assert _syncs(cost) == 1, "the pack; its name, its index and the ref are synced when the answer is given"
    assert (cost["scandir"], cost["listdir"]) == (0, 0)
    assert cost[OBJECTS] <= 1, "what the file was"
    assert cost[STATEMENTS] <= 6, "what is known need not be asked for again"
    assert cost["pread"] <= 2, "only of what the file holds now it is asked whether the store has it"


def test_saving_two_hundred_files_waits_for_one_sync_and_leaves_no_index_to_be_asked(tmp_path: Path):
    """An agent that renames a function: each time, or each start after it, must be as quick as the first one."""
    with desk(tmp_path, auto_checkpoint=False) as alone:
        site = alone.watch("project", settings={"auto_checkpoint": False})
        for number in range(4):
            for file in range(200 if number else 1_000):  # what changes most files is held on to
                site.write(f"part{file % 10}/unit{file}/file", b"%d in version %d\n" % (file, number))
            cost = _cost(site, requests.save())

    assert _syncs(cost) == 1
    assert cost["pread"] <= 2, "what is new is not sought in the packs of all saves before"


def test_a_new_file_in_a_flat_folder_costs_no_more_for_all_that_are_there(tmp_path: Path):
    """A folder of 10,000 images or mails: a save there writes what changed, not what is known of all of them."""
    root = tmp_path / "flat"
    root.mkdir()
    (root / "00000").write_bytes(b"content\n")
    for number in range(1, 10_000):
        os.link(root / "00000", root / f"{number:05d}")
    with desk(tmp_path, auto_checkpoint=False) as alone:
        site = alone.watch("flat", settings={"auto_checkpoint": False}, force=True)
        site.write("05000 and a half", b"new\n")
        cost = _cost(site, requests.save())

    # Nearly all of it is the folder's own tree, which git keeps as one object.
    assert cost[WRITTEN] < 96 * 1024


def test_restoring_one_file_costs_the_same_among_500_and_among_50_000(
    sites: list[Site], monkeypatch: pytest.MonkeyPatch
):
    """To undo a slip must not take longer in a large project: it is when somebody waits most."""
    # Else what was put there is read again if that took less than a tick.
    monkeypatch.setattr(ticks, "TICK_NS", 0)

    def restored(site: Site, number: int) -> Cost:
        target = site.desk.service.save(site.id, allow_empty=True)
        kept = site.desk.service.read(site.id, "@", SECOND.encode())
        site.write(SECOND, b"slip %d\n" % number)
        cost = _cost(site, requests.restore(str(target.number)))
        assert (site.root / SECOND).read_bytes() == kept
        return cost

    cost = _same([_least(partial(restored, site)) for site in sites])
    assert _syncs(cost) == 5, (
        "two checkpoints, what is staged, the journal, and the folder that it is moved to"
    )
    assert (cost["scandir"], cost["listdir"]) == (0, 0)


def test_what_differs_is_found_at_the_same_cost_among_500_and_among_50_000(sites: list[Site]):
    """Two checkpoints are compared where they differ, and nowhere else."""
    costs = []
    for site in sites:
        before = site.desk.service.save(site.id, allow_empty=True)
        site.write(FIRST, b"another\n")
        after = site.desk.service.save(site.id)
        site.desk.service.ask(site.id, _forget_contents)
        costs.append(_cost(site, requests.diff(str(before.number), str(after.number))))

    cost = _same(costs)
    assert (cost[OBJECTS], cost["pread"]) == (2, 2), "the content on both sides"
    assert (cost["write"], cost["scandir"]) == (0, 0)


def _forget_contents(keeper: Keeper) -> None:
    workspace = keeper.workspace
    workspace.history.foresee()  # now, and not in a moment
    workspace.history._diffs.clear()
    workspace.history._comparisons._kept.clear()
    workspace._parts.steps._kept.clear()
    workspace.store.objects.recent.clear()
    workspace.store.objects._sized = None


def test_what_was_just_saved_is_compared_without_reading_it_again(sites: list[Site]):
    """Who saves wants to see next what has changed: the save has had both sides at hand."""
    site = sites[0]
    site.write(FIRST, b"a new beginning\n")
    site.desk.service.save(site.id)
    site.write(FIRST, b"a new beginning, changed\n")
    cost = _cost(site, requests.save())
    assert cost[OBJECTS] == 0, "nor does the next save of the same file read what it was"
    diff = _cost(site, requests.diff("@~1", "@"))
    assert (diff[OBJECTS], diff["pread"]) == (0, 0)


def test_the_diff_of_a_checkpoint_just_made_is_there_before_it_is_asked_for(sites: list[Site]):
    """An editor or an agent that hears of a checkpoint asks what is new in it, and shows it while somebody waits."""
    site = sites[0]
    site.write(FIRST, b"known before\n")
    site.write("here/new", b"nobody has read it\n")
    site.desk.service.save(site.id)
    site.desk.service.ask(site.id, lambda keeper: keeper.workspace.history.foresee())
    first, again = (_cost(site, requests.diff("@~1", "@")) for _ in range(2))
    assert (first[OBJECTS], first["pread"]) == (0, 0)
    assert first == again, "the first who asks waits for nothing that the second would not wait for"


def test_the_same_question_is_answered_from_memory(sites: list[Site]):
    """Who looks at a diff looks again, and after each edit asks for all of it once more."""
    site = sites[0]
    site.write(FIRST, b"yet another\n")
    site.desk.service.save(site.id)
    whole, again, since_before = (_cost(site, requests.diff(name, "@")) for name in ("@~1", "@~1", "@~2"))
    assert (whole[OBJECTS], again[OBJECTS]) == (0, 0)
    assert again["pread"] == 0, "only the two references are looked at"
    site.write(SECOND, b"the next edit\n")
    site.desk.service.save(site.id)
    more = _cost(site, requests.diff("@~3", "@"))
    assert more[OBJECTS] <= since_before[OBJECTS] + 2, "only what is new is read"


def test_questions_about_history_cost_the_same_among_60_checkpoints_and_among_1_000(past: Site):
    """Years of history must not be read to show an hour of it, or the few versions of one file."""
    path = FIRST.encode()
    questions = {
        "list": requests.list(Query(limit=50)),
        "list of a path": requests.list(Query(limit=50, path=path)),
        "list of a session": requests.list(Query(limit=50, session="a")),
        "log": session_requests.log(path),
        "get": requests.get("@"),
        "diff": requests.diff("@~2", "@~1"),
        "back": requests.get("@~50"),
    }
    before = _costs(past, questions)
    _grow(past, LONG)
    assert _costs(past, questions) == before
    assert before["list"][OBJECTS] == 51, "one more, to know whether there are more"
    assert before["log"][OBJECTS] <= 2 * (CHANGED + 1), (
        "the baseline and each that changed the file, and their folders"
    )


def _costs(site: Site, questions: dict[str, Action]) -> dict[str, Cost]:
    """When all of them have been asked before, as they are by whoever watches a folder."""
    for question in questions.values():
        site.desk.service.ask(site.id, question)
    return {name: _cost(site, question) for name, question in questions.items()}

"""What was left out costs nothing, memory does not follow the tree, and a race leads nowhere."""

import contextlib
import importlib
import os
import sqlite3
import subprocess
import sys
import threading
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from backtrail.errors import NothingToDo
from backtraild.model import Skipped, SkipReason
from backtraild.state import Database, Skips, Stat
from backtraild.store import LISTED_CHANGES
from support.project import Project

IN_A_FOLDER = 100
PEAK_A_FILE = 500
RACE_SECONDS = 2.5


def make_files(root: Path, count: int, size: int = 0) -> None:
    """Many files, each with other content."""
    for number in range(count):
        folder = f"{root}/{number // IN_A_FOLDER:03d}"
        if number % IN_A_FOLDER == 0:
            os.mkdir(folder)
        descriptor = os.open(f"{folder}/{number}", os.O_WRONLY | os.O_CREAT, 0o644)
        os.write(descriptor, b"%d\n" % number + os.urandom(size // 2) * 2)
        os.close(descriptor)


def cost_of(monkeypatch: pytest.MonkeyPatch, connection: sqlite3.Connection, act: Callable[[], object]):
    """How often the kernel and the table are asked, and how many thousand steps the table takes."""
    asked: Counter[str] = Counter()
    with monkeypatch.context() as patch:
        for name in ("open", "stat", "lstat", "fstat", "scandir", "listdir", "read", "write", "fsync"):
            kernel = getattr(os, name)

            def count(*arguments, name=name, kernel=kernel, **options):
                asked[name] += 1
                return kernel(*arguments, **options)

            patch.setattr(os, name, count)

        def step() -> None:
            asked["table steps, thousands"] += 1

        def statement(_: str) -> None:
            asked["statements"] += 1

        connection.set_progress_handler(step, 1000)
        connection.set_trace_callback(statement)
        try:
            act()
        finally:
            connection.set_progress_handler(None, 0)
            connection.set_trace_callback(None)
    return asked


def test_files_of_one_folder_are_looked_at_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Ten thousand files that changed at once lie in few folders: each is entered once, and asked about once."""
    costs = []
    with Project(tmp_path) as project:
        make_files(project.root, 300)
        project.workspace.start()
        connection = project.workspace._parts.database.connection._connection
        few, many = [b"000/1", b"001/199"], [b"%03d/%d" % (n // 100, n) for n in range(10, 199)]
        for names in ([b"000/0"], few, many):  # the first save opens the pack, which then stays open
            for name in names:
                project.write(name, b"changed")
            costs.append(cost_of(monkeypatch, connection, lambda names=names: project.save(dirty=names)))

    further = len(many) - len(few)
    more = costs[2] - costs[1]
    assert more["open"] == further  # to read it
    assert more["statements"] <= 3 * further  # its row, its skip, the search index


def test_neighbouring_folders_are_reached_from_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The way from the root is long in a deep tree, and has ignore files all along it."""
    costs = []
    with Project(tmp_path) as project:
        for number in range(20):
            project.write(f"a/b/c/d/e/{number}/file", b"first")
        project.workspace.start()
        connection = project.workspace._parts.database.connection._connection
        for numbers in (range(1), range(20)):
            paths = [b"a/b/c/d/e/%d/file" % number for number in numbers]
            for path in paths:
                project.write(path, b"changed %d" % len(paths))
            costs.append(cost_of(monkeypatch, connection, lambda paths=paths: project.save(dirty=paths)))

    assert (costs[1]["open"] - costs[0]["open"]) / 19 <= 4  # the folder, its two ignore files, the file


def test_a_look_at_what_has_not_changed_asks_the_table_for_many_folders_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Every start of the daemon looks at everything, and nearly all of it is as it was."""
    costs = []
    for count in (3 * IN_A_FOLDER, 6 * IN_A_FOLDER):
        folder = tmp_path / str(count)
        folder.mkdir()
        with Project(folder) as project:
            make_files(project.root, count)
            project.workspace.start()
            costs.append(cost_of_looking_at_settled_files(monkeypatch, project))

    more = costs[1] - costs[0]
    assert more == {"open": 3, "scandir": 3}, "beside one lstat a file, unseen here"


def test_a_first_look_asks_the_kernel_five_times_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A hundred thousand files are all read then: each further question would be a hundred thousand."""
    costs = []
    for count in (3 * IN_A_FOLDER, 6 * IN_A_FOLDER):
        folder = tmp_path / str(count)
        folder.mkdir()
        with Project(folder) as project:
            make_files(project.root, count)
            connection = project.workspace._parts.database.connection._connection
            costs.append(cost_of(monkeypatch, connection, project.workspace.start))

    more = costs[1] - costs[0]
    files = 3 * IN_A_FOLDER
    asked = {name: more[name] for name in ("open", "stat", "lstat", "fstat", "read", "scandir", "fsync")}
    assert asked == {
        "open": files + 3,  # and the folders
        "stat": 0,
        "lstat": 0,  # one of each in the listing, unseen here
        "fstat": 2 * files,  # before and after the reading
        "read": files,
        "scandir": 3,
        "fsync": 0,
    }


def test_a_first_snapshot_makes_no_value_of_files_that_no_commit_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A commit names a thousand; of a hundred thousand, the others would be made, sorted and dropped."""
    describing = importlib.import_module("backtraild.store.describe")
    made = Mock(wraps=describing.FileChange)
    monkeypatch.setattr(describing, "FileChange", made)
    with Project(tmp_path) as project:
        make_files(project.root, LISTED_CHANGES + IN_A_FOLDER)
        checkpoint = project.workspace.start()

    assert made.call_count == len(checkpoint.files_changed) == LISTED_CHANGES
    assert checkpoint.files_changed_count == checkpoint.insertions == LISTED_CHANGES + IN_A_FOLDER


def test_a_first_snapshot_takes_little_memory_a_file(tmp_path: Path):
    """A million files must fit: a path, an id, a place in the pack, and the folder's tree."""
    peaks = []
    for count in (11 * IN_A_FOLDER, 25 * IN_A_FOLDER):  # both are large packs
        folder = tmp_path / str(count)
        folder.mkdir()
        with Project(folder) as project:
            make_files(project.root, count)
            tracemalloc.start()
            try:
                project.workspace.start()
                peaks.append(tracemalloc.get_traced_memory()[1])
            finally:
                tracemalloc.stop()

    assert (peaks[1] - peaks[0]) / (14 * IN_A_FOLDER) < PEAK_A_FILE


def cost_of_looking_at_settled_files(monkeypatch: pytest.MonkeyPatch, project: Project) -> Counter[str]:
    """What a look costs that reads no file, because all of them are older than a tick by now."""
    connection = project.workspace._parts.database.connection._connection
    values = Mock(wraps=Stat._make)
    monkeypatch.setattr(Stat, "_make", values)

    def look() -> None:
        values.reset_mock()
        with contextlib.suppress(NothingToDo):
            project.save()

    look()  # after which is known what is asked once
    while (cost := cost_of(monkeypatch, connection, look))["read"]:
        pass
    del cost["table steps, thousands"]
    return cost + Counter({"values": values.call_count})


def test_looking_at_one_file_costs_the_same_however_many_were_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A folder full of sockets or of huge files must not make every save of the others slower."""
    costs = []
    for count in (10, 20_000):
        database = Database(str(tmp_path / f"{count}.db"))
        skips = Skips(database)
        skips.add(Skipped(b"%06d" % number, 0, SkipReason.SPECIAL_FILE) for number in range(count))
        costs.append(
            cost_of(
                monkeypatch, database.connection._connection, lambda skips=skips: skips.replace(b"000005", ())
            )
        )
        assert skips.count() == count - 1
        skips.replace(b"", ())
        assert skips.count() == 0
        database.close()

    assert costs[0] == costs[1]


_MEASURE = """
import os, resource, sys
from backtraild.workspace import Workspace
root, store = sys.argv[1:]
empty = Workspace(os.path.dirname(store), store + "-empty")  # so that all modules are loaded
empty.close()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
workspace = Workspace(root, store)
print(workspace.start().files_changed_count)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_the_first_look_at_many_files_does_not_keep_their_contents(tmp_path: Path):
    """20,000 files of 4 KB are 80 MB; what has to stay in memory of each is its name, its id and a row."""
    root = tmp_path / "work"
    root.mkdir()
    make_files(root, 20_000, size=4000)

    answer = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(root), str(tmp_path / "store")],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()

    assert answer[0] == "20000"
    assert int(answer[1]) < 60, f"{answer[1]} MB more than before"


def test_a_folder_that_is_swapped_for_a_link_all_the_time_lets_nothing_in_from_outside(tmp_path: Path):
    """A checkpoint that picks up a file through such a race would carry a secret into the store."""
    with Project(tmp_path) as project:
        outside = tmp_path / "outside"
        for place in (project.root / "swapped", outside):
            (place / "deep").mkdir(parents=True)
        for name in ("a", "b", "deep/a"):
            (outside / name).write_bytes(b"SECRET " + name.encode())
            (project.root / "swapped" / name).write_bytes(b"mine " + name.encode())
        project.workspace.start()
        done = threading.Event()
        folder, aside = project.root / "swapped", tmp_path / "aside"

        def swap() -> None:
            while not done.is_set():
                os.rename(folder, aside)
                os.symlink(outside, folder)
                os.unlink(folder)
                os.rename(aside, folder)

        swapping = threading.Thread(target=swap)
        swapping.start()
        numbers = []
        end = time.monotonic() + RACE_SECONDS
        try:
            while time.monotonic() < end:
                for name in ("a", "b", "deep/a"):
                    hint = b"swapped/" + name.encode()
                    numbers.append(project.save(dirty=[hint], allow_empty=True).number)
                numbers.append(project.save(allow_empty=True).number)
        finally:
            done.set()
            swapping.join()

        trees = {project.workspace.history.find(str(number)).tree for number in numbers}
        assert len(trees) > 1, "the race was never met"
        allowed = {b"mine a", b"mine b", b"mine deep/a", os.fsencode(outside)}
        for number in numbers:
            checkpoint = project.workspace.history.find(str(number))
            if checkpoint.tree in trees:
                trees.remove(checkpoint.tree)
                assert {content for _, content in project.captured(str(number)).values()} <= allowed
        project.check(project.save(allow_empty=True))

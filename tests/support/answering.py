"""A server with its service, in the test's own process: real sockets, and workers that can be held up."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from backtraild.server import Server
from backtraild.service import Service
from support.live import places_in
from support.serving import PATIENCE, QUIET, configure
from support.wire import Subscription, Wire


class Answering:
    """What a client finds, and what the test can do behind its back."""

    def __init__(self, folder: Path, table: str = "", **settings: Any) -> None:
        self.folder = folder
        self.places = places_in(folder)
        configure(folder, {"quiet": QUIET, "patience": PATIENCE, **settings})
        with open(self.places.config_file, "a") as file:
            file.write(table)
        self.places.make()
        self.asked_to_stop = threading.Event()
        self.server = Server(self.places)
        try:
            self.service = Service(self.places, self.server.publish, self.server.progress)
        except BaseException:
            self.server.close()
            raise
        self.service.start()
        self.server.open(self.service, self.asked_to_stop.set)

    def wire(self, **options: Any) -> Wire:
        return Wire(self.server.endpoints.requests, **options)

    def subscription(self, topic: str = "") -> Subscription:
        return Subscription(self.server.endpoints.events, topic)

    def folder_with(self, name: str = "work", **files: str) -> Path:
        """A folder with some files."""
        root = self.folder / name
        root.mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            (root / file).write_text(content)
        return root

    def watch(self, name: str = "work", **files: str) -> str:
        """Watch a new folder; its id."""
        return self.service.watch(str(self.folder_with(name, **files))).id

    @contextlib.contextmanager
    def busy(self, workspace: str) -> Iterator[None]:
        """In this block the worker of a workspace does nothing else."""
        begun, over = threading.Event(), threading.Event()
        answer = self.service.submit(workspace, lambda _: (begun.set(), over.wait(60)))
        assert begun.wait(30)
        try:
            yield
        finally:
            over.set()
            answer.result(30)

    def close(self) -> None:
        """As the daemon ends."""
        self.server.refuse()
        self.service.stop()
        self.server.close()


@contextlib.contextmanager
def answering(folder: Path, table: str = "", **settings: Any) -> Iterator[Answering]:
    """A server for the time of a test; no thread of it is left afterwards."""
    before = set(threading.enumerate())
    found = Answering(folder, table, **settings)
    try:
        yield found
    finally:
        found.close()
    assert not [thread for thread in threading.enumerate() if thread not in before and not thread.daemon]


class Bench:
    """A server, a connection to it, and one watched folder."""

    def __init__(self, server: Answering, wire: Wire) -> None:
        self.server, self.wire = server, wire
        self.root = server.folder_with(a="one\n", b="two\n")
        self.id = wire.result("watch", path=str(self.root))["workspace"]

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        return self.wire.result(method, workspace=self.id, **params)

    def fail(self, method: str, **params: Any) -> tuple[str, str]:
        error = self.wire.error(method, workspace=self.id, **params)
        return error["data"]["code"], error["message"]

    def save(self, **files: str) -> dict[str, Any]:
        for name, content in files.items():
            (self.root / name).write_text(content)
        return self.ask("save", allow_empty=True)

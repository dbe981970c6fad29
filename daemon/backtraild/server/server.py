"""The server as a whole: from bound sockets to unlinked ones."""

from collections.abc import Callable
from typing import Self

from backtrail import keys
from backtrail.keys import KeysUnusable
from backtrail.paths import Places
from backtraild.config import read_network
from backtraild.model import Event, Progress
from backtraild.server import discovery
from backtraild.server.bulletin import Bulletin
from backtraild.server.doorkeeper import Doorkeeper
from backtraild.server.loop import Loop
from backtraild.server.outbox import Outbox
from backtraild.server.reception import Reception
from backtraild.server.sockets import Endpoints, Network, Sockets
from backtraild.service import Service


class Server:
    """Binds at once, answers once it is opened. The caller holds the daemon's lock: binding takes sockets over."""

    def __init__(self, places: Places) -> None:
        network = _network(places)
        self._file = places.connection_file
        discovery.clean_up(self._file)
        self._sockets = Sockets(places.runtime, network)
        self._outbox = Outbox()
        self._doorkeeper = Doorkeeper(places.keys, demands_keys=network is None or network.keys is not None)
        self._bulletin = Bulletin(self._outbox, self._sockets.events)
        self._reception: Reception | None = None
        self._loop: Loop | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def endpoints(self) -> Endpoints:
        """Where it listens."""
        return self._sockets.endpoints

    def publish(self, event: Event) -> None:
        """Tell subscribers of an event; from any thread, never waits."""
        self._bulletin.event(event)

    def progress(self, progress: Progress) -> None:
        """Tell subscribers how far long work is; from any thread, never waits."""
        self._bulletin.progress(progress)

    def open(self, service: Service, stop: Callable[[], None]) -> None:
        """Answer requests, and let clients know. `stop` is called when one asks for the end of the daemon."""
        self._bulletin.begin(service.log.epoch, service.log.newest)
        self._reception = Reception(service, stop)
        self._loop = Loop(
            self._sockets, self._outbox, self._bulletin, self._reception, self._doorkeeper, failed=stop
        )
        self._loop.start()
        discovery.announce(self._file, self.endpoints, service.log.epoch)

    def refuse(self) -> None:
        """Clients find the daemon no more, and what they still ask is refused."""
        if self._reception is not None:
            self._reception.refuse()
        discovery.withdraw(self._file)

    def close(self) -> None:
        """Answer what is under way, then unbind. To be called once the service has stopped."""
        self.refuse()
        if self._reception is not None:
            self._reception.close()
        self._doorkeeper.close()
        if self._loop is not None:
            self._loop.end()
        else:
            self._sockets.close()
        self._outbox.close()


def _network(places: Places) -> Network | None:
    """What the configuration file asks for. Without keys nobody could connect, so that is an error at once."""
    wanted = read_network(places.config_file)
    if wanted is None:
        return None
    pair = keys.server_pair(places.keys) if wanted.curve else None
    if wanted.curve and pair is None:
        raise KeysUnusable(
            f"The daemon shall listen at {wanted.address.requests}, but there are no keys for that.",
            "`backtrail daemon keys NAME` makes them.",
        )
    return Network(Endpoints(wanted.address.requests, wanted.address.events), pair)

"""Where the daemon listens on a network, as the configuration file says it: `127.0.0.1:7780`, `[::1]:7780`. Pure."""

import ipaddress
import re

from msgspec import Struct

from backtrail.errors import UsageError

_FORM = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)):([0-9]{1,5})")


class Address(Struct, frozen=True):
    """Requests go to the port, events come from the next one."""

    host: str
    port: int

    @property
    def requests(self) -> str:
        """Where requests go."""
        return f"tcp://{self._shown_host}:{self.port}"

    @property
    def events(self) -> str:
        """Where events come from."""
        return f"tcp://{self._shown_host}:{self.port + 1}"

    @property
    def is_loopback(self) -> bool:
        """Can it be reached from this machine only?"""
        return ipaddress.ip_address(self.host).is_loopback

    @property
    def is_everywhere(self) -> bool:
        """Does it stand for all addresses of this machine?"""
        return ipaddress.ip_address(self.host).is_unspecified

    @property
    def _shown_host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def parse(text: str) -> Address:
    """An address and a port. Names are not looked up: who is listened to must not depend on a name server."""
    match = _FORM.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError(text)
        host, port = str(ipaddress.ip_address(match[1] or match[2])), int(match[3])
        if not 0 < port < 65535:
            raise ValueError(port)
    except ValueError:
        raise UsageError(
            f"listen = {text!r} is not an address and a port below 65535.",
            'It looks like "127.0.0.1:7780" or "[::1]:7780"; events come from the next port.',
        ) from None
    return Address(host, port)

"""Addresses as the configuration file has them."""

import pytest

from backtrail.address import parse
from backtrail.errors import UsageError


@pytest.mark.parametrize(
    ("text", "requests", "events", "is_loopback"),
    [
        ("127.0.0.1:7780", "tcp://127.0.0.1:7780", "tcp://127.0.0.1:7781", True),
        ("127.8.0.1:1", "tcp://127.8.0.1:1", "tcp://127.8.0.1:2", True),
        ("[::1]:7780", "tcp://[::1]:7780", "tcp://[::1]:7781", True),
        ("0.0.0.0:7780", "tcp://0.0.0.0:7780", "tcp://0.0.0.0:7781", False),
        ("[::]:7780", "tcp://[::]:7780", "tcp://[::]:7781", False),
        ("192.168.1.5:65534", "tcp://192.168.1.5:65534", "tcp://192.168.1.5:65535", False),
    ],
)
def test_an_address_and_a_port_make_two_endpoints(text: str, requests: str, events: str, is_loopback: bool):
    """Requests and events have a port each."""
    address = parse(text)
    assert (address.requests, address.events, address.is_loopback) == (requests, events, is_loopback)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":7780",
        "7780",
        "localhost:7780",
        "127.0.0.1",
        "127.0.0.1:0",
        "127.0.0.1:65535",
        "::1:7780",
        "1.2.3:4",
    ],
)
def test_anything_else_is_refused_with_an_example(text: str):
    """Names are not looked up: who can listen must not depend on a name server."""
    with pytest.raises(UsageError) as refused:
        parse(text)
    assert "127.0.0.1:7780" in refused.value.hint

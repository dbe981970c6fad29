"""Parameters of every kind for every method: a well-formed answer each time, and a daemon that works on."""

import json
import os
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from backtrail import protocol
from backtrail.methods import methods
from support.answering import Answering, answering
from support.parameters import asked
from support.wire import Wire

EXAMPLES = int(os.environ.get("BACKTRAIL_EXAMPLES", "40"))
# `stop` ends the daemon, and a watched folder would go with the first `unwatch`.
ASKED = sorted(
    (method for method in methods() if method.name not in ("stop", "unwatch")),
    key=lambda method: method.name,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answering]:
    with answering(tmp_path_factory.mktemp("any"), auto_checkpoint=False) as found:
        (found.folder_with() / "d").mkdir()
        (found.folder_with() / "d" / "b").write_text("b")
        found.watch(a="a")
        yield found


@pytest.fixture
def wire(server: Answering) -> Iterator[Wire]:
    with server.wire() as found:
        yield found


@pytest.mark.parametrize("method", ASKED, ids=lambda method: method.name)
def test_every_method_answers_whatever_it_is_asked(
    server: Answering, wire: Wire, method: protocol.Method[Any, Any], caplog: pytest.LogCaptureFixture
):
    """Clients are written by others, in other languages, with mistakes of their own."""
    (entry,) = server.service.workspaces()
    wire.result("save", workspace=entry.id, session="s", turn=1, conversation={"messages": [1, "two"]})

    @settings(
        max_examples=EXAMPLES,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(asked(method, entry.id))
    def check(params: dict[str, Any]) -> None:
        message = {"jsonrpc": "2.0", "id": 1, "method": method.name, "params": params}
        answer = wire.raw(json.dumps(message).encode())
        assert answer["id"] in (1, None)
        if "error" in answer:
            error = answer["error"]
            assert error["code"] != protocol.INTERNAL_ERROR, error
            assert error["message"]
            assert error["data"]["code"]
        else:
            page = (
                protocol.LIST_SUMMARIES
                if method is protocol.LIST and params.get("files") is not True
                else method
            )
            msgspec.convert(answer["result"], page.result)

    check()
    assert wire.result("save", workspace=entry.id, allow_empty=True)["number"] > 1
    assert [watched.id for watched in server.service.workspaces()] == [entry.id]
    assert not [record for record in caplog.records if record.exc_info]

"""Programs in other languages use the daemon with nothing but PROTOCOL.md."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from support.process import Process

PROGRAM = Path(__file__).parent / "node" / "client.mjs"

pytestmark = pytest.mark.skipif(
    not (shutil.which("node") and shutil.which("npm")), reason="Node.js is not on this machine"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, beside the one package it needs."""
    folder = tmp_path_factory.mktemp("node")
    install = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "zeromq@6"]
    done = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        pytest.skip(f"npm could not install zeromq: {done.stderr.strip()[-200:]}")
    return Path(shutil.copy(PROGRAM, folder))


def test_a_client_in_another_language_saves_restores_and_follows_events(program: Path, tmp_path: Path):
    """Editors are not written in Python: what the document says must be enough."""
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    (project / "app.py").write_text("print('hello')\n")
    with Process(home).wait_until_ready() as daemon:
        done = subprocess.run(
            ["node", program, home / "run", project], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr + daemon.said()
        saw = json.loads(done.stdout)
        assert daemon.end() == 0
    assert "-first = 1\n+second = 2\n" in saw.pop("patch")
    assert saw == {
        "protocol": 1,
        "same": True,
        "planned": ["app.py"],
        "written": ["app.py"],
        "wentBack": True,
        "cameForth": "second = 2\n",
        "content": "first = 1\n",
        "listed": 2,
        "hasMore": True,
        "events": [
            "workspace_added",
            "checkpoint_created",
            "initialized",
            "checkpoint_created",
            "checkpoint_created",
            "checkpoint_restored",
            "checkpoint_created",
            "checkpoint_restored",
        ],
        "gapless": True,
        "codes": ["unknown-checkpoint", "unknown-workspace", "usage"],
        "unknownMethod": -32601,
        "notJson": -32700,
    }

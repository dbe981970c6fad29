"""A store with bombs in it, opened and asked by a real daemon: each is told as damage, and memory stays small."""

import zlib
from pathlib import Path

from backtraild.model import Intent, WorkspaceConfig
from backtraild.registry import workspace_id
from backtraild.store.objects import ObjectType
from backtraild.workspace import Workspace
from support.bombs import MEGABYTE, delta, plain, write_entries, write_loose, zeros
from support.forging import FILE_MODE, TREE_MODE, Forger
from support.outside import Outside, outside, short_home

# Far more than may be grown by, and little enough to be inflated often.
LARGE = 64 * MEGABYTE


def forged_store(root: Path, store: Path) -> dict[str, str]:
    """A store with one honest checkpoint, and one for each bomb; their names by number."""
    workspace = Workspace(str(root), str(store), WorkspaceConfig())
    workspace.save(Intent(message="honest"))
    workspace.close()
    git_dir, large = store / "repo.git", zeros(LARGE)
    ids = {name: bytes([number]) * 20 for number, name in enumerate(BOMBS, start=1)}
    base = b"\xbb" * 20
    megabyte = 0xFFFFF
    write_entries(
        git_dir,
        [
            (ids["says little"], plain(ObjectType.BLOB, 10, large)),
            (ids["says much"], plain(ObjectType.BLOB, 2**45, zlib.compress(b"little"))),
            (ids["is a folder"], plain(ObjectType.TREE, LARGE, large)),
            (base, plain(ObjectType.BLOB, megabyte, zeros(megabyte))),
            (ids["multiplies"], delta(base, megabyte, 4000)),
        ],
    )
    write_loose(git_dir, ids["is loose"], zeros(LARGE, b"blob %d\0" % LARGE))
    forger, numbers = Forger(git_dir), {}
    for number, (name, oid) in enumerate(ids.items(), start=2):
        mode = TREE_MODE if name == "is a folder" else FILE_MODE
        forger.checkpoint(number, forger.tree((mode, b"bomb", oid)))
        numbers[str(number)] = name
    return numbers


BOMBS = ("says little", "says much", "is a folder", "multiplies", "is loose")


def most_memory(daemon: Outside) -> int:
    """The most that the daemon ever had in memory."""
    status = Path(f"/proc/{daemon.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) * 1024


def test_a_store_full_of_bombs_costs_no_memory_and_is_told_as_damage(tmp_path: Path):
    """A megabyte from elsewhere must not take the machine down with it."""
    root = tmp_path / "work"
    root.mkdir()
    (root / "kept").write_text("kept\n")
    with short_home() as home:
        numbers = forged_store(root, home / "data" / "workspaces" / workspace_id(str(root)))
        with outside(home) as daemon, daemon.wire() as wire:
            before = most_memory(daemon)
            name = wire.result("watch", path=str(root))["workspace"]
            for number, bomb in numbers.items():
                for method, params in (
                    ("read", {"checkpoint": f"{number}:bomb"}),
                    ("restore", {"checkpoint": number}),
                ):
                    error = wire.error(method, workspace=name, **params)
                    assert error["data"]["code"] in ("store-damaged", "unknown-path", "usage"), (bomb, error)
            assert wire.result("verify", workspace=name)["damage"]
            assert wire.result("restore", workspace=name, checkpoint="1")
            grown = most_memory(daemon) - before
            assert grown < 50 * MEGABYTE, f"grown by {grown:,} bytes"
            assert "Traceback" not in daemon.process.said()
    assert (root / "kept").read_text() == "kept\n"

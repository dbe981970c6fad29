"""The list of watched folders: kept over restarts, never half-written, never guessed at."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from backtrail.errors import StoreFailed
from backtraild import durable
from backtraild.model import Limits, WorkspaceConfig
from backtraild.registry import Registered, Registry, RegistryDamaged, workspace_id
from support import damage
from support.faults import FaultyOs

CONFIG = WorkspaceConfig(False, 7, ("*.iso",), 1.5, 20.0, Limits(1, 2, 3), "poll")


def entry(root: str, config: WorkspaceConfig = CONFIG, **more: Any) -> Registered:
    return Registered(workspace_id(root), root, config, **more)


def test_everything_about_a_workspace_is_there_after_a_restart(tmp_path: Path):
    """What its owner decided once holds until they decide otherwise."""
    path = str(tmp_path / "workspaces.json")
    registry = Registry(path)
    entries = [entry("/home/me/project"), entry("/srv/data", WorkspaceConfig(), paused=True, forced=True)]
    for added in entries:
        registry.put(added)
    assert list(Registry(path)) == entries
    registry.put(replace(entries[0], paused=True))
    registry.remove(entries[1].id)
    assert list(Registry(path)) == [replace(entries[0], paused=True)]
    assert Registry(path).get(entries[1].id) is None
    assert Registry(path).get(entries[0].id) == replace(entries[0], paused=True)


def test_a_root_that_is_not_utf8_comes_back_byte_for_byte(tmp_path: Path):
    """Folders of old archives have names in Latin-1."""
    path = str(tmp_path / "workspaces.json")
    roots = [
        os.fsdecode(b"/home/caf\xe9"),
        '/home/"quoted"',
        "/home/日本",
        "/home/new\nline",
        "/home/back\\slash",
    ]
    for root in roots:
        Registry(path).put(entry(root))
    assert [found.root for found in Registry(path)] == roots
    assert json.loads(Path(path).read_text())["version"] == 1


def test_a_store_that_is_not_utf8_comes_back_byte_for_byte(tmp_path: Path):
    """The checkpoints are found nowhere else."""
    path = str(tmp_path / "workspaces.json")
    kept = entry("/home/me/project", store=os.fsdecode(b"/mnt/caf\xe9"))
    Registry(path).put(kept)
    assert list(Registry(path)) == [kept]


def test_a_list_from_before_stores_could_be_chosen_is_read(tmp_path: Path):
    """An upgrade must not ask for every folder to be watched again."""
    path = tmp_path / "workspaces.json"
    Registry(str(path)).put(entry("/home/me/project"))
    content = json.loads(path.read_text())
    del content["workspaces"][0]["store"]
    path.write_text(json.dumps(content))
    assert list(Registry(str(path))) == [entry("/home/me/project")]


def test_ids_are_stable_readable_and_belong_to_one_path():
    """The store is found by it: an id that changes between versions would orphan every checkpoint."""
    assert workspace_id("/home/me/My Project") == "my-project-" + workspace_id("/home/me/My Project")[-10:]
    assert workspace_id("/home/me/project") == "project-225df30940"
    assert workspace_id("/home/me/project") != workspace_id("/home/you/project")
    assert workspace_id("/").startswith("workspace-")
    assert workspace_id(os.fsdecode(b"/\xff\xfe")).startswith("workspace-")
    assert len(workspace_id("/" + "long" * 60)) <= 36
    assert all(character.isalnum() or character == "-" for character in workspace_id("/a/..Grüße.. b"))


def damages() -> dict[str, bytes]:
    good = json.dumps({"id": workspace_id("/a"), "root": "/a", "config": {}})
    return {
        "empty": b"",
        "cut": b'{"version": 1, "workspaces": [',
        "no object": b"[]",
        "wrong type": b'{"version": 1, "workspaces": [{"id": 7}]}',
        "no utf-8": b'{"version": 1, "workspaces": "\xff"}',
        "zeros": bytes(100),
        "newer": b'{"version": 2, "workspaces": []}',
        "another's name": b'{"version": 1, "workspaces": [%s]}' % good.replace('"/a"', '"/b"').encode(),
    }


@pytest.mark.parametrize("damage", damages())
def test_a_damaged_list_is_an_error_that_says_what_to_do(tmp_path: Path, damage: str):
    """Starting with an empty list would stop protecting everything without a word."""
    path = tmp_path / "workspaces.json"
    path.write_bytes(damages()[damage])
    with pytest.raises(RegistryDamaged) as failed:
        Registry(str(path))
    assert str(path) in failed.value.message
    assert "Move the file away" in failed.value.hint
    assert path.read_bytes() == damages()[damage], "left for whoever wants to repair it"


def test_a_list_that_can_not_be_opened_is_an_error(tmp_path: Path):
    """The same where the kernel refuses."""
    (tmp_path / "workspaces.json").mkdir()
    with pytest.raises(RegistryDamaged, match="Is a directory"):
        Registry(str(tmp_path / "workspaces.json"))


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_failed_write_changes_nothing_in_the_file_and_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
):
    """A folder that is watched until the next restart only is worse than one that was refused."""
    path = str(tmp_path / "workspaces.json")
    registry = Registry(path)
    registry.put(entry("/a"))
    with monkeypatch.context() as patch:
        patch.setattr(durable, "os", FaultyOs(call, 1, errno.ENOSPC, lasting=True))
        with pytest.raises(StoreFailed, match="No space left"):
            registry.put(entry("/b"))
        with pytest.raises(StoreFailed):
            registry.remove(workspace_id("/a"))
    assert [found.root for found in registry] == ["/a"]
    assert list(Registry(path)) == list(registry)
    registry.put(entry("/b"))
    assert [found.root for found in Registry(path)] == ["/a", "/b"]


def test_the_list_may_be_changed_while_it_is_gone_through(tmp_path: Path):
    """Requests come from many threads."""
    registry = Registry(str(tmp_path / "workspaces.json"))
    for name in "abc":
        registry.put(entry(f"/{name}"))
    for found in registry:
        registry.remove(found.id)
    assert list(registry) == []


def test_only_its_owner_may_read_it(tmp_path: Path):
    """It names private folders."""
    registry = Registry(str(tmp_path / "workspaces.json"))
    registry.put(entry("/a"))
    assert (tmp_path / "workspaces.json").stat().st_mode & 0o777 == 0o600


def labelled(tmp_path: Path, *names: str) -> tuple[Path, Path]:
    """A list of watched folders with labels, of which the last folder is watched no more."""
    file, labels = tmp_path / "workspaces.json", tmp_path / "stores"
    registry = Registry(str(file), str(labels))
    for name in names:
        root = str(tmp_path / name)
        registry.put(Registered(workspace_id(root), root, WorkspaceConfig(quiet=3.0), paused=True))
    registry.remove(workspace_id(str(tmp_path / names[-1])))
    return file, labels


@pytest.mark.parametrize("left", [None, b"", b"{", b'{"version": 1, "workspaces": [{"id": "x"}]}'])
def test_a_list_that_is_lost_or_damaged_is_made_again_from_the_stores(tmp_path: Path, left: bytes | None):
    """All folders would be watched no more because of one file."""
    file, labels = labelled(tmp_path, "one", "two", "gone")
    before = list(Registry(str(file), str(labels)))
    damage.put(str(file), left)
    again = Registry(str(file), str(labels))
    assert list(again) == before
    assert len(before) == 2
    assert again.rebuilt is not None
    assert [path.read_bytes() for path in tmp_path.glob("*.damaged-*")] == ([] if left is None else [left])
    assert Registry(str(file), str(labels)).rebuilt is None


def test_a_list_of_a_newer_version_is_left_alone(tmp_path: Path):
    """Its owner went back to an older Backtrail for a moment."""
    file, labels = labelled(tmp_path, "one", "gone")
    file.write_bytes(b'{"version": 2, "workspaces": []}')
    with pytest.raises(RegistryDamaged, match="newer Backtrail"):
        Registry(str(file), str(labels))
    assert file.read_bytes() == b'{"version": 2, "workspaces": []}'


def test_a_damaged_label_costs_its_own_folder_only(tmp_path: Path):
    """And as long as the list is there, not even that: the label is written again."""
    file, labels = labelled(tmp_path, "one", "two", "gone")
    label = labels / workspace_id(str(tmp_path / "one")) / "workspace.json"
    content = label.read_bytes()
    label.write_bytes(b"garbage")
    Registry(str(file), str(labels))
    assert label.read_bytes() == content
    label.write_bytes(b"garbage")
    file.unlink()
    assert [entry.root for entry in Registry(str(file), str(labels))] == [str(tmp_path / "two")]


def test_a_list_that_could_not_be_made_durable_is_not_there_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Whoever was told that nothing was changed must not find a folder watched the next day."""
    path = str(tmp_path / "workspaces.json")
    registry = Registry(path)
    registry.put(entry("/home/me/project"))
    with monkeypatch.context() as patch:
        patch.setattr(durable, "os", FaultyOs("fsync", 2, errno.EIO, lasting=False))  # that of the folder
        with pytest.raises(StoreFailed):
            registry.put(entry("/srv/data"))
    assert list(registry) == list(Registry(path)) == [entry("/home/me/project")]


def test_what_cannot_be_taken_back_on_the_disk_is_taken_back_here_and_with_the_next_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A folder that is listed and that nobody watches could be neither asked about nor let go."""
    path = str(tmp_path / "workspaces.json")
    registry = Registry(path)
    registry.put(entry("/srv/data"))
    with monkeypatch.context() as patch:
        patch.setattr(durable, "os", FaultyOs("open", 1, errno.EROFS, lasting=True))
        registry.take_back(entry("/srv/data").id)
    assert list(registry) == []
    registry.put(entry("/home/me/project"))
    assert list(Registry(path)) == [entry("/home/me/project")]

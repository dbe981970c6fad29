"""The story of many agents and their secrets: sessions side by side, and nothing kept that must not be."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail import Client
from daemon.redaction.corpus import positives
from support.clients import Home, home_in
from support.git import git

MEGABYTES = float(os.environ.get("BACKTRAIL_TRANSCRIPT_MB", "20"))
WORDS = (
    "the",
    "file",
    "test",
    "passes",
    "now",
    "because",
    "we",
    "changed",
    "how",
    "it",
    "reads",
    "its",
    "input",
)
SEED = int(os.environ.get("BACKTRAIL_SEED", "20261116"))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with home_in(tmp_path) as found:
        yield found


def write_transcript(file: Path) -> list[str]:
    """A long conversation with secrets all over it; the secrets."""
    print(f"BACKTRAIL_SEED={SEED}")
    source, planted = random.Random(SEED), list(positives())
    paragraph = " ".join(source.choice(WORDS) for _ in range(3000))
    every = max(1, int(MEGABYTES * 1_000_000 / len(paragraph) / len(planted)))
    with open(file, "w") as out:
        for number, sample in enumerate(planted):
            out.write(json.dumps({"role": "user", "content": f"use this: {sample.text}"}) + "\n")
            for _ in range(every):
                out.write(json.dumps({"role": "assistant", "content": f"{number} {paragraph}"}) + "\n")
    return [secret for sample in planted for secret in sample.secrets]


def test_two_sessions_and_a_sub_agent_in_one_checkpoint_and_no_secret_in_the_store(
    home: Home, tmp_path: Path
):
    """A transcript holds what people paste: keys, passwords. The store is kept for years."""
    root, transcript = tmp_path / "work", tmp_path / "transcript.jsonl"
    root.mkdir()
    (root / "app.py").write_text("print('hello')\n")
    secrets = write_transcript(transcript)
    with Client(home=home, timeout=300) as client:
        workspace = client.watch(root)
        main = workspace.session("main", agent="builder")
        made = main.save("all three were here", turn=1, conversation=transcript, prompt="build it")
        helper = workspace.session("helper", agent="builder", parent="main")
        helper.attach([{"role": "user", "content": f"a key: {secrets[0]}"}], checkpoint=made)
        other = workspace.session("reviewer", agent="reader")
        other.attach([{"role": "user", "content": "what is this?"}], checkpoint=made)
        for session in (main, helper, other):
            assert session.show().snapshots[-1].checkpoint == made.number
        assert helper.show().parent == "main"
        snapshot = main.show().snapshots[-1]
        assert sum(snapshot.redacted.values()) >= len(secrets)
        assert snapshot.message_count == transcript.read_bytes().count(b"\n")
        store = Path(workspace.status().store)
    objects = git("cat-file", "--batch", "--batch-all-objects", git_dir=store / "repo.git")
    tables = b"".join(path.read_bytes() for path in store.glob("state.db*"))
    said = home.places.log_file.read_bytes() + home.places.event_log.read_bytes()
    kept = [
        secret for secret in secrets if any(secret.encode() in where for where in (objects, tables, said))
    ]
    assert not kept

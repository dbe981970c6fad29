"""Secrets that somebody said are nowhere: not in git, not in the table, not in events, not in the log."""

import logging
from pathlib import Path

import pytest

from backtraild.conversing import Talk
from backtraild.model import Intent
from backtraild.sessions import ToolCall
from backtraild.transcripts import Messages
from support.conversing import all_objects
from support.serving import Site, desk

# Made of parts, so that nobody takes this file for a leak.
SECRET = "ghp_" + "Ab3dE" * 7 + "z"
CUSTOM = "acme-" + "7" * 12


def talk_of_secrets(site: Site) -> None:
    service, words = site.desk.service, f"use {SECRET} and {CUSTOM}"
    service.start_session(
        site.id, "s", title=f"with {SECRET}", phase=f"phase {CUSTOM}", metadata={"k": SECRET}
    )
    service.begin_turn(site.id, "s", prompt=words, metadata={"token": SECRET})
    service.tool_used(site.id, "s", ToolCall("bash", "1", {"command": f"curl -H {SECRET} {CUSTOM}"}))
    site.write("a", "1")
    talk = Talk(Messages([{"role": "user", "content": words}]), title=words)
    service.save(site.id, Intent(message=words, session="s", turn=1, metadata={"said": words}), talk=talk)
    site.write("a", "2")
    service.begin_turn(site.id, "s", prompt="next")  # its checkpoint names the session's title
    talk = Talk(Messages([words, words]), prompt=words)
    service.save(site.id, Intent(message=words, session="s", turn=2), talk=talk)
    service.end_session(site.id, "s", f"because of {SECRET} {CUSTOM}")


def test_secrets_are_taken_out_before_anything_is_written(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """One leaked token costs more than a conversation is worth; patterns of one's own count as well."""
    caplog.set_level(logging.DEBUG)
    with desk(tmp_path) as at:
        file = at.places.config_file
        at.service.stop()
        file.write_text(file.read_text() + '[redaction]\npatterns = ["acme-[0-9]{12}"]\n')
        at.restart()
        site = at.watch()
        talk_of_secrets(site)
        view = at.service.session(site.id, "s")
        assert view.turns[0].prompt.startswith("use [REDACTED:")
        assert sum(view.snapshots[-1].redacted.values()) >= 4
        found = [all_objects(site.git_dir), repr(at.told).encode(), caplog.text.encode()]
    found += [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path != file]
    for secret in (SECRET.encode(), CUSTOM.encode()):
        assert not [place[:60] for place in found if secret in place]


def test_who_turns_redaction_off_keeps_what_was_said(tmp_path: Path):
    """It is the owner's decision, in the owner's configuration."""
    with desk(tmp_path) as at:
        file = at.places.config_file
        at.service.stop()
        file.write_text(file.read_text() + "[redaction]\nenabled = false\n")
        at.restart()
        site = at.watch()
        talk_of_secrets(site)
        assert SECRET in at.service.session(site.id, "s").turns[0].prompt

"""Conversations and history as processes: what is told, what is looked at, and going back with both."""

import json
import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backtrail.cli.main import run
from backtrail.client import Client
from support.commands import Ran, Shell, shell_in
from support.git import git
from support.terminal import terminal


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell_in(tmp_path_factory.mktemp("cli")) as found:
        found.write("README.md", "hello\n")
        git("init", "-q", "-b", "main", cwd=found.root)
        git(
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@b",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
            cwd=found.root,
        )
        found("watch")
        yield found


class Prompt:
    """Commands that are typed one after the other. They run in this process, because there are so many of them."""

    def __init__(self, shell: Shell, captured: pytest.CaptureFixture[str]) -> None:
        self._shell = shell
        self._captured = captured

    def __call__(self, *words: str, status: int = 0) -> Ran:
        self._captured.readouterr()
        found = run(words)
        out, err = self._captured.readouterr()
        ran = Ran(found, out.encode(), err)
        assert found == status, ran
        return ran

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shell, name)


@pytest.fixture
def shell(place: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prompt:
    """The commands of a person in the folder of the module's workspace."""
    place.enter(monkeypatch)
    return Prompt(place, capsys)


def said(*texts: str) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]


def transcript(shell: Prompt, messages: list[dict[str, str]], name: str = "talk.jsonl") -> str:
    """A transcript where agents keep theirs: outside of the workspace."""
    file = shell.folder / name
    file.write_text("".join(json.dumps(message) + "\n" for message in messages))
    return str(file)


def talk(shell: Prompt, session: str, turns: int, file: str = "app.py") -> list[int]:
    """A session in which every turn writes its number into a file; the numbers of the checkpoints after them."""
    texts: list[str] = []
    made = []
    with Client(home=shell.home, autostart=False) as client:
        workspace = client.workspace(shell.root)
        for turn in range(1, turns + 1):
            shell.write(file, f"{session} {turn}\n")
            prompt = f"do step {turn}"
            texts += [prompt, f"step {turn} is done"]
            title = f"The story of {session}"
            checkpoint = workspace.save(
                session=session, turn=turn, prompt=prompt, conversation=said(*texts), title=title
            )
            made.append(checkpoint.number)
    return made


def piped(shell: Prompt, content: bytes, *words: str) -> Ran:
    process = shell.start(*words, stdin=subprocess.PIPE)
    out, err = process.communicate(content, timeout=60)
    return Ran(process.returncode, out, err.decode())


def test_a_save_binds_files_and_conversation_in_one_step(place: Shell) -> None:
    """One command after each turn is all that a script around an agent needs."""
    file = transcript(place, said("Add a test", "Added."))
    place.write("app.py", "test\n")
    described = ["--agent", "claude", "--title", "Tests", "--phase", "testing"]
    words = ["--session", "bind", "--turn", "1", "--conversation", os.path.relpath(file, place.root)]
    made = place("save", *words, "--prompt", "Add a test", *described, "--json").json
    assert (made["session"], made["turn"]) == ("bind", 1)
    assert made["conversation"]
    found = place("session", "show", "bind", "--json").json
    told = {name: found[name] for name in ("session", "agent", "title", "phase", "status", "parent")}
    assert told == {
        "session": "bind",
        "agent": "claude",
        "title": "Tests",
        "phase": "testing",
        "status": "idle",
        "parent": None,
    }
    assert {"forked_from", "forked_at", "metadata"} <= set(found)
    [turn] = found["turns"]
    assert (turn["turn"], turn["prompt"], turn["after"]) == (1, "Add a test", made["number"])
    assert {"started", "ended", "tools", "before", "rewound"} <= set(turn)
    text = place("session", "history", "bind").text
    assert "user 1\n  Add a test\n\nassistant 2\n  Added.\n" in text


def test_a_conversation_may_come_through_a_pipe(shell: Prompt) -> None:
    """An agent that keeps no file can still hand over what was said."""
    content = json.dumps(said("one", "two", "three")).encode()
    made = piped(shell, content, "save", "--session", "pipe", "--turn", "1", "--conversation", "-", "--json")
    assert made.status == 0, made
    answer = shell("session", "history", "pipe", "--json").json
    assert answer["messages"] == said("one", "two", "three")
    assert answer["message_count"] == 3
    tail = shell("session", "history", "pipe", "--json", "-n", "1").json
    assert (tail["start"], tail["message_count"], tail["messages"]) == (2, 3, said("one", "two", "three")[2:])


def test_a_conversation_that_cant_be_read_is_a_warning_and_can_be_attached_later(shell: Prompt) -> None:
    """The files are what must not be lost; the checkpoint is made, and the command has not failed."""
    shell.write("app.py", "precious\n")
    missing = str(shell.folder / "missing.jsonl")
    made = shell("save", "--session", "late", "--turn", "1", "--conversation", missing)
    assert "saved" in made.text
    assert "warning: The conversation was not recorded:" in made.err
    assert "backtrail session attach late" in made.err
    words = ["session", "attach", "late", transcript(shell, said("a", "b")), "--turn", "1"]
    assert shell(*words).text == "Recorded: 2 messages.\n"
    assert shell("session", "history", "late", "--turn", "1", "--json").json["messages"] == said("a", "b")


def test_what_makes_no_sense_is_refused_with_its_reason(shell: Prompt) -> None:
    """Wrong words, unknown sessions and unknown turns are three different things."""
    assert "needs --session" in shell("save", "--prompt", "x", status=2).err
    assert "needs --session" in shell("rewind", "--to-turn", "1", status=2).err
    assert "needs --to-turn or --before-turn" in shell("rewind", "--session", "x", status=2).err
    assert "can't be limited to paths" in shell("restore", "1", "README.md", "--both", status=2).err
    assert shell("session", "show", "nobody", "--json", status=1).error["code"] == "unknown-session"
    shell("session", "start", "somebody")
    unknown = shell("rewind", "--session", "somebody", "--to-turn", "7", "--yes", "--json", status=1)
    assert unknown.error["code"] == "unknown-turn"


def test_a_session_is_begun_described_and_ended_by_commands(shell: Prompt) -> None:
    """Hooks of an agent are shell commands."""
    begun = shell(
        "session", "start", "hooks", "--agent", "claude", "--title", "A", "--meta", "model=x", "--json"
    ).json
    assert (begun["agent"], begun["status"], begun["metadata"]) == ("claude", "active", {"model": "x"})
    shell("session", "update", "hooks", "--title", "B", "--phase", "testing", "--status", "idle")
    shell.write("app.py", "before the turn\n")
    turn = shell("session", "turn", "hooks", "--prompt", "Go on", "--json").json
    assert (turn["turn"], turn["prompt"], turn["ended"]) == (1, "Go on", None)
    assert shell("show", f"{turn['before']}:app.py").text == "before the turn\n"
    ended = shell("session", "end", "hooks", "--reason", "enough", "--json").json
    assert (ended["title"], ended["phase"], ended["status"]) == ("B", "testing", "ended")
    listed = shell("session", "list", "--status", "ended", "--json").json
    assert [one["session"] for one in listed["sessions"]] == ["hooks"]
    page = shell("session", "list", "-n", "1", "--json").json
    assert page["sessions"][0]["session"] == "hooks"
    assert "hooks" in shell("session", "list").text


def test_an_export_has_the_session_and_then_every_message(shell: Prompt, tmp_path: Path) -> None:
    """JSON lines that other tools can read, for nobody else's eyes."""
    talk(shell, "exported", 1)
    lines = shell("session", "export", "exported").text.splitlines()
    assert json.loads(lines[0])["session"] == "exported"
    assert [json.loads(line) for line in lines[1:]] == said("do step 1", "step 1 is done")
    file = tmp_path / "out.jsonl"
    file.write_text("old")
    answer = shell("session", "export", "exported", str(file), "--json").json
    assert (answer["messages"], answer["bytes"]) == (2, file.stat().st_size)
    assert file.read_text().splitlines()[1:] == lines[1:]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["out.jsonl"]
    null = tmp_path / "null"
    null.symlink_to("/dev/null")
    shell("session", "export", "exported", str(null))
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode), "a device is written to, not replaced"
    nowhere = shell("session", "export", "exported", str(tmp_path / "no" / "folder"), status=1)
    assert "could not be written" in nowhere.err
    assert shell("session", "export", "nobody", str(file), status=1).out == b""
    assert file.read_text().splitlines()[1:] == lines[1:]


def test_deleting_a_session_needs_a_yes(shell: Prompt, place: Shell) -> None:
    """A conversation that is gone is gone; the checkpoints are not."""
    [made] = talk(shell, "deleted", 1)
    refused = shell("session", "delete", "deleted", "--json", status=13)
    assert "1 turn and 2 messages" in refused.error["message"]
    with terminal(place, "session", "delete", "deleted") as person:
        person.wait_for("for ever? [y/N]")
        person.type("n\n")
        assert person.end() == 13
    gone = shell("session", "delete", "deleted", "--yes", "--json").json
    assert gone["session"] == "deleted"
    assert made in gone["checkpoints"]
    assert shell("session", "history", "deleted", status=1).out == b""
    assert shell("show", f"{made}:app.py").text == "deleted 1\n"


def test_a_rewind_without_yes_tells_its_plan_and_changes_nothing(shell: Prompt) -> None:
    """A program reads the plan, asks its user, and then says --yes; a script that forgot it has lost nothing."""
    made = talk(shell, "plan", 3)
    words = ["rewind", "--session", "plan", "--to-turn", "1"]
    refused = shell(*words, "--json", "--contents", status=13)
    plan = json.loads(refused.out)
    assert plan["requires_confirmation"] is True
    assert (plan["session"], plan["turn"], plan["written"], plan["deleted"]) == ("plan", 1, ["app.py"], [])
    assert plan["messages_removed"] == 4
    assert plan["checkpoint"]["number"] == made[0]
    assert [one["path"] for one in plan["restorations"]] == ["app.py"]
    assert refused.error["code"] == "confirmation-needed"
    told = shell(*words, status=13)
    assert "would write 1 file, delete 0 files and hide 2 turns with 4 messages" in told.err
    assert told.out == b""
    dry = shell(*words, "--dry-run").text
    assert "  hide turns 2, 3 and 4 messages\n" in dry
    assert (shell.root / "app.py").read_text() == "plan 3\n"


def test_what_is_to_be_edited_is_handed_back_though_nobody_told_it_apart(shell: Prompt) -> None:
    """A script that only saves its transcript after each turn can still edit a message and send it again."""
    told = said("first", "done", "second", "done")
    for turn, texts in enumerate((told[:2], told), 1):
        shell.write("app.py", f"after {turn}\n")
        words = ["--session", "plain", "--turn", str(turn), "--conversation", transcript(shell, texts)]
        shell("save", *words)
    assert "second" in shell("session", "show", "plain").text
    done = shell("rewind", "--session", "plain", "--before-turn", "2", "--yes", "--json").json
    assert (done["prompt"], done["conversation"]) == ("second", told[:2])


def test_a_rewind_takes_both_back_and_undo_brings_them_again(shell: Prompt) -> None:
    """Edit message 2 and go on from there; then think better of it."""
    talk(shell, "both", 3)
    done = shell("rewind", "--session", "both", "--before-turn", "2", "--yes", "--json").json
    assert (shell.root / "app.py").read_text() == "both 1\n"
    assert done["conversation"] == said("do step 1", "step 1 is done")
    assert (done["prompt"], done["messages_removed"]) == ("do step 2", 4)
    assert done["safety_checkpoint"] is not None
    turns = shell("session", "show", "both", "--json").json["turns"]
    assert [(turn["turn"], turn["rewound"]) for turn in turns] == [(1, False), (2, True), (3, True)]
    shell("undo")
    assert (shell.root / "app.py").read_text() == "both 3\n"
    turns = shell("session", "show", "both", "--json").json["turns"]
    assert [turn["rewound"] for turn in turns] == [False, False, False]


def test_the_conversation_alone_goes_back(shell: Prompt) -> None:
    """The code is good, only the talk has lost its way."""
    talk(shell, "words", 2)
    done = shell("rewind", "--session", "words", "--to-turn", "1", "--conversation", "--yes")
    assert "Went back" in done.text
    assert "hidden turn 2 and 2 messages" in done.text
    assert (shell.root / "app.py").read_text() == "words 2\n"
    nothing = shell("rewind", "--session", "words", "--to-turn", "1", "--conversation")
    assert "already" in nothing.text


def test_a_person_sees_the_plan_and_only_that_is_done(shell: Prompt, place: Shell) -> None:
    """While I think, somebody changes a file: what I agreed to is not what would happen any more."""
    talk(shell, "person", 2)
    words = ["rewind", "--session", "person", "--to-turn", "1"]
    with terminal(place, *words) as person:
        person.wait_for("Go back to the state after turn 1 of person? [y/N]")
        assert "app.py" in person.shown
        assert "hide turn 2" in person.plain()
        shell.write("another.py", "new\n")
        shell.save("meanwhile")
        person.type("y\n")
        assert person.end() == 13
    assert (shell.root / "app.py").read_text() == "person 2\n"
    with terminal(place, *words) as person:
        person.wait_for("[y/N]")
        person.type("y\n")
        assert person.end() == 0
    assert (shell.root / "app.py").read_text() == "person 1\n"
    assert not (shell.root / "another.py").exists()


def test_only_what_the_session_changed_goes_back(shell: Prompt) -> None:
    """My colleague's session worked in the same folder, and keeps its work."""
    talk(shell, "mine", 1, "mine.py")
    shell.write("theirs.py", "their work\n")
    shell("save", "--session", "theirs", "--turn", "1")
    shell.write("mine.py", "mine 2\n")
    shell("save", "--session", "mine", "--turn", "2")
    shell("rewind", "--session", "mine", "--to-turn", "1", "--only-session", "--yes")
    assert (shell.root / "mine.py").read_text() == "mine 1\n"
    assert (shell.root / "theirs.py").read_text() == "their work\n"


def test_a_checkpoint_of_a_turn_is_restored_with_its_conversation(shell: Prompt) -> None:
    """`restore` by number, for whoever thinks in checkpoints."""
    made = talk(shell, "number", 2)
    refused = shell("restore", str(made[0]), "--both", status=13)
    assert "The conversation would go back, too." in refused.err
    shell("restore", str(made[0]), "--both", "--yes")
    assert (shell.root / "app.py").read_text() == "number 1\n"
    assert shell("session", "history", "number", "--json").json["messages"] == said(
        "do step 1", "step 1 is done"
    )


def test_resume_tells_all_that_is_needed_to_go_on(shell: Prompt) -> None:
    """The agent crashed in the middle of a turn, and the next one has to know everything."""
    [made] = talk(shell, "crashed", 1)
    shell("session", "turn", "crashed", "--prompt", "do step 2")
    shell.write("app.py", "half\n")
    found = shell("resume", "crashed", "--json").json
    assert found["interrupted"] is True
    assert found["last_turn"]["prompt"] == "do step 2"
    assert found["modified_files"] == ["app.py"]
    assert found["conversation"] == said("do step 1", "step 1 is done")
    text = shell("resume", "crashed").text
    assert "interrupted" in text
    assert "M  app.py" in text
    assert "step 1 is done" in text
    earlier = shell("resume", "crashed", "--from", str(made), "--json").json
    assert (earlier["checkpoint"]["number"], earlier["last_turn"]["turn"]) == (made, 1)
    assert shell("resume", "crashed", "--from", "99999", status=12).out == b""


def test_a_fork_goes_on_in_a_folder_of_its_own(shell: Prompt, tmp_path: Path) -> None:
    """Try the other way without giving up this one, from a turn or from a checkpoint."""
    made = talk(shell, "origin", 2)
    other = tmp_path / "other"
    answer = shell("fork", "origin", str(other), "--at-turn", "1", "--new-session", "second", "--json").json
    assert (other / "app.py").read_text() == "origin 1\n"
    assert (answer["root"], answer["session"], answer["forked_from"]) == (str(other), "second", "origin")
    words = ["-w", str(other), "--json"]
    assert shell("session", "history", "second", *words).json["messages"] == said(
        "do step 1", "step 1 is done"
    )
    plain = shell("fork", str(made[1]), "../plain")
    assert f"of checkpoint {made[1]}, and is watched" in plain.text
    assert (shell.folder / "plain" / "app.py").read_text() == "origin 2\n"
    assert (
        shell("fork", "99999", str(tmp_path / "x"), "--json", status=12).error["code"] == "unknown-checkpoint"
    )
    assert shell("fork", "nobody", str(tmp_path / "x"), "--json", status=1).error["code"] == "unknown-session"
    full = shell("fork", "origin", str(other), status=1)
    assert full.out == b""


def test_a_checkpoint_becomes_a_branch_of_my_own_repository(shell: Prompt) -> None:
    """For a pull request, without touching what I have staged."""
    talk(shell, "branched", 1)
    assert "The branch tried of" in shell("branch", "@", "tried").text
    assert git("show", "tried:app.py", cwd=shell.root) == b"branched 1\n"
    assert shell("branch", "@", "tried", "--json", status=1).error["code"] == "branch-refused"
    assert shell("branch", "@", "tried", "--force", "--json").json["branch"] == "tried"


def test_the_timeline_has_everything_in_order_and_by_each_filter(shell: Prompt) -> None:
    """One list of what happened, and only what I ask for of it."""
    shell("session", "start", "story", "--phase", "planning")
    talk(shell, "story", 2, "story.py")
    events = shell("timeline", "--session", "story", "--json").json["events"]
    subtypes = [event["subtype"] for event in events]
    assert subtypes[0] == "session_started"
    assert subtypes.index("checkpoint_created") < subtypes.index("conversation_saved")
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
    chat = shell("timeline", "--session", "story", "--type", "chat", "--json").json["events"]
    assert {event["type"] for event in chat} == {"chat"}
    last = shell("timeline", "--session", "story", "-n", "2", "--json").json
    assert last["events"] == events[-2:]
    page = shell("timeline", "--session", "story", "--cursor", "0", "-n", "2", "--json").json
    assert page["events"] == events[:2]
    assert page["next"] == events[1]["seq"]
    files = shell("timeline", "--type", "file", "--path", "story.py", "--json").json["events"]
    assert [event["path"] for event in files] == ["story.py", "story.py"]
    assert "story turn 2" in shell("timeline", "--session", "story", "--since", "1 hour ago").text
    assert "Nothing" in shell("timeline", "--session", "story", "--until", "2020-01-01").text


def test_a_followed_timeline_goes_on_with_what_happens(shell: Prompt) -> None:
    """A window beside the agent's; one object a line for a program."""
    shell("session", "start", "followed")
    process = shell.start("timeline", "--session", "followed", "--follow", "--json")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["subtype"] == "session_started"
    shell.save("of nobody")
    shell("session", "end", "followed")
    assert json.loads(process.stdout.readline())["subtype"] == "session_ended"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130


def test_a_file_tells_who_changed_it_and_what_for(shell: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """The history of a file, of each line, and of a checkpoint, with the words that led to it."""
    made = talk(shell, "author", 2, "src/authored.py")
    shell.write("src/authored.py", "author 2\nby hand\n")
    monkeypatch.chdir(shell.root / "src")
    versions = shell("log", "authored.py", "--json").json["versions"]
    monkeypatch.chdir(shell.root)
    assert [(one["session"], one["turn"], one["prompt"]) for one in versions] == [
        ("author", 2, "do step 2"),
        ("author", 1, "do step 1"),
    ]
    assert "author#2  do step 2" in shell("log", "src/authored.py").text
    lines = shell("blame", "src/authored.py", "--json").json["lines"]
    assert [(line["text"].strip(), line["checkpoint"]) for line in lines] == [
        ("author 2", made[1]),
        ("by hand", None),
    ]
    first = shell("blame", "src/authored.py", str(made[0])).text
    assert "author#1  1) author 1" in first
    explained = shell("show", "--explain", str(made[1])).text
    assert "Asked in turn 2 of author (The story of author)\n  do step 2\n" in explained
    assert "src/authored.py" in explained
    answer = shell("show", "--explain", str(made[1]), "--json").json
    assert answer["checkpoint"]["number"] == made[1]
    assert [one["turn"]["prompt"] for one in answer["turns"]] == ["do step 2"]


def test_words_are_found_in_conversations_and_paths(shell: Prompt) -> None:
    """I remember a word of it, but not when or where it was."""
    shell.write("aardvark.py", "x\n")
    file = transcript(shell, said("tell me about the aardvark", "It eats ants."))
    shell("save", "--session", "zoo", "--turn", "1", "--conversation", file)
    hits = shell("search", "aardvark", "--json").json["hits"]
    assert {hit["found"] for hit in hits} >= {"message", "path"}
    assert [hit["session"] for hit in shell("search", "eats ants", "--json").json["hits"]] == ["zoo"]
    assert shell("search", "ants eats", "--json").json["hits"] == []
    text = shell("search", "aardvark", "--session", "zoo").text
    assert "zoo" in text
    assert "Nothing was found." in shell("search", "unicorns").text


def test_the_shell_completes_sessions_where_one_is_wanted(shell: Prompt) -> None:
    """Nobody types a UUID."""
    shell("session", "start", "complete-me", "--title", "To be completed")
    line = "complete-me\tTo be completed\n"
    for words in (
        ["session", "show"],
        ["resume"],
        ["fork"],
        ["rewind", "--session"],
        ["timeline", "--session"],
    ):
        assert line in shell("__complete", *words, "comp").text
    assert "1\t" in shell("__complete", "fork", "1").text


def test_a_session_follows_a_worktree_and_says_when_it_can_t(shell: Prompt) -> None:
    """Agents work in worktrees; one that was removed is a warning, and no reason to lose a turn."""
    tree = shell.folder / "tree"
    tree.mkdir()
    watched = shell("watch", str(tree), "--json").json["workspace"]
    begun = shell("session", "start", "following", "--follow", "../tree", "--json").json
    assert begun["follows"] == [watched]
    assert watched in shell("session", "show", "following").text
    made = shell("save", "--session", "following", "--turn", "1", "--json").json
    assert [one["root"] for one in made["also"]] == [str(tree)]
    shell("unwatch", str(tree), "--purge", "--yes")
    warned = shell("save", "--session", "following", "--turn", "2")
    assert f"warning: {watched} did not follow: " in warned.err

"""The story of an edited message: ten turns, back to the fourth, another try, and everything undone."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.commands import Shell, shell_in

Files = dict[str, str]


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with shell_in(tmp_path) as found:
        yield found


def files(shell: Shell) -> Files:
    """Everything in the folder."""
    return {
        str(path.relative_to(shell.root)): path.read_text()
        for path in sorted(shell.root.rglob("*"))
        if path.is_file()
    }


def messages(turn: int, flavour: str = "") -> list[dict[str, Any]]:
    """The conversation after a turn: a question and an answer for each."""
    return [
        {"role": role, "content": f"{role} {number}{flavour if number == turn else ''}"}
        for number in range(1, turn + 1)
        for role in ("user", "assistant")
    ]


def take_turn(shell: Shell, number: int, flavour: str = "") -> Files:
    """An agent answers a message: it writes files itself, and lets a shell do the rest."""
    shell.write("app.py", f"turn = {number}{flavour!r}\n")
    shell.write(f"module_{number}.py", f"made in turn {number}{flavour}\n")
    commands = "echo log >> shell.log; rm -f old_*; touch old_$1; mkdir -p deep/$1; echo x > deep/$1/file"
    subprocess.run(["sh", "-c", commands, "sh", str(number)], cwd=shell.root, check=True)
    transcript = shell.folder / "transcript.jsonl"
    transcript.write_text("".join(json.dumps(each) + "\n" for each in messages(number, flavour)))
    words = ("--session", "chat", "--turn", str(number), "--prompt", f"please do {number}{flavour}")
    made = shell("save", "--json", *words, "--conversation", str(transcript)).json
    assert (made["session"], made["turn"]) == ("chat", number)
    assert "conversation_error" not in made
    return files(shell)


def test_an_earlier_message_is_edited_and_everything_after_it_is_undone(shell: Shell):
    """What was said and what was done belong together: going back in one goes back in both."""
    shell.write("app.py", "turn = 0\n")
    shell("watch")
    after = {number: take_turn(shell, number) for number in range(1, 11)}

    rewind = ("rewind", "--session", "chat", "--before-turn", "4", "--json")
    plan = shell(*rewind, status=13).json
    assert plan["requires_confirmation"] is True
    assert plan["prompt"] == "please do 4"
    assert plan["messages_removed"] == 14
    assert "app.py" in plan["written"]
    assert {f"module_{number}.py" for number in range(4, 11)} <= set(plan["deleted"])
    assert files(shell) == after[10]

    done = shell(*rewind, "--yes").json
    assert files(shell) == after[3]
    assert done["conversation"] == messages(3)
    assert (done["prompt"], done["requires_confirmation"]) == ("please do 4", False)
    assert done["safety_checkpoint"]["number"] > 0
    turns = {
        turn["turn"]: turn["rewound"] for turn in shell("session", "show", "chat", "--json").json["turns"]
    }
    assert turns == {number: number >= 4 for number in range(1, 11)}

    again = take_turn(shell, 4, " differently")
    assert again["app.py"] == "turn = 4' differently'\n"
    shown = shell("session", "show", "chat", "--json").json["turns"]
    assert [turn["turn"] for turn in shown if not turn["rewound"]] == [1, 2, 3, 4]
    assert shown[-1]["prompt"] == "please do 4 differently"

    shell("undo")
    assert files(shell) == after[10]
    shown = shell("session", "show", "chat", "--json").json["turns"]
    assert [turn["turn"] for turn in shown if not turn["rewound"]] == list(range(1, 11))
    back = shell("rewind", "--session", "chat", "--to-turn", "10", "--conversation", "--json", "--yes").json
    assert back["conversation"] == messages(10)


def test_a_rewind_of_the_conversation_alone_leaves_the_files(shell: Shell):
    """The code is fine, the talk went astray."""
    shell.write("app.py", "turn = 0\n")
    shell("watch")
    after = {number: take_turn(shell, number) for number in (1, 2, 3)}
    done = shell("rewind", "--session", "chat", "--to-turn", "1", "--conversation", "--json", "--yes").json
    assert done["conversation"] == messages(1)
    assert (done["written"], done["deleted"]) == ([], [])
    assert files(shell) == after[3]


def test_a_rewind_of_the_files_alone_leaves_the_conversation(shell: Shell):
    """The talk goes on about what did not work."""
    shell.write("app.py", "turn = 0\n")
    shell("watch")
    after = {number: take_turn(shell, number) for number in (1, 2, 3)}
    shell("rewind", "--session", "chat", "--to-turn", "1", "--files", "--json", "--yes")
    assert files(shell) == after[1]
    turns = shell("session", "show", "chat", "--json").json["turns"]
    assert [turn["rewound"] for turn in turns] == [False, False, False]

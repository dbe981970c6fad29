"""The story of an edited message: ten turns, the fourth is edited and sent again, and everything is undone."""

import subprocess
from pathlib import Path

import pytest

from backtrail.errors import UnknownTurn
from support.agents import Agent, said
from support.disk import snapshot
from support.project import Files
from support.serving import Site, desk


def work(agent: Agent, turns: int) -> list[Files]:
    """Edits of all sorts, also by shell commands; the disk after each turn, and before the first."""
    site = agent.site
    states = [snapshot(site.root)]
    for number in range(1, turns + 1):
        agent.ask(f"message {number}")
        site.write(f"src/file{number}.txt", f"by turn {number}\n")
        site.write("shared.txt", "".join(f"line {line}\n" for line in range(number)))
        if number in (5, 8):
            script = (
                f"rm src/file{number - 1}.txt; mv src/file{number}.txt moved{number}.txt; chmod +x shared.txt"
            )
            subprocess.run(["sh", "-c", script], cwd=site.root, check=True)
        agent.answer(f"answer {number}")
        states.append(snapshot(site.root))
    return states


def test_message_four_is_edited_and_sent_again_and_everything_is_undone(tmp_path: Path):
    """What people do in a chat: see that it went wrong from message 4 on, and say it better."""
    with desk(tmp_path) as at:
        site = at.watch()
        site.write("kept.txt", "from before\n")
        agent = Agent(site)
        states = work(agent, 10)
        whole = list(agent.messages)
        plan = agent.rewind(4, before=True, confirm=False)
        assert plan.requires_confirmation
        assert plan.turns_rewound == (4, 5, 6, 7, 8, 9, 10)
        assert (plan.messages_removed, plan.prompt) == (14, "message 4")
        assert b"src/file10.txt" in plan.deleted
        assert snapshot(site.root) == states[10], "asking changes nothing"
        assert len(agent.turns()) == 10

        done = agent.rewind(4, before=True, plan=plan.plan)
        assert not done.requires_confirmation
        assert (done.written, done.deleted, done.turns_rewound) == (
            plan.written,
            plan.deleted,
            plan.turns_rewound,
        )
        assert snapshot(site.root) == states[3]
        assert said(done) == whole[:6] == agent.recorded()
        assert agent.turns() == [(number, f"message {number}") for number in range(1, 4)]
        assert len(agent.turns(rewound=True)) == 10, "hidden, not destroyed"

        again = agent.turn("message 4, better", {"better.txt": "better\n"})
        assert agent.turns()[3:] == [(4, "message 4, better")]
        assert agent.recorded() == agent.messages
        assert len(agent.messages) == 8

        at.restart()
        at.service.undo(site.id)
        assert snapshot(site.root) == states[10]
        assert agent.turns() == [(number, f"message {number}") for number in range(1, 11)]
        assert agent.recorded() == whole
        at.service.undo(site.id)
        assert snapshot(site.root) == again
        assert agent.turns()[3:] == [(4, "message 4, better")]
        assert agent.recorded() == agent.messages
        at.service.undo(site.id)
        assert agent.recorded() == whole
        for number in range(1, 11):
            assert agent.recorded(number) == whole[: 2 * number]


def test_every_turn_can_be_gone_back_to_and_forward_again(site: Site):
    """Walking through a conversation, as with the arrow keys: each stop shows files and words of that moment."""
    agent = Agent(site)
    states = work(agent, 5)
    whole = list(agent.messages)
    for number in (4, 2, 1):
        agent.rewind(number)
        assert snapshot(site.root) == states[number]
        assert agent.recorded() == whole[: 2 * number]
        assert len(agent.turns()) == number
        with pytest.raises(UnknownTurn):
            agent.rewind(number + 1)
    agent.rewind(1, before=True)
    assert snapshot(site.root) == states[0]
    assert (agent.recorded(), agent.turns()) == ([], [])
    site.desk.service.undo(site.id)
    assert snapshot(site.root) == states[1]
    assert agent.recorded() == whole[:2]

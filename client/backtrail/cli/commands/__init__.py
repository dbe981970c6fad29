"""Every command there is, and the module that is imported when it runs: starting takes no longer than it must."""

from importlib import import_module
from typing import NamedTuple

from backtrail.cli.command import Command


class Entry(NamedTuple):
    """Where a command is found, and the line that the main help has for it."""

    purpose: str
    module: str
    summary: str


_FOLDERS = "Watch folders"
_HISTORY = "Save and look"
_BACK = "Go back"
_TALK = "Conversations and history"
_KEEP = "Keep and let go"
_RUNNING = "Run it"

# In the order of the main help.
COMMANDS = {
    "watch": Entry(_FOLDERS, "watching", "keep every settled state of a folder from now on"),
    "unwatch": Entry(_FOLDERS, "watching", "watch a folder no more"),
    "workspaces": Entry(_FOLDERS, "watching", "list what is watched"),
    "status": Entry(_FOLDERS, "status", "tell how a workspace is doing"),
    "pause": Entry(_FOLDERS, "status", "stop making checkpoints automatically"),
    "resume-watching": Entry(_FOLDERS, "status", "make them automatically again"),
    "save": Entry(_HISTORY, "saving", "make a checkpoint now"),
    "list": Entry(_HISTORY, "listing", "list checkpoints, newest first"),
    "show": Entry(_HISTORY, "showing", "show a checkpoint, or a file as it was then"),
    "diff": Entry(_HISTORY, "diffing", "show what changed"),
    "events": Entry(_HISTORY, "events", "follow what happens"),
    "restore": Entry(_BACK, "restoring", "make files what they were"),
    "undo": Entry(_BACK, "restoring", "take the last restore back"),
    "rewind": Entry(_TALK, "rewinding", "take files and conversation back to a turn"),
    "resume": Entry(_TALK, "continuing", "tell all that is needed to go on with a session"),
    "fork": Entry(_TALK, "continuing", "go on from an earlier point, in a new folder"),
    "branch": Entry(_TALK, "continuing", "make a checkpoint a branch of your git repository"),
    "timeline": Entry(_TALK, "timeline", "show what happened, in order"),
    "log": Entry(_TALK, "history", "show every change of a file, and what was asked for"),
    "blame": Entry(_TALK, "history", "show where each line of a file is from"),
    "search": Entry(_TALK, "history", "find words in conversations and paths"),
    "session list": Entry(_TALK, "sessions", "list conversations, the last used first"),
    "session show": Entry(_TALK, "sessions", "show a conversation's turns and what is known of it"),
    "session browse": Entry(_TALK, "browsing", "look at a conversation, edit a message, go back"),
    "session history": Entry(_TALK, "sessions", "show what was said"),
    "session export": Entry(_TALK, "sessions", "write a conversation as lines of JSON"),
    "session delete": Entry(_TALK, "sessions", "delete a conversation"),
    "session start": Entry(_TALK, "telling", "begin a session, or tell about it"),
    "session update": Entry(_TALK, "telling", "change what is known of a session"),
    "session end": Entry(_TALK, "telling", "end a session"),
    "session turn": Entry(_TALK, "telling", "begin a turn: keep the state before it"),
    "session attach": Entry(_TALK, "telling", "record a conversation by itself"),
    "hook": Entry(_TALK, "hook", "be told by a coding agent what it does"),
    "pin": Entry(_KEEP, "keeping", "keep a checkpoint for ever"),
    "unpin": Entry(_KEEP, "keeping", "leave a checkpoint to retention again"),
    "delete": Entry(_KEEP, "keeping", "let go of checkpoints"),
    "prune": Entry(_KEEP, "keeping", "let go of what retention does not keep"),
    "mirror": Entry(_KEEP, "mirroring", "copy all of it to a git repository elsewhere"),
    "verify": Entry(_KEEP, "verifying", "check every byte that is stored"),
    "migrate": Entry(_KEEP, "migrating", "bring stores of an older Backtrail up to date"),
    "doctor": Entry(_RUNNING, "doctor", "look for what keeps Backtrail from working"),
    "daemon start": Entry(_RUNNING, "daemon", "start the daemon if none is running"),
    "daemon stop": Entry(_RUNNING, "daemon", "save what is pending and end the daemon"),
    "daemon restart": Entry(_RUNNING, "daemon", "stop the daemon and start it again"),
    "daemon status": Entry(_RUNNING, "daemon", "tell which daemon is running"),
    "daemon logs": Entry(_RUNNING, "daemon_logs", "show what the daemon says about its work"),
    "daemon run": Entry(_RUNNING, "daemon", "run the daemon in the foreground"),
    "daemon keys": Entry(_RUNNING, "daemon_keys", "let a client on another machine in"),
    "service install": Entry(_RUNNING, "service", "start the daemon with every login"),
    "service uninstall": Entry(_RUNNING, "service", "undo that"),
    "service status": Entry(_RUNNING, "service", "tell whether it is installed"),
    "completion": Entry(_RUNNING, "completion", "print the completion script of a shell"),
}
HIDDEN = {"__complete": Entry("", "completing", "print candidates for completion")}
# Words that are followed by a second one.
GROUPS = frozenset(name.split()[0] for name in COMMANDS if " " in name)


def load(name: str) -> Command:
    """The command of that name."""
    entry = COMMANDS.get(name) or HIDDEN[name]
    module = import_module(f"backtrail.cli.commands.{entry.module}")
    found = module.COMMANDS[name]
    assert isinstance(found, Command)  # noqa: S101 - says to the type checker what a test checks for all
    return found

"""Words of a command line, without a process: what they mean, and what is said when they mean nothing."""

import json

import pytest

from backtrail.cli import commands
from backtrail.cli.command import EXITS, Command
from backtrail.cli.main import run
from backtrail.cli.parser import parse
from backtrail.errors import BacktrailError, UsageError

ALL = [*commands.COMMANDS]


def failing(*words: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        parse(words)
    return caught.value


@pytest.mark.parametrize(
    "words", ["--json -w /x list -n 5", "list -n 5 -w /x --json", "-w/x list --json -n5"]
)
def test_options_of_every_command_stand_before_or_after_it(words: str) -> None:
    """Nobody remembers on which side of the command an option belongs."""
    options = parse(words.split()).options
    assert (options.json, options.workspace, options.number) == (True, "/x", 5)


def test_options_may_stand_between_a_command_and_its_second_word() -> None:
    """`backtrail daemon --json status` is no less clear than the other order."""
    parsed = parse(["daemon", "--json", "status"])
    assert (parsed.name, parsed.options.json) == ("daemon status", True)


def test_options_may_stand_between_a_checkpoint_and_paths() -> None:
    """`restore 42 --yes src` is what people type, and some versions of argparse refuse it."""
    options = parse(["restore", "42", "--yes", "src", "--dry-run", "docs"]).options
    assert (options.checkpoint, options.paths, options.yes) == ("42", ["src", "docs"], True)


def test_after_two_dashes_everything_is_a_path() -> None:
    """A file may be called --yes."""
    options = parse(["restore", "42", "--", "--yes"]).options
    assert (options.paths, options.yes) == (["--yes"], False)
    options = parse(["diff", "1", "--", "2", "-x"]).options
    assert (options.older, options.newer, options.paths) == ("1", None, ["2", "-x"])


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        ("lits", "no command `backtrail lits`", "Did you mean `backtrail list`?"),
        ("daemon sttaus", "no command `backtrail daemon sttaus`", "Did you mean `backtrail daemon status`?"),
        ("daemon", "`backtrail daemon` needs one more word", "start, stop"),
        ("", "without a command", "`backtrail --help` lists the commands."),
        ("save --mesage hello", "`backtrail save` has no option --mesage", "Did you mean --message?"),
        ("save -x", "`backtrail save` has no option -x", "`backtrail save --help`"),
        ("save --mess hello", "has no option --mess", "Did you mean --message?"),
        ("show", "`backtrail show` needs ID[:PATH]", "`backtrail show --help`"),
        ("delete", "`backtrail delete` needs ID", "example"),
        ("status now", "`backtrail status` does not know what to do with “now”", "example"),
        ("list -n 0", "“0” is not a whole number from 1 on", "`backtrail list --help`"),
        ("list -n many", "“many” is not a whole number", "`backtrail list --help`"),
        (
            "watch --max-store much",
            "“much” is not a number of bytes, such as 500M",
            "`backtrail watch --help`",
        ),
        ("watch --min-free -1M", "--min-free", "`backtrail watch --help`"),
        ("list --kind odd", "invalid choice: 'odd'", "`backtrail list --help`"),
        ("save --meta k", "“k” is not KEY=VALUE", "`backtrail save --help`"),
        ("save -m", "expected one argument", "`backtrail save --help`"),
        ("completion csh", "SHELL can't be “csh”", "bash, zsh, fish"),
        ("diff --stat --name-status", "not allowed with argument --stat", "`backtrail diff --help`"),
        ("xyzzyplugh", "no command `backtrail xyzzyplugh`", "`backtrail --help` lists the commands."),
    ],
)
def test_words_that_make_no_sense_are_answered_with_what_would(words: str, said: str, hint: str) -> None:
    """A typing error must not cost a look into the manual."""
    error = failing(*words.split())
    assert said in error.message
    assert hint in error.hint


@pytest.mark.parametrize("words", ["lits --json", "--json save --mesage x", "list -n 0 --json"])
def test_in_json_mode_wrong_words_are_a_json_error_too(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program that reads errors must not find a usage text."""
    assert run(words.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert json.loads(printed.err)["error"]["code"] == "usage"


def test_json_after_two_dashes_is_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    """What is a path for the command is no option for its errors."""
    assert run(["lits", "--", "--json"]) == 2
    assert capsys.readouterr().err.startswith("error: There is no command")


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_help_with_an_example_and_its_exit_codes(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Help without an example sends people to a search engine."""
    assert run([*name.split(), "--help"]) == 0
    text, err = capsys.readouterr()
    command = commands.load(name)
    assert text.startswith(f"usage: backtrail {name}")
    assert f"example:\n  {command.example.splitlines()[0]}" in text
    failing = f"\n  70   {EXITS[70]}\n  130  {EXITS[130]}\n"
    assert text.endswith(f"exit codes:\n  0    {EXITS[0]}\n") if name == "hook" else failing in text
    assert command.description.splitlines()[0] in text
    assert max(map(len, text.splitlines())) <= 120
    assert err == ""


@pytest.mark.parametrize("name", ALL)
def test_every_example_is_a_command_that_parses(name: str) -> None:
    """An example that does not work is worse than none."""
    import shlex

    for line in commands.load(name).example.splitlines():
        words = shlex.split(line.removeprefix("source <(").rstrip(")").partition(" > ")[0])
        assert words[0] == "backtrail"
        assert parse(words[1:]).name == name


def test_the_main_help_has_every_command_under_its_purpose(capsys: pytest.CaptureFixture[str]) -> None:
    """Thirty commands in one column are no overview."""
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    for name, entry in commands.COMMANDS.items():
        assert f"\n  {name:<20}  {entry.summary}\n" in text
        assert f"\n{entry.purpose}:\n" in text
    assert "__complete" not in text
    assert run(["help"]) == 0
    assert capsys.readouterr().out == text
    assert run(["daemon", "--help"]) == 0
    assert "daemon keys" in capsys.readouterr().out


def test_the_table_of_commands_is_what_the_modules_have() -> None:
    """A command that is in a module and not in the table can't be called."""
    table = {**commands.COMMANDS, **commands.HIDDEN}
    for module in {entry.module for entry in table.values()}:
        listed = [name for name, entry in table.items() if entry.module == module]
        loaded = __import__(f"backtrail.cli.commands.{module}", fromlist=["COMMANDS"]).COMMANDS
        assert sorted(loaded) == sorted(listed)


def test_version_is_told_in_both_forms(capsys: pytest.CaptureFixture[str]) -> None:
    """Reports of bugs begin with it."""
    from backtrail import __version__

    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"backtrail {__version__}\n"
    assert run(["list", "--version", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"version": __version__}


def broken(failure: BaseException) -> Command:
    def run(_: object) -> int:
        raise failure

    return Command(run, "", "")


def test_a_bug_ends_with_70_and_shows_where_only_when_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A traceback helps whoever mends it, and frightens everybody else."""
    monkeypatch.setattr(commands, "load", lambda _: broken(KeyError("lost")))
    assert run(["status"]) == 70
    err = capsys.readouterr().err
    assert err.startswith("error: This is a bug in Backtrail: KeyError: 'lost'.\n")
    assert "BACKTRAIL_DEBUG=1" in err
    assert "Traceback" not in err
    monkeypatch.setenv("BACKTRAIL_DEBUG", "1")
    assert run(["status"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_an_error_says_its_sentence_and_its_hint_and_ends_with_its_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a file is called must not reach the terminal as a command to it."""
    monkeypatch.setattr(commands, "load", lambda _: broken(BacktrailError("a\x1b[2Jb \udcff", "Do this.")))
    assert run(["status"]) == 1
    assert capsys.readouterr().err == "error: a\\x1b[2Jb \\udcff\nhint:  Do this.\n"


def test_an_interrupt_ends_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A shell's loop has to notice that it shall end."""
    monkeypatch.setattr(commands, "load", lambda _: broken(KeyboardInterrupt()))
    assert run(["status", "--json"]) == 130
    assert json.loads(capsys.readouterr().err)["error"]["code"] == "interrupted"


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("512", 512), ("3k", 3_000), ("500M", 500_000_000), ("20G", 20 * 10**9), ("1T", 10**12)],
)
def test_sizes_may_have_a_unit(text: str, size: int) -> None:
    """Nobody counts the zeros of a terabyte."""
    options = parse(["watch", "--max-store", text, "--min-free", text]).options
    assert (options.max_store, options.min_free) == (size, size)

"""From words to a command and its options. Only the parser of the command that is asked for is built.

Words given by place are told from options here rather than by argparse, which in some versions of Python does
not understand `restore 42 --yes src`.
"""

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

from backtrail.cli import commands, typed
from backtrail.cli.command import Argument, Command
from backtrail.errors import UsageError

_WITH_VALUE = ("-w", "--workspace", "--color", "--colour")
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_MAIN_HELP = "`backtrail --help` lists the commands."


class Parsed(NamedTuple):
    """What is wanted. Without a command, it is the main help or the version."""

    name: str
    command: Command | None
    options: Namespace


class OptionParser(ArgumentParser):
    """Knows options only, and raises what is wrong with them."""

    def error(self, message: str) -> NoReturn:
        """A sentence instead of the usage on stderr and the end of the process."""
        what = message.removeprefix("argument ")
        raise UsageError(f"`{self.prog}`: {what}.", f"`{self.prog} --help` explains its options.")


def parse(words: Sequence[str]) -> Parsed:
    """What these words ask for; raises UsageError."""
    leading, rest = _leading_options(words)
    if rest[:1] == ["help"]:
        return parse([*leading, *rest[1:], "--help"])
    name, others = split_command(words)
    if name in commands.HIDDEN:  # its words are those of another command line, and not for us to understand
        options = _options_of(name, [])
        options.words = rest[1:]
        return Parsed(name, commands.load(name), options)
    if name in commands.COMMANDS:
        return _of_command(name, commands.load(name), others)
    if not name:
        return _without_command(others)
    if name in commands.GROUPS:
        return _without_subcommand(name, others)
    raise UsageError(f"There is no command `backtrail {typed.text(name)}`.", _meant(name, commands.COMMANDS))


def split_command(words: Sequence[str]) -> tuple[str, list[str]]:
    """The command, of one word or two, and all other words. It is empty, or only a group, where one is missing."""
    leading, rest = _leading_options(words)
    if not rest or rest[0] not in commands.GROUPS:
        return "".join(rest[:1]), [*leading, *rest[1:]]
    more, others = _leading_options(rest[1:])
    return " ".join([rest[0], *others[:1]]), [*leading, *more, *others[1:]]


def wants_json(words: Sequence[str]) -> bool:
    """Whether an error is to be told as JSON, even that these words can't be parsed."""
    before = words[: words.index("--")] if "--" in words else words
    return "--json" in before


def add_global_options(parser: ArgumentParser) -> None:
    """The options that stand before or after any command."""
    add = parser.add_argument_group("options of every command").add_argument
    add(
        "-w",
        "--workspace",
        metavar="PATH",
        help="the workspace, or any path in it (default: the current folder)",
    )
    add("--json", action="store_true", help="print one JSON document instead of text")
    add(
        "--color",
        "--colour",
        dest="colour",
        metavar="WHEN",
        choices=("auto", "always", "never"),
        default="auto",
        help="colour the text: auto (the default), always or never",
    )
    add("--no-autostart", action="store_true", help="do not start the daemon if none is running")
    add("--quiet", action="store_true", help="no progress, notes or warnings; errors are still told")
    add("--version", action="store_true", help="print the version")
    add("-h", "--help", action="store_true", help="print this help")


def options_parser(name: str, command: Command) -> OptionParser:
    """What understands the options of a command; words given by place are not its business."""
    parser = _empty_parser(f"backtrail {name}")
    command.options(parser)
    add_global_options(parser)
    return parser


def number(least: int) -> Callable[[str], int]:
    """The type of an option that is a whole number."""

    def convert(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text) < 1 << 63):
            raise ArgumentTypeError(f"“{text}” is not a whole number from {least} on")
        return int(text)

    return convert


def amount(text: str) -> int:
    """The type of an option that is a number of bytes, in units of a thousand: `500M`, `20G`, `1000000`."""
    unit = text[-1:] if text[-1:] in _UNITS else ""
    digits = text.removesuffix(unit)
    if not (digits.isascii() and digits.isdigit() and len(digits) < 12):
        raise ArgumentTypeError(f"“{text}” is not a number of bytes, such as 500M or 20G")
    return int(digits) * _UNITS[unit]


def _empty_parser(prog: str) -> OptionParser:
    # Without a width of its own, argparse imports half of the library for every option, to learn the width.
    from backtrail.cli.help import Formatter

    return OptionParser(prog=prog, add_help=False, allow_abbrev=False, formatter_class=Formatter)


def _leading_options(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options before the first word that is none, with their values; and the rest."""
    end = 0
    while end < len(words) and words[end].startswith("-"):
        end += 2 if words[end] in _WITH_VALUE else 1
    return list(words[:end]), list(words[end:])


def _without_command(words: list[str]) -> Parsed:
    options = _options_of("backtrail", words)
    if not (options.help or options.version):
        raise UsageError("`backtrail` is called without a command.", _MAIN_HELP)
    return Parsed("", None, options)


def _without_subcommand(group: str, words: list[str]) -> Parsed:
    options = _options_of(f"backtrail {group}", words)
    if not (options.help or options.version):
        known = [name.split()[1] for name in commands.COMMANDS if name.startswith(f"{group} ")]
        raise UsageError(f"`backtrail {group}` needs one more word.", f"It is one of: {', '.join(known)}.")
    return Parsed(group, None, options)


def _options_of(prog: str, words: list[str]) -> Namespace:
    """The options of every command, where there is no command."""
    parser = _empty_parser(prog)
    add_global_options(parser)
    return _known(parser, words)[0]


def _of_command(name: str, command: Command, words: list[str]) -> Parsed:
    before, after = _split_at_dashes(words)
    options, placed = _known(options_parser(name, command), before)
    if not (options.help or options.version):
        if command.paths_after_dashes:
            options.paths, after = after, []
        _place(name, command.arguments, [*placed, *after], options)
    return Parsed(name, command, options)


def _split_at_dashes(words: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _known(parser: OptionParser, words: list[str]) -> tuple[Namespace, list[str]]:
    """The options, and the words that are none. One that looks like an option and is not known is an error."""
    options, others = parser.parse_known_args(words)
    for word in others:
        if word.startswith("-") and word != "-" and not options.help:
            known = [
                text
                for action in parser._actions
                for text in action.option_strings
                if action.help != SUPPRESS
            ]
            hint = _meant(word.partition("=")[0], known) if word.startswith("--") else ""
            raise UsageError(
                f"`{parser.prog}` has no option {word}.", hint or f"`{parser.prog} --help` lists them."
            )
    return options, others


def _place(name: str, arguments: Sequence[Argument], words: list[str], options: Namespace) -> None:
    """Give the words their names, by their places."""
    left = list(words)
    for argument in arguments:
        if argument.times in "*+":
            taken, left = left, []
        else:
            taken, left = left[:1], left[1:]
        if not taken and argument.times in "1+":
            raise UsageError(
                f"`backtrail {name}` needs {argument.metavar}: {argument.explained}.", _usage_hint(name)
            )
        for word in taken:
            _check_choice(name, argument, word)
        setattr(options, argument.name, taken if argument.times in "*+" else taken[0] if taken else None)
    if left:
        raise UsageError(f"`backtrail {name}` does not know what to do with “{left[0]}”.", _usage_hint(name))


def _check_choice(name: str, argument: Argument, word: str) -> None:
    if argument.choices and word not in argument.choices:
        raise UsageError(
            f"`backtrail {name}`: {argument.metavar} can't be “{word}”.",
            f"It is one of: {', '.join(argument.choices)}.",
        )


def _usage_hint(name: str) -> str:
    return f"`backtrail {name} --help` has an example."


def _meant(word: str, known: Sequence[str] | dict[str, commands.Entry]) -> str:
    from difflib import get_close_matches  # only somebody who has mistyped pays for it

    near = get_close_matches(word, list(known), n=1, cutoff=0.5)
    begun = [name for name in known if name.startswith(word)]
    if not near and not begun:
        return _MAIN_HELP if isinstance(known, dict) else ""
    best = near[0] if near else begun[0]
    return f"Did you mean `backtrail {best}`?" if isinstance(known, dict) else f"Did you mean {best}?"

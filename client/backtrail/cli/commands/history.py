"""`log`, `blame`, `search`: one file through time, where its lines are from, and words wherever they are."""

from argparse import ArgumentParser

from msgspec.structs import replace

from backtrail.cli import typed
from backtrail.cli.command import CHECKPOINT, FILE, OF_CHECKPOINT, Argument, Command
from backtrail.cli.invocation import Invocation
from backtrail.cli.paging import gather
from backtrail.cli.parser import number
from backtrail.cli.render import history as texts
from backtrail.protocol import STATUS, OfWorkspace
from backtrail.session_protocol import BLAME, LOG, SEARCH, AskBlame, Log, Search
from backtrail.session_values import FileHistory, FileVersion, SearchHit, SearchResult

_SHOWN = 50


def _log(invocation: Invocation) -> int:
    workspace, path = _place(invocation)
    params = Log(workspace=workspace, path=path)

    def page(limit: int, cursor: str | None) -> tuple[list[FileVersion], str | None]:
        found = invocation.ask(LOG, replace(params, limit=limit, cursor=cursor))
        return found.versions, found.next

    versions, rest = gather(page, invocation.options.number)
    result = FileHistory(path=path, versions=versions, next=rest)
    invocation.give_long(result, lambda screen: texts.file_history(result, screen))
    return 0


def _blame(invocation: Invocation) -> int:
    workspace, path = _place(invocation)
    name = invocation.options.checkpoint
    params = AskBlame(workspace=workspace, path=path, checkpoint=name and typed.name(name))
    found = invocation.ask_patiently(BLAME, params, "Looking")
    invocation.give_long(found, lambda screen: texts.blame(found, screen))
    return 0


def _search(invocation: Invocation) -> int:
    options = invocation.options
    params = Search(
        workspace=typed.workspace(options.workspace),
        words=" ".join(map(_term, options.words)),
        session=options.session and typed.text(options.session),
    )

    def page(limit: int, cursor: str | None) -> tuple[list[SearchHit], str | None]:
        found = invocation.ask_patiently(SEARCH, replace(params, limit=limit, cursor=cursor), "Looking")
        return found.hits, found.next

    hits, rest = gather(page, options.number)
    result = SearchResult(hits=hits, next=rest)
    invocation.give_long(result, lambda screen: texts.search_result(result, screen))
    return 0


def _term(word: str) -> str:
    """What the shell took the quotation marks from was one phrase."""
    text = typed.text(word)
    return f'"{text}"' if " " in text and '"' not in text else text


def _place(invocation: Invocation) -> tuple[str, str]:
    """The workspace, and the path that was typed as seen from its root."""
    status = invocation.ask(STATUS, OfWorkspace(workspace=typed.workspace(invocation.options.workspace)))
    return status.workspace, typed.path_in(status.root, invocation.options.path)


def _number_option(parser: ArgumentParser) -> None:
    explained = f"at most so many (default: {_SHOWN})"
    parser.add_argument("-n", "--number", metavar="N", type=number(1), default=_SHOWN, help=explained)


def _search_options(parser: ArgumentParser) -> None:
    _number_option(parser)
    parser.add_argument("--session", metavar="ID", help="only in this conversation")


_PATH = Argument("path", "PATH", "a file, or a folder", "1", FILE)

COMMANDS = {
    "log": Command(
        _log,
        "Show every checkpoint that changed a file, or something in a folder, newest first, with the session, the\n"
        "turn and the prompt that it was changed for.",
        "backtrail log src/app.py",
        arguments=(_PATH,),
        options=_number_option,
    ),
    "blame": Command(
        _blame,
        "Show for each line of a file which checkpoint brought it, and in which turn of which session. Without a\n"
        "checkpoint, the file as it is now is looked at: lines that are not saved yet say `now`.",
        "backtrail blame src/app.py 42",
        OF_CHECKPOINT,
        (
            Argument("path", "PATH", "a file", "1", FILE),
            Argument("checkpoint", "ID", "a checkpoint (default: the file as it is now)", "?", CHECKPOINT),
        ),
    ),
    "search": Command(
        _search,
        "Find the messages, prompts and paths that have all these words, newest first. Words in quotation marks are a\n"
        "phrase; after `--`, a word with a minus before it must not be there.",
        "backtrail search login 'empty password' -n 5\nbacktrail search -- login -token",
        arguments=(Argument("words", "WORD", "what to look for", "+"),),
        options=_search_options,
    ),
}

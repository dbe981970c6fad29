"""The terminal as a full screen: the only module that imports curses."""

import contextlib
import curses
import locale
import os
import select
import sys
from collections.abc import Iterator, Sequence

from backtrail.cli.browse.layout import Row
from backtrail.errors import UsageError

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_ESCAPE_MILLISECONDS = 25  # an arrow key begins with Escape too; a person is never that quick
# A size that changes in the moment before a key is waited for is noticed after this; times grow old meanwhile too.
_LOOK_MILLISECONDS = 500
_KEYS = {
    curses.KEY_UP: "up",
    curses.KEY_DOWN: "down",
    curses.KEY_LEFT: "left",
    curses.KEY_RIGHT: "right",
    curses.KEY_PPAGE: "page up",
    curses.KEY_NPAGE: "page down",
    curses.KEY_HOME: "home",
    curses.KEY_END: "end",
    curses.KEY_ENTER: "enter",
}
_CHARACTERS = {"\n": "enter", "\r": "enter", "\x1b": "escape"}
_COLOURS = {
    "red": curses.COLOR_RED,
    "green": curses.COLOR_GREEN,
    "yellow": curses.COLOR_YELLOW,
    "blue": curses.COLOR_BLUE,
    "magenta": curses.COLOR_MAGENTA,
    "cyan": curses.COLOR_CYAN,
}


class FullScreen:
    """A terminal that is drawn on as a whole, and that is as it was before after `opened` ends."""

    def __init__(self, window: curses.window, colour: bool) -> None:
        self._window = window
        self._styles = {"": 0, "bold": curses.A_BOLD, "dim": curses.A_DIM, "reverse": curses.A_REVERSE}
        self._styles |= dict.fromkeys(_COLOURS, 0)
        # Without colours of its own to return to, a terminal would get ours for all that follows.
        with contextlib.suppress(curses.error):
            self._styles |= _pairs() if colour and curses.has_colors() else {}

    @property
    def size(self) -> tuple[int, int]:
        """Lines and columns, as they are now."""
        return self._window.getmaxyx()

    def show(self, rows: Sequence[Row]) -> None:
        """Draw all rows; curses finds out what differs from before."""
        self._window.erase()
        for line, pieces in enumerate(rows):
            # The last cell of a window can't be written without an error, and the window may have just shrunk.
            with contextlib.suppress(curses.error):
                self._window.move(line, 0)
                for text, style in pieces:
                    self._window.addstr(text, self._styles[style])
        self._window.refresh()

    def key(self) -> str:
        """The next key: its name, or its character; nothing where it is only time to draw again."""
        try:
            found = self._window.get_wch()
        except curses.error:
            if _is_gone():
                raise KeyboardInterrupt from None
            return ""
        return _KEYS.get(found, "") if isinstance(found, int) else _CHARACTERS.get(found, found)

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """The terminal for another program, as that expects it."""
        curses.def_prog_mode()
        curses.endwin()
        try:
            yield
        finally:
            curses.reset_prog_mode()
            self._window.clear()
            self._window.refresh()


@contextlib.contextmanager
def opened(colour: bool) -> Iterator[FullScreen]:
    """The full screen, drawn where stderr leads: stdout is for the result, and may be a pipe."""
    _set_locale()
    with _stdout_on_the_terminal():
        _check()
        curses.set_escdelay(_ESCAPE_MILLISECONDS)
        window = curses.initscr()
        try:
            curses.noecho()
            curses.cbreak()
            window.keypad(True)
            window.timeout(_LOOK_MILLISECONDS)
            _hide_cursor()
            yield FullScreen(window, colour)
        finally:
            window.keypad(False)
            curses.nocbreak()
            curses.echo()
            curses.endwin()


@contextlib.contextmanager
def _stdout_on_the_terminal() -> Iterator[None]:
    """Curses writes to descriptor 1, and an editor does too."""
    sys.stdout.flush()
    kept = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    try:
        yield
    finally:
        os.dup2(kept, _STDOUT)
        os.close(kept)


def _set_locale() -> None:
    """Curses asks the C library what a character is. Python writes UTF-8 in the C locale, and so does this then."""
    with contextlib.suppress(locale.Error):  # of a machine that does not have it
        locale.setlocale(locale.LC_ALL, "")
    if sys.stderr.encoding.lower() == "utf-8" != locale.nl_langinfo(locale.CODESET).lower():
        with contextlib.suppress(locale.Error):
            locale.setlocale(locale.LC_CTYPE, "C.UTF-8")


def _check() -> None:
    """Curses ends the whole process on a terminal where the cursor can't be moved."""
    name = os.environ.get("TERM", "")
    try:
        curses.setupterm(name or "unknown", _STDOUT)
        can_move = curses.tigetstr("cup") is not None
    except curses.error:
        can_move = False
    if not can_move:
        raise UsageError(
            f"A terminal of the kind “{name}” can't show a full screen.",
            "`backtrail session show` prints lines.",
        )


def _is_gone() -> bool:
    """Whether the terminal was closed, which some start a program so that it survives."""
    waiting = select.poll()
    waiting.register(_STDIN, 0)
    return bool(waiting.poll(0))


def _hide_cursor() -> None:
    with contextlib.suppress(curses.error):  # some terminals can't
        curses.curs_set(0)


def _pairs() -> dict[str, int]:
    curses.start_color()
    curses.use_default_colors()
    for number, colour in enumerate(_COLOURS.values(), 1):
        curses.init_pair(number, colour, -1)
    return {name: curses.color_pair(number) for number, name in enumerate(_COLOURS, 1)}

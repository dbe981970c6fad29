"""Keys in, pictures out: the loop that lets the daemon and an editor do what the person at the screen asks for."""

import os
import sys
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from backtrail.cli.browse import editing, model
from backtrail.cli.browse.asking import Asking
from backtrail.cli.browse.drawing import draw
from backtrail.cli.browse.model import State, View, Wish
from backtrail.cli.terminal import Screen
from backtrail.cli.words import count
from backtrail.errors import BacktrailError, PlanChanged
from backtrail.session_values import RewindResult, Turn

if TYPE_CHECKING:
    from backtrail.cli.browse.fullscreen import FullScreen


class Edited(Struct, frozen=True):
    """A prompt to be sent again, and what going back to before it did."""

    prompt: str
    rewind: RewindResult


class Browser:
    """One look at a session."""

    def __init__(self, terminal: "FullScreen", asking: Asking, state: State) -> None:
        self._terminal = terminal
        self._asking = asking
        self._state = state
        self._error: BacktrailError | None = None
        # What was typed is not lost with a no, or with a daemon that is gone.
        self._drafts: dict[int, str] = {}

    def run(self) -> Edited | None:
        """Until the person leaves. What went wrong last, and was not made good, is the command's error then."""
        wish = None
        while wish is not Wish.LEAVE:
            self._draw()
            key = self._terminal.key()
            self._state, wish = model.press(model.resized(self._state, *self._terminal.size), key)
            self._grant(wish)
        if self._state.view is View.DONE and self._state.rewind is not None:
            return Edited(self._state.prompt, self._state.rewind)
        if self._error is not None:
            raise self._error
        return None

    def _grant(self, wish: Wish | None) -> None:
        if wish is None or wish is Wish.LEAVE:
            return
        try:
            self._state = self._granted(wish)
            self._error = None
        except BacktrailError as error:
            self._state = model.told(self._state, f"{error.message} {error.hint}".rstrip())
            self._error = error

    def _granted(self, wish: Wish) -> State:
        state, turn = self._state, self._state.turn
        if wish is Wish.READ and turn is not None:
            return model.reading(state, *self._asking.messages(state.session, turn))
        if wish is Wish.EDIT and turn is not None:
            return self._edit(turn)
        if wish is Wish.GO_BACK and state.rewind is not None:
            return self._go_back(state.rewind)
        self._say("Undoing")
        done = self._asking.undo()
        files = count(len(done.written) + len(done.deleted), "file")
        return model.undone(state, self._asking.session(), f"Undone: {files} as before, and all messages.")

    def _edit(self, turn: Turn) -> State:
        editor = editing.chosen(os.environ)
        with self._terminal.suspended():
            prompt = editing.edited(turn.prompt, editor, self._drafts.get(turn.ordinal))
        if prompt is None:
            return model.told(self._state, "The prompt is as it was; nothing was changed.")
        self._drafts[turn.ordinal] = prompt
        self._say("Looking")
        return model.planned(self._state, prompt, self._asking.plan(turn.turn))

    def _go_back(self, plan: RewindResult) -> State:
        self._say("Going back")
        try:
            return model.gone_back(self._state, self._asking.go_back(plan))
        except PlanChanged:
            again = model.planned(self._state, self._state.prompt, self._asking.plan(plan.turn))
            return model.told(again, "Files changed meanwhile; this is what it would do now.")

    def _say(self, what: str) -> None:
        """Before something that may take a while."""
        self._state = model.told(self._state, f"{what}: this may take a moment.")
        self._draw()

    def _draw(self) -> None:
        self._state = model.resized(self._state, *self._terminal.size)
        screen = replace(Screen.of(sys.stderr, "never"), width=self._state.columns, terminal=True)
        self._terminal.show(draw(self._state, screen))

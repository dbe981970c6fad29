"""What the table knows of checkpoints, kept in agreement with git, and asked."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from backtrail.errors import StoreFailed
from backtraild.model import Checkpoint
from backtraild.state import TableLost
from backtraild.store import check_request
from backtraild.workspace.parts import Parts, agree, reconcile
from backtraild.workspace.passing import rolled_back

MOST_UNLISTED = 16  # by a run of requests without a pause

_Answer = TypeVar("_Answer")


class Catalogue:
    """The rows of checkpoints. Git is the truth: a table that could not be written catches up when asked."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._is_behind = False
        # Whoever asked for them does not wait for the table to know them.
        self._unlisted: list[Checkpoint] = []
        self._beginnings = parts.database.beginnings

    def fell_behind(self) -> None:
        """The table could not be written, or somebody found it damaged: it is made right when it is needed."""
        self._is_behind = True

    def add_soon(self, checkpoint: Checkpoint) -> None:
        """A checkpoint that the table is to know."""
        self._unlisted.append(checkpoint)

    def remove(self, numbers: Sequence[int]) -> None:
        """Checkpoints are about to be deleted."""
        self.list_new()
        try:
            # The rows first: one without its ref then always means that a ref was lost.
            with self._parts.database.transaction(durable=True):
                self._parts.index.remove(numbers)
        except StoreFailed:
            self.fell_behind()  # git lets go of them, and git is the truth

    def list_new(self) -> None:
        """Have the table know the newest checkpoints, unless it can't be written."""
        if not self._unlisted:
            return
        new, self._unlisted = self._unlisted, []
        try:
            with self._parts.database.transaction():
                for checkpoint in new:
                    self._parts.index.add(checkpoint)
        except StoreFailed:
            self.fell_behind()

    def catch_up(self) -> None:
        """Make sure that the table knows every checkpoint, also after it could not be written."""
        self.list_new()
        if self._is_wrong:
            reconcile(self._parts)
            self._is_behind = False
            self._beginnings = self._parts.database.beginnings

    def put_right(self) -> None:
        """Make sure that what the table knows is right, which is all that a save needs; what is new can wait."""
        if self._is_wrong or len(self._unlisted) >= MOST_UNLISTED:
            self.catch_up()

    @property
    def _is_wrong(self) -> bool:
        return self._is_behind or self._beginnings != self._parts.database.beginnings

    def made_for(self, request: str) -> Checkpoint | None:
        """The checkpoint that was made for a request; None if none was, or if it is deleted."""
        check_request(request)
        number = self.asked(lambda: self._parts.index.by_request(request))
        return None if number is None else self._parts.store.get(number)

    def asked(self, question: Callable[[], _Answer]) -> _Answer:
        """What the table answers, brought up to date, and made anew if it turns out to be damaged."""
        if self._parts.database.connection.in_transaction:  # of a look that is under way
            return question()
        try:
            self.catch_up()
        except StoreFailed:
            return self._asked_in_passing(question)
        try:
            return question()
        except TableLost:
            self.catch_up()
            return question()

    def _asked_in_passing(self, question: Callable[[], _Answer]) -> _Answer:
        """The table can't be written, as on a full disk: in memory it is right for as long as one answer takes."""
        answers = []
        with rolled_back(self._parts.database):
            agree(self._parts)
            answers.append(question())
        return answers[0]

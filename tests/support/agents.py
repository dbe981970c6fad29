"""An agent at work in a watched folder of a service: turns with edits and words, and what is left of them."""

import json
from typing import Any

from backtraild.conversing import RewindResult, Talk
from backtraild.model import Checkpoint, Intent, Kind
from backtraild.sessions import Turn
from backtraild.transcripts import Messages
from backtraild.workspace import Rewind, Scope
from support.disk import snapshot
from support.project import Files
from support.serving import Site


class Agent:
    """Talks in one session, edits files, and saves after each turn."""

    def __init__(self, site: Site, session: str = "s") -> None:
        self.site, self.session = site, session
        self.messages: list[dict[str, str]] = []

    @property
    def service(self) -> Any:
        """The one that answers now: it may have been started again."""
        return self.site.desk.service

    def ask(self, prompt: str, number: int | None = None, **options: Any) -> Turn:
        """A turn begins."""
        self.messages.append({"role": "user", "content": prompt})
        return self.service.begin_turn(self.site.id, self.session, number, prompt=prompt, **options)

    def answer(self, text: str, number: int | None = None, **told: Any) -> Checkpoint:
        """A turn ends, with all that was said."""
        self.messages.append({"role": "assistant", "content": text})
        request, told = told.pop("request", None), {"conversation": Messages(list(self.messages)), **told}
        intent = Intent(Kind.AGENT, session=self.session, turn=number, request=request)
        return self.service.save(self.site.id, intent, talk=Talk(**told))

    def turn(self, prompt: str, files: dict[str, str | None], number: int | None = None) -> Files:
        """A whole turn; what is on the disk after it."""
        self.ask(prompt, number)
        edit(self.site, files)
        self.answer(f"did {prompt}")
        return snapshot(self.site.root)

    def rewind(self, turn: int, *, before: bool = False, **options: Any) -> RewindResult:
        """Back to a turn, confirmed unless said otherwise; the agent remembers no more than is left."""
        scope = Scope(options.pop("scope", "both"))
        wanted = Rewind(self.session, turn, before, scope, options.pop("only_session", False))
        options = {"confirm": True, **options}
        result: RewindResult = self.service.rewind(self.site.id, wanted, **options)
        if options["confirm"] and scope.has_conversation:
            self.messages = said(result)
        return result

    def recorded(self, turn: int | None = None) -> list[dict[str, str]]:
        """What the store says was said."""
        found = self.service.conversation(self.site.id, self.session, turn)
        return [json.loads(line) for line in found.lines]

    def turns(self, *, rewound: bool = False) -> list[tuple[int, str]]:
        """Numbers and prompts."""
        view = self.service.session(self.site.id, self.session, rewound=rewound)
        return [(turn.number, turn.prompt) for turn in view.turns]


def said(result: RewindResult) -> list[dict[str, str]]:
    """The conversation that a rewind leaves."""
    return [json.loads(line) for line in result.conversation.lines]


def edit(site: Site, files: dict[str, str | None]) -> None:
    """Write files; without content they are deleted."""
    for path, content in files.items():
        if content is None:
            (site.root / path).unlink()
        else:
            site.write(path, content)

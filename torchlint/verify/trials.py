"""Runs the command on the project with some of its fixes, and remembers how it ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import field
from typing import Protocol

from torchlint.cache.digest import digest
from torchlint.engine.fixing import FixOutcome
from torchlint.engine.run import EngineRun
from torchlint.late import dataclass
from torchlint.sources.text import Source
from torchlint.verify.command import Command, Ended
from torchlint.verify.scratch import Scratch


class Listener(Protocol):
    """Who is told what goes on."""

    def running(self, doing: str) -> AbstractContextManager[None]:
        """Return a context in which something runs that takes a while."""

    def ran(self, doing: str, ended: Ended) -> None:
        """Report how a run of the command ended."""


@dataclass(frozen=True, slots=True)
class Failing:
    """How the command fails with some fixes: in a few words, and the end of what it printed."""

    reason: str
    output: str


@dataclass(slots=True)
class Trials:
    """Tries sets of fixes, each given by the keys of their origins.

    Attributes:
        project: the files, and what fixes there are. scratch: the copy. command: what is run in it.
        listener: is told of each run. total: how many fixes there are.
        runs: how often the command was run. wavering: the sets with which it failed and passed, in words.
    """

    project: EngineRun
    scratch: Scratch
    command: Command
    listener: Listener
    total: int = 0
    runs: int = 0
    wavering: list[str] = field(default_factory=list)
    _outcomes: dict[frozenset[str], FixOutcome] = field(default_factory=dict)
    _known: dict[str, Failing | None] = field(default_factory=dict)
    _latest: str = ""

    def fixed(self, fixes: frozenset[str]) -> FixOutcome:
        """Apply these fixes, and return the files.

        Each fix is made again, so that what two of them share comes once.
        """
        if fixes not in self._outcomes:
            self._outcomes[fixes] = self._made(lambda key: key in fixes)
        return self._outcomes[fixes]

    def without(self, fixes: frozenset[str]) -> FixOutcome:
        """Apply all fixes but these, and return the files."""
        return self._made(lambda key: key not in fixes)

    def _made(self, wanted: Callable[[str], bool]) -> FixOutcome:
        with self.listener.running("fixing"):
            return self.project.fixes(lambda origin: wanted(origin.key))

    def passes(self, fixes: frozenset[str]) -> bool:
        """Run the command with these fixes, and return whether it passes."""
        return self.failing(fixes) is None

    def failing(self, fixes: frozenset[str]) -> Failing | None:
        """Run the command with these fixes, and return how it fails, if it does; equal texts are tried once."""
        outcome = self.fixed(fixes)
        state = _digest(changed(outcome))
        if state not in self._known:
            self._known[state] = self._tried(outcome)
            self._latest = state
        return self._known[state]

    def learn_passing(self) -> None:
        """Record that the command passes without fixes."""
        self._latest = _digest({})
        self._known[self._latest] = None

    def still_failing(self, fixes: frozenset[str]) -> Failing | None:
        """Run the command again unless these fixes were tried last, and return how it fails, if it does."""
        state = _digest(changed(self.fixed(fixes)))
        if state != self._latest:
            self._known.pop(state, None)
        return self.failing(fixes)

    def _tried(self, outcome: FixOutcome) -> Failing | None:
        """Run the command with fixes; a failure counts if it fails a second time."""
        texts = changed(outcome)
        number = sum(map(len, outcome.applied.values()))
        doing = f"with {number} of {self.total} fixes" if number else "without fixes"
        first = self.run(texts, doing)
        if first.passed:
            return None
        reason = first.reason
        second = self.run(texts, f"{doing}, once more")
        if second.passed:
            self.wavering.append(f"{doing}: {reason}, then it passed")
            return None
        return Failing(second.reason, self.tail(second))

    def run(self, texts: dict[str, Source], doing: str, command: Command | None = None) -> Ended:
        """Run the command once, or another, with texts in place of those of their files.

        Raises:
            CannotVerifyError: the copy cannot be written, or the command not be started.
        """
        self.runs += 1
        with self.listener.running(f"run {self.runs}, {doing}"):
            self.scratch.put(texts)
            ended = (command or self.command).run()
        self.listener.ran(f"run {self.runs}, {doing}", ended)
        return ended

    def tail(self, ended: Ended) -> str:
        """Return the end of what a run printed, with the files of the copy named as in the project."""
        return ended.tail().replace(f"{self.scratch.work}{os.sep}", "")


def changed(outcome: FixOutcome) -> dict[str, Source]:
    """Return the new texts of the files that fixes changed."""
    return {name: outcome.sources[name] for name in sorted(outcome.applied)}


def _digest(texts: dict[str, Source]) -> str:
    return digest(repr([(name, digest(source.utf8)) for name, source in texts.items()]).encode())

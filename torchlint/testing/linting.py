"""Linting and fixing one text in memory, each state of it once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from torchlint.engine.fixing import fix
from torchlint.engine.run import EngineRun
from torchlint.late import dataclass, regex
from torchlint.rule import Finding
from torchlint.settings.model import Settings
from torchlint.sources.decode import decode
from torchlint.sources.text import Source

NOWHERE = Path("/nowhere")
"""The folder of texts that are linted in memory."""
_NAME = "fixture.py"
_TARGET = regex(r"^# target-torch: (\d+\.\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LintedText:
    """A file that is a project of its own, linted with the rules of some codes.

    Its findings and what fixes make of it begin with the same findings, which are found once, and a text that fixes
    made is linted once, too. ``torch`` is the version that it is for, ``width`` how long its lines may be.
    """

    text: str
    codes: tuple[str, ...]
    plugins: tuple[str, ...] = ()
    torch: str | None = None
    width: int | None = None
    name: str = _NAME

    def findings(self) -> list[Finding]:
        """Return what the rules find.

        Raises:
            AssertionError: a rule failed, or a statement could not be read.
        """
        run = self._run()
        return run.result(self._offered(run, run.sources)).findings

    def fixed(self, *, unsafe: bool) -> str:
        """Return what all safe fixes, or all fixes, make of the text.

        Raises:
            AssertionError: as ``findings``, or a fix would break the text.
        """
        run = self._run(fix=True, unsafe=unsafe)
        accepts = run.scopes.of(NOWHERE / self.name).accepts
        outcome = fix(run.sources, lambda sources: self._offered(run, sources), lambda _, offered: accepts(offered))
        if outcome.problems:
            raise AssertionError("; ".join(problem.message for problem in outcome.problems))
        return outcome.sources[self.name].text if outcome.applied else self.text

    def _run(self, *, fix: bool = False, unsafe: bool = False) -> EngineRun:
        settings = Settings(
            root=NOWHERE,
            isolated=True,
            no_context=True,
            jobs=1,
            select=self.codes,
            plugins=self.plugins,
            target_torch=self.torch,
            line_length=self.width,
            fix=fix,
            unsafe_fixes=unsafe,
        )
        source = decode(self.text.encode(), NOWHERE / self.name, self.name)
        return EngineRun.prepare([], settings, {source.name: source})

    def _offered(self, run: EngineRun, sources: Mapping[str, Source]) -> dict[str, list[Finding]]:
        """The findings of the file as it is now, with the fixes that a run offers."""
        return {name: run.offered(source, _drafts(self._now(source))) for name, source in sources.items()}

    def _now(self, source: Source) -> LintedText:
        return LintedText(source.text, self.codes, self.plugins, self.torch, self.width, self.name)

    def drafts(self) -> tuple[Finding, ...]:
        """Return the findings before it is known which of their fixes are wanted.

        Raises:
            AssertionError: as ``findings``.
        """
        run = self._run()
        units, broken = run.linting.units(run.sources)
        drafts = [finding for done in run.linting.done(units) for finding in done.findings]
        drafts += [finding for name, why in broken.items() for finding in run.broken(name, why)]
        if run.result_.problems:
            raise AssertionError("; ".join(problem.message for problem in run.result_.problems))
        if run.result_.unpaired:
            raise AssertionError(f"{run.result_.unpaired} statements could not be read")
        return tuple(drafts)


@lru_cache(maxsize=1024)
def _drafts(linted: LintedText) -> tuple[Finding, ...]:
    return linted.drafts()


def found(text: str, codes: Sequence[str], plugins: Sequence[str], width: int | None = None) -> tuple[Finding, ...]:
    """Return what these rules find in a text.

    Raises:
        AssertionError: a rule failed, or a statement could not be read.
    """
    return tuple(LintedText(text, tuple(codes), tuple(plugins), target_of(text), width).findings())


def fixed(
    text: str,
    codes: Sequence[str],
    plugins: Sequence[str],
    *,
    unsafe: bool,
    torch: str | None = None,
    width: int | None = None,
) -> str:
    """Apply the fixes of these rules to a text.

    ``torch``: the version that the project runs with, e.g. ``2.4``. ``width``: how long its lines are.

    Raises:
        AssertionError: as ``found``, or a fix would break the text.
    """
    linted = LintedText(text, tuple(codes), tuple(plugins), target_of(text) or torch, width)
    return linted.fixed(unsafe=unsafe)


def target_of(text: str) -> str | None:
    """Return the torch that a text says it is for, e.g. ``2.4``."""
    stated = _TARGET.search(text)
    return stated[1] if stated else None

"""What a run does once a file passes the gate: texts become facts, facts units, and units are linted.

It is a module of its own because it brings all facts with it, and a run in which no file passes needs none of them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from torchlint.engine.analysis import parse
from torchlint.engine.mishap import kept_going, mishap
from torchlint.engine.notebooks import inner_name
from torchlint.engine.processes import Done, lint_all
from torchlint.engine.syntax import Unparsed
from torchlint.engine.units import MOST_BYTES, Leftovers, LintTarget, Unit, in_parts, together
from torchlint.facts.code.model import FileFacts
from torchlint.facts.hotness.coldness import is_test
from torchlint.late import dataclass
from torchlint.rule import Finding
from torchlint.sources.text import Source

if TYPE_CHECKING:
    from torchlint.engine.run import EngineRun

Parsed = dict[tuple[str, bytes], FileFacts | Unparsed | None]
"""Facts of texts, by the name and the bytes of each."""


@dataclass(eq=False, slots=True)
class Linting:
    """The facts and units of a run.

    ``leftovers`` is there where the facts of all files do not fit into memory: they are found again for each unit, and
    not kept.
    """

    run: EngineRun
    leftovers: Leftovers | None = None

    @classmethod
    def of(cls, run: EngineRun) -> Linting:
        """Build the file table of a run."""
        large = sum(file.size for file in run.files.values()) > MOST_BYTES
        return cls(run, Leftovers() if large else None)

    def facts(self, source: Source) -> FileFacts | Unparsed | None:
        """Return the facts of a text, or why there are none; ``None`` for a test. The same text is parsed once per run.

        Of a large project nothing is kept.
        """
        if self.leftovers is not None:
            return self._read(source)
        key = source.name, source.utf8
        if key not in self.run.parsed:
            self.run.parsed[key] = self._read(source)
        return self.run.parsed[key]

    def known(self, sources: Iterable[Source]) -> list[FileFacts]:
        """Return the facts of those texts that have any."""
        return [facts for source in sources if isinstance(facts := self.facts(source), FileFacts)]

    def glance(self, source: Source) -> FileFacts | Unparsed | None:
        """Return the same as ``facts`` without keeping it, to look at what a file imports."""
        if self.leftovers is not None:
            self.leftovers.make_room(len(source.utf8))
            self.leftovers.add(len(source.utf8))
        return self.facts(source)

    def _read(self, source: Source) -> FileFacts | Unparsed | None:
        inner = inner_name(source.name)
        with kept_going(lambda error: self.run.note(mishap(source.name, "reading", error))):
            good, bad = parse({inner: replace(source, name=inner)})
            return good[0] if good else bad.get(inner)
        return None

    def units(self, sources: Mapping[str, Source]) -> tuple[list[Unit], dict[str, Unparsed]]:
        """Return the connected units of the given texts and the rest of the project, and the unparsable files by name.

        Where none of the given texts is among the files of a unit, it is left out.
        """
        everything = {**self.run.context, **sources}
        links: dict[str, Sequence[str]] = {}
        broken: dict[str, Unparsed] = {}
        for name in sorted(everything):
            if self.run.session is not None:
                self.run.session.checkpoint()
            facts = self.glance(everything[name])
            if isinstance(facts, Unparsed):
                broken[name] = facts
            elif facts is not None:
                links[name] = facts.links
        groups = self.groups(links)
        # What has no facts, as tests have none, may still hold comments that a rule looks at.
        groups += self.parts([name for name in sources if name not in links and name not in broken])
        units = (self.unit(group, everything, sources) for group in groups if not sources.keys().isdisjoint(group))
        return list(units), broken

    def groups(self, links: Mapping[str, Sequence[str]]) -> list[list[str]]:
        """Return the files that are analysed together, from what each imports, by name."""
        return [part for group in together(links) for part in self.parts(group)]

    def parts(self, group: Sequence[str]) -> list[list[str]]:
        """Return the parts of a group of files that are analysed at once: one part, unless the group is too large."""
        return list(in_parts(group, lambda name: self.run.files[name].size)) if group else []

    def unit(self, names: Sequence[str], texts: Mapping[str, Source], wanted: Container[str]) -> Unit:
        """Return a unit of files, of which those that are ``wanted`` are reported on.

        Raises:
            RulePackageError: the figures of a package cannot be read.
        """
        heed = not self.run.settings.ignore_noqa
        targets: dict[str, LintTarget] = {}
        for name in names:
            if name in wanted:
                source, scope = texts[name], self.run.scopes.of(texts[name].path)
                scope.linter  # noqa: B018  what is wrong with a package is not a mishap of one file
                targets[name] = LintTarget.of(source, scope, heed=heed)

        def read() -> list[FileFacts]:
            # A test has no facts; that it parses was seen when its imports were looked for.
            return self.known(texts[name] for name in names if not is_test(name))

        size = sum(len(texts[name].utf8) for name in names)
        unit = Unit(read, size, targets, self.run.decisive, self.leftovers)
        if self.run.session is not None and self.leftovers is None:
            unit.session, unit.texts = self.run.session, [(name, texts[name].utf8) for name in names]
            before = next((self.run.session.units[name] for name in targets if name in self.run.session.units), None)
            if before is not None:
                unit.reuse(before)
        return unit

    def done(self, units: Sequence[Unit]) -> Iterator[Done]:
        """Lint units, and record what goes wrong."""
        for done in lint_all(units, self.run.settings.jobs):
            self.run.result_.unpaired += done.unpaired
            self.run.note(*done.problems)
            yield done

    def lint(self, sources: Mapping[str, Source]) -> dict[str, list[Finding]]:
        """Return findings of all files to report on, by name, without the suppressed ones."""
        units, broken = self.units(sources)
        drafts = {done.name: done.findings for done in self.done(units)}
        if self.run.session is not None:
            self.run.session.units = {name: unit for unit in units for name in unit.targets if unit.session is not None}
        return {
            name: self.run.broken(name, broken[name])
            if name in broken
            else self.run.offered(source, drafts.get(name, ()))
            for name, source in sources.items()
        }

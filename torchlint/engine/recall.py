"""A run that remembers: units of files whose findings are known are neither parsed nor linted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from torchlint.engine.decisive import decisive
from torchlint.engine.memory import Memory, key_of
from torchlint.engine.record import FileRecord
from torchlint.engine.syntax import Unparsed
from torchlint.facts.hotness.coldness import is_test
from torchlint.late import dataclass
from torchlint.rule import Finding

if TYPE_CHECKING:
    from torchlint.engine.run import EngineRun
    from torchlint.engine.units import Unit


@dataclass(eq=False, slots=True)
class Recall:
    """The findings of a run, from memory where it holds them."""

    run: EngineRun
    memory: Memory

    def findings(self) -> dict[str, list[Finding]]:
        """Return findings of all files to report on, by name, without the suppressed ones.

        Raises:
            ChangedWhileReadError: a file changed since this run first looked at it.
        """
        known = {name: self._parsed(name) for name in self.run.files}
        found: dict[str, list[Finding]] = {}
        for name, each in known.items():
            if each.broken is not None and name in self.run.wanted:
                found[name] = self.run.broken(name, Unparsed(*each.broken))
        sound = {name: each.links or () for name, each in known.items() if each.broken is None}
        groups = self.run.linting.groups({name: links for name, links in sound.items() if not is_test(name)})
        drafts = self._drafts([*groups, *([name] for name in sound if is_test(name))])
        self.run.load(name for name, drafted in drafts.items() if drafted)
        for name, drafted in drafts.items():
            found[name] = self.run.offered(self.run.sources[name], drafted) if drafted else []
        return found

    def _parsed(self, name: str) -> FileRecord:
        """What is known of a file; its imports, too."""
        known = self.memory.met[name]
        if known.links is None:
            self.run.load([name])
            source = self.run.sources.get(name) or self.run.context.get(name)
            facts = self.run.linting.glance(source) if source is not None else self.run.unreadable[name]
            if isinstance(facts, Unparsed):
                known = replace(known, links=(), broken=(facts.message, facts.row, facts.column, facts.too_much))
            else:
                known = replace(known, links=facts.links if facts is not None else ())
            self.memory.met[name] = known
        return known

    def _drafts(self, groups: Iterable[list[str]]) -> Mapping[str, list[Finding]]:
        """The findings of all files to report on, by name, before it is asked which are known to the user."""
        drafts: dict[str, list[Finding]] = {}
        missing: list[tuple[str, Unit]] = []
        for group in groups:
            wanted = [name for name in group if name in self.run.wanted]
            if wanted:
                key = self._key(group)
                known = self.memory.found(key, wanted) if key else None
                if known is not None:
                    drafts.update(known)
                else:
                    missing.append((key, self._unit(group)))
        self._lint(missing, drafts)
        return drafts

    def _lint(self, missing: list[tuple[str, Unit]], drafts: dict[str, list[Finding]]) -> None:
        """Lint units, and remember what is found where nothing went wrong."""
        units = [unit for _, unit in missing]
        made: list[dict[str, list[Finding]]] = [{} for _ in units]
        spoilt: set[int] = set()
        for done in self.run.linting.done(units):
            made[done.unit][done.name] = list(done.findings)
            if done.problems or done.unpaired:
                spoilt.add(done.unit)
        for number, (key, _) in enumerate(missing):
            drafts.update(made[number])
            if key and number not in spoilt:
                self.memory.add(key, made[number])

    def _unit(self, group: list[str]) -> Unit:
        self.run.load(group)
        texts = {name: self.run.sources.get(name) or self.run.context[name] for name in group}
        return self.run.linting.unit(group, texts, self.run.wanted)

    def _key(self, group: list[str]) -> str:
        """What stands for a unit; empty where the rules of some file come from packages that the run does not name."""
        parts = [self.memory.tool, decisive(self.run.settings)]
        for name in group:
            parts += [name, self.memory.met[name].digest]
            if name in self.run.wanted:
                scope = self.run.scopes.of(self.run.files[name].path)
                if not set(scope.settings.plugins) <= set(self.run.settings.plugins):
                    return ""
                if scope is not self.run.scopes.run:
                    parts.append(decisive(scope.settings))
        return key_of(*parts)

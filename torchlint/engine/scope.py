"""What the settings of a file make of its findings: which rules look at it, and which of their fixes are offered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.engine.rules import ListedRule, listed_rules
from torchlint.late import dataclass
from torchlint.rule.versions import Target, version_of
from torchlint.settings.check import nearest
from torchlint.settings.model import Settings
from torchlint.settings.select import UnknownWordError, matching, options_of, resolve
from torchlint.sources.globs import Globs

if TYPE_CHECKING:
    from torchlint.engine.figures import Figures
    from torchlint.engine.lint import Linter
    from torchlint.engine.result import Problem
    from torchlint.rule import Finding, PlainFix, Rule

SettingsOf = Callable[[Path], Settings]


@dataclass(eq=False)
class RuleScope:
    """The rules for all files that share their settings.

    ``rules`` are the selected ones, ``target`` is what the files are written for, ``problems`` takes what goes wrong.
    """

    settings: Settings
    rules: Sequence[ListedRule]
    available: Sequence[ListedRule]
    problems: list[Problem]
    target: Target

    @classmethod
    def of(
        cls,
        settings: Settings,
        available: Sequence[ListedRule],
        problems: list[Problem],
    ) -> RuleScope:
        """Select the rules, and check every word in the settings that stands for rules.

        Raises:
            SettingsError: a selector fits no rule, or a rule has no such option.
        """
        try:
            return cls._of(settings, available, problems)
        except UnknownWordError as error:
            error.file = settings.file
            raise

    @classmethod
    def _of(cls, settings: Settings, available: Sequence[ListedRule], problems: list[Problem]) -> RuleScope:
        codes = resolve(
            available,
            select=settings.select,
            ignore=settings.ignore,
            extend_ignore=settings.extend_ignore,
            extend_select=settings.extend_select,
            preview=settings.preview,
        )
        options_of(available, settings.rules)  # a wrong one is told before anything is read
        rules = tuple(rule for rule in available if rule.code in codes)
        versions = (settings.target_torch, settings.target_version, settings.pinned_torch)
        target = Target(*map(version_of, versions))
        scope = cls(settings, rules, available, problems, target)
        scope.unfixable  # noqa: B018  a wrong selector is told before anything is read
        for _, selectors in settings.per_file_ignores:
            matching(selectors, available, "per-file-ignores")
        _check_guards(settings.ignore_guards)
        return scope

    @cached_property
    def linter(self) -> Linter:
        """What looks at files with the selected rules.

        Raises:
            RulePackageError: the figures of a package cannot be read.
        """
        from torchlint.engine.figures import figures_of

        return self._linter(self.rules, figures_of(self.settings.plugins))

    @cached_property
    def without_fixes(self) -> Linter:
        """The same, but it makes no fixes, which takes half of the time."""
        return replace(self.linter, fixes=False)

    @cached_property
    def every(self) -> Linter:
        """The same with all rules, selected or not."""
        from torchlint.engine.figures import Figures

        return self._linter(self.available, Figures())

    def _linter(self, rules: Sequence[ListedRule], figures: Figures) -> Linter:
        from torchlint.engine.lint import Linter

        given = options_of(self.available, self.settings.rules)
        made = tuple(_made(listed.rule, given) for listed in rules)
        known = tuple(listed.rule for listed in self.available)
        width = self.settings.line_length
        return Linter(made, figures, known, self.problems, target=self.target, width=width)

    @cached_property
    def unfixable(self) -> frozenset[str]:
        """The codes of the rules whose fixes are not offered."""
        known = frozenset(rule.code for rule in self.available)
        fixable = matching(self.settings.fixable, self.available, "fixable") if self.settings.fixable else known
        return (known - fixable) | matching(self.settings.unfixable, self.available, "unfixable")

    @cached_property
    def _excluded(self) -> Globs:
        return Globs((*self.settings.exclude, *self.settings.extend_exclude), self.settings.root)

    def excludes(self, path: Path) -> bool:
        """Return whether these settings leave a file out."""
        return self._excluded.covers(path)

    def ignored(self, path: Path) -> frozenset[str]:
        """Return the codes that are ignored in a file."""
        return frozenset(
            code
            for glob, selectors in self.settings.per_file_ignores
            if Globs([glob], self.settings.root).match(str(path))
            for code in matching(selectors, self.available, "per-file-ignores")
        )

    def offered(self, finding: Finding) -> Finding:
        """Return a finding with the best of its fixes that may be offered, if any."""
        if finding.code in self.unfixable:
            return replace(finding, fix=None, seen=None)
        taken = self._best(finding.fix)
        if taken is not None:
            return finding if taken is finding.fix and finding.seen is None else replace(finding, fix=taken, seen=None)
        return finding if finding.seen is None else replace(finding, fix=finding.seen, seen=None)

    def _best(self, fix: PlainFix | None) -> PlainFix | None:
        """Return the first fix that is accepted, of one and those that are there in its place."""
        while fix is not None and not self.accepts(fix):
            fix = fix.instead
        return fix

    def accepts(self, fix: PlainFix) -> bool:
        """Return whether ``--fix`` applies a fix."""
        return fix.accepted(self.settings.unsafe_fixes, self.settings.accept)


def _check_guards(names: Sequence[str]) -> None:
    """Check that each name is that of a guard.

    Raises:
        SettingsError: one is not.
    """
    if not names:
        return
    from torchlint.facts.hotness.guards import GUARDS

    known = [guard.name for guard in GUARDS]
    for name in names:
        if name not in known:
            text = f"ignore-guards: there is no guard {name!r}{nearest(name, known)}"
            raise UnknownWordError(text, name, "ignore-guards")


def _made(rule: type[Rule], given: Mapping[str, Mapping[str, object]]) -> Rule:
    """A rule with the options that are set for it."""
    made = rule()
    if options := given.get(rule.code):
        made.given = options
    return made


class Scopes:
    """The scope of each file: its own where its settings are not those of the run."""

    def __init__(self, run: RuleScope, own: SettingsOf | None) -> None:
        """Take the scope of the run, and what finds the settings of a file; ``None``: all have those of the run."""
        self.run = run
        self._own = own
        self._known = {id(run.settings): run}

    def of(self, path: Path) -> RuleScope:
        """Return the scope of an absolute path.

        Raises:
            SettingsError: the settings of the file are wrong.
        """
        if self._own is None:
            return self.run
        settings = self._own(path)
        known = self._known.get(id(settings))
        if known is None:
            known = RuleScope.of(settings, listed_rules(settings.plugins), self.run.problems)
            self._known[id(settings)] = known
        return known

    @property
    def words(self) -> tuple[str, ...]:
        """The words of which a file must hold one to be of interest to any rule of any scope so far."""
        return tuple(sorted({word for scope in self._known.values() for rule in scope.available for word in rule.gate}))

    @property
    def selected_words(self) -> frozenset[str]:
        """Of these words those that matter to selected rules."""
        rules = (rule for scope in self._known.values() for rule in scope.rules)
        return frozenset(word for rule in rules for word in rule.gate)

    @property
    def plugins(self) -> tuple[str, ...]:
        """The rule packages of all scopes so far, besides the built-in one."""
        return tuple(sorted({package for scope in self._known.values() for package in scope.settings.plugins}))

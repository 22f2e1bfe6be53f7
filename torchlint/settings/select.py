"""Which rules run: from selectors to codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from torchlint.rule import RuleSet
from torchlint.rule.option import WrongOptionError
from torchlint.settings.check import SettingsError, nearest

if TYPE_CHECKING:
    from torchlint.rule import Option

_ALL = "ALL"
# How specific a selector is; a prefix lies between by its length. The default set gives way to any selector.
_BY_DEFAULT = 1
_EVERYTHING = 2
_EXACT = 1000


class UnknownWordError(SettingsError):
    """A word in the configuration that names no rule, or no option of a rule, before it is known who wrote it where.

    Attributes:
        path: the names of the key and the tables in it that lead to the word.
        word: the word.
        file: the settings file of the run or of the linted file, which may have been overruled by the command line.
    """

    file: Path | None = None

    def __init__(self, message: str, word: str, *path: str) -> None:
        """Say what is wrong, with which word, and below which key."""
        super().__init__(message)
        self.word = word
        self.path = path


class Selectable(Protocol):
    """What selection needs to know of a rule; a rule's class is one."""

    @property
    def code(self) -> str:
        """The rule's code, e.g. ``TL101``."""

    @property
    def name(self) -> str:
        """The rule's name, e.g. ``legacy-tensor-constructor``."""

    @property
    def set(self) -> RuleSet:
        """When the rule runs."""


class Adjustable(Selectable, Protocol):
    """What options need to know of a rule besides that."""

    @property
    def options(self) -> tuple[Option[Any], ...]:
        """What people may set of it."""


def resolve(
    rules: Sequence[Selectable],
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    extend_select: Iterable[str] = (),
    extend_ignore: Iterable[str] = (),
    preview: bool = False,
) -> frozenset[str]:
    """Return the codes of the rules that run.

    The more specific selector wins: a code or name over a prefix, a longer prefix over a shorter one, any over
    ``ALL``; between equals ``ignore`` does. Without ``select`` the default set is meant. Preview rules are selected by
    prefixes and ``ALL`` only with ``preview``, opt-in rules by their code or name alone.

    Raises:
        SettingsError: a selector fits no rule.
    """
    selected = _known(select, "select", rules)
    added = _known(extend_select, "extend-select", rules)
    ignored = [*_known(ignore, "ignore", rules), *_known(extend_ignore, "extend-ignore", rules)]
    wanted, unwanted = {*selected, *added}, set(ignored)
    codes = set()
    for rule in rules:
        chosen = _strongest(wanted, rule)
        unasked = _runs_unasked(rule, preview)
        if chosen < _EXACT and not unasked:
            continue  # a prefix is not enough for its set
        if not selected and unasked:
            chosen = max(chosen, _BY_DEFAULT)
        if chosen > _strongest(unwanted, rule):
            codes.add(rule.code)
    return frozenset(codes)


def matching(selectors: Iterable[str], rules: Sequence[Selectable], key: str) -> frozenset[str]:
    """Return the codes that selectors cover, whatever the rules' sets, e.g. those of ``per-file-ignores``.

    Raises:
        SettingsError: a selector fits no rule; ``key`` is the setting that the message names.
    """
    known = set(_known(selectors, key, rules))
    return frozenset(rule.code for rule in rules if _strongest(known, rule))


def is_selector(word: str, rules: Iterable[Selectable]) -> bool:
    """Return whether a word names a rule, or is a prefix of one's code."""
    return any(word in _strengths(rule) for rule in rules)


def options_of(rules: Sequence[Adjustable], tables: Mapping[str, Mapping[str, object]]) -> dict[str, dict[str, object]]:
    """Return the options that tables of settings set, by code of the rule, as the rule reads them.

    Raises:
        SettingsError: a table is not that of one rule, sets an option that the rule does not have, or sets it to what
            it does not take.
    """
    found: dict[str, dict[str, object]] = {}
    for word, table in tables.items():
        rule = next((rule for rule in rules if word in (rule.code, rule.name)), None)
        if rule is None:
            _known([word], "rules", rules)
            raise UnknownWordError(f"rules: options belong to one rule, not to all of {word}", word, "rules")
        known = {option.name: option for option in rule.options}
        for name, value in table.items():
            if name not in known:
                has = f"{nearest(name, known)}; it has {', '.join(known)}" if known else "; it has none"
                raise UnknownWordError(f"rules: {word} has no option {name!r}{has}", name, "rules", word)
            try:
                found.setdefault(rule.code, {})[name] = known[name].read(value)
            except WrongOptionError as error:
                raise UnknownWordError(f"rules: {word}: {error}", name, "rules", word) from error
    return found


def _known(selectors: Iterable[str], key: str, rules: Sequence[Selectable]) -> tuple[str, ...]:
    selectors = tuple(selectors)
    fitting = set().union(*map(_strengths, rules)) if selectors else set()
    for selector in selectors:
        if selector not in fitting:
            names = [_ALL, *(rule.code for rule in rules), *(rule.name for rule in rules)]
            raise UnknownWordError(f"{key}: no rule matches {selector!r}{nearest(selector, names)}", selector, key)
    return selectors


def _strengths(rule: Selectable) -> Mapping[str, int]:
    """Return the selectors that cover a rule, and how specific each is for it."""
    return _strengths_of(rule.code, rule.name)


@cache
def _strengths_of(code: str, name: str) -> dict[str, int]:
    prefixes = {code[:length]: _EVERYTHING + length for length in range(1, len(code))}
    return {_ALL: _EVERYTHING, **prefixes, name: _EXACT, code: _EXACT}


def _strongest(selectors: Set[str], rule: Selectable) -> int:
    """Return how specific the most specific selector is that covers a rule, or 0 if none does."""
    if not selectors:
        return 0
    return max((strength for word, strength in _strengths(rule).items() if word in selectors), default=0)


def _runs_unasked(rule: Selectable, preview: bool) -> bool:
    return rule.set is RuleSet.DEFAULT or (rule.set is RuleSet.PREVIEW and preview)

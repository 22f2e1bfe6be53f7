"""Loading rule packages: every module below a package is imported and its rules are collected."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torchlint.engine.packages import RulePackageError, import_below, import_installed
from torchlint.late import regex
from torchlint.rule import API_VERSION, RuleSet

if TYPE_CHECKING:
    from torchlint.rule import Option, Report, Rule, Site

BUILT_IN = "torchlint.rules"
_INDEX = "index"

_API = "TORCHLINT_API"
_CODE = regex(r"[A-Z]{2,}\d{3}")
_OURS = "TL"
_NEEDED = ("code", "name", "summary", "trigger")


class ListedRule:
    """What is known of a rule before a file passes the gate: what selection and the gate ask for, and its dotted name.

    The class of the rule is made, or imported, when it is asked for.
    """

    def __init__(
        self, code: str, name: str, set: RuleSet, gate: tuple[str, ...], home: str, load: Callable[[], type[Rule]]
    ) -> None:
        """Take what is known, and what gives the class."""
        self.code = code
        self.name = name
        self.set = set
        self.gate = gate
        self.home = home
        self._load = load

    @classmethod
    def of(cls, rule: type[Rule]) -> ListedRule:
        """Return the index entry of a rule whose module is imported."""
        return cls(rule.code, rule.name, rule.set, rule.gate, _named(rule), lambda: rule)

    @cached_property
    def rule(self) -> type[Rule]:
        """The rule; one of the index becomes the real one when it looks at a site."""
        return self._load()

    @property
    def options(self) -> tuple[Option[Any], ...]:
        """What people may set of it."""
        return self.rule.options


def load_rules(plugins: Sequence[str] = ()) -> tuple[type[Rule], ...]:
    """Return the built-in rules and those of other packages, sorted by code.

    Raises:
        RulePackageError: a package cannot be used, or two rules have the same code or name.
    """
    return tuple(listed.rule for listed in _together(_packages(plugins)))


def listed_rules(plugins: Sequence[str] = ()) -> tuple[ListedRule, ...]:
    """Return the same rules with what the engine needs of them before there is a site.

    The module of a rule that is in the index of the built-in package is imported when it is asked to look at one.

    Raises:
        RulePackageError: as ``load_rules``.
    """
    return _together(_packages(plugins), indexed=True)


def _packages(plugins: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((BUILT_IN, *plugins)))


@cache
def _together(packages: tuple[str, ...], indexed: bool = False) -> tuple[ListedRule, ...]:
    found: list[ListedRule] = []
    for package in packages:
        found += _index() if indexed and package == BUILT_IN else map(ListedRule.of, _rules_of(package))
    owners: dict[str, ListedRule] = {}
    for rule in found:
        for word in (rule.code, rule.name):
            other = owners.setdefault(word, rule)
            if other.home != rule.home:
                raise RulePackageError(f"plugins: {other.home} and {rule.home} share {word}")
    return tuple(sorted(found, key=lambda rule: rule.code))


@cache
def _rules_of(package: str) -> tuple[type[Rule], ...]:
    """The rules of one package.

    Raises:
        RulePackageError: it cannot be used.
    """
    import pkgutil

    from torchlint.rule import Rule

    root = _root(package)
    found: list[type[Rule]] = []
    for info in pkgutil.walk_packages(root.__path__, f"{package}.", onerror=lambda _: None):
        module = import_below(package, info.name)
        found.extend(
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, Rule) and value.__module__ == info.name
        )
    for rule in found:
        _check(rule, package)
    return tuple(found)


def _root(package: str) -> ModuleType:
    if package == BUILT_IN:
        return import_below(package, package)
    root = import_installed(package)
    api = getattr(root, _API, None)
    if api is None:
        raise RulePackageError(f"plugins: {package!r} is not a rule package: it does not define {_API} = {API_VERSION}")
    if api != API_VERSION:
        raise RulePackageError(
            f"plugins: {package!r} is written for {_API} = {api!r}; this torchlint has {API_VERSION}"
        )
    return root


def _check(rule: type[Rule], package: str) -> None:
    """Hold a rule against what everything else relies on."""
    missing = [name for name in _NEEDED if not hasattr(rule, name)]
    if missing:
        raise RulePackageError(f"plugins: {_named(rule)} has no {' and no '.join(missing)}")
    if not _CODE.fullmatch(rule.code):
        raise RulePackageError(
            f"plugins: {_named(rule)}: a code is capital letters and three digits, not {rule.code!r}"
        )
    if rule.code.startswith(_OURS) and package != BUILT_IN:
        raise RulePackageError(
            f"plugins: {_named(rule)}: codes that begin with {_OURS} are torchlint's, not {rule.code}"
        )


def _named(rule: type[Rule]) -> str:
    return f"{rule.__module__}.{rule.__qualname__}"


def home_of(rule: type[Rule]) -> str | None:
    """Return the package that a rule came with, ``None`` for built-in rules and rules of no package."""
    package = rule.__module__
    while package:
        module = sys.modules.get(package)
        if module is not None and hasattr(module, _API):
            return None if package == BUILT_IN else package
        package = package.rpartition(".")[0]
    return None


def _index() -> Sequence[ListedRule]:
    """The built-in rules by their index; themselves where a module came or went since it was written."""
    rows: Sequence[Mapping[str, Any]] = import_below(BUILT_IN, f"{BUILT_IN}.{_INDEX}").RULES
    if set(_modules(str(folder_of(BUILT_IN)))) != {row["module"] for row in rows}:
        return tuple(map(ListedRule.of, _rules_of(BUILT_IN)))
    return tuple(
        ListedRule(
            row["code"],
            row["name"],
            RuleSet(row["set"]),
            row["gate"],
            f"{row['module']}.{row['class']}",
            partial(_standing_for, row),
        )
        for row in rows
    )


def _modules(root: str) -> Iterator[str]:
    """The modules of built-in rules: those in folders of the package whose names begin with no underscore."""
    for folder in os.listdir(root):
        if folder.isidentifier() and not folder.startswith("_") and os.path.isdir(os.path.join(root, folder)):
            for name in os.listdir(os.path.join(root, folder)):
                if name.endswith(".py") and not name.startswith("_"):
                    yield f"{BUILT_IN}.{folder}.{name[:-3]}"


def _standing_for(row: Mapping[str, Any]) -> type[Rule]:
    """A rule that becomes the real one when it looks at a site."""
    from torchlint.rule import Frequency, Level, Rule, Trigger

    def check(rule: Rule, site: Site) -> Iterator[Report]:
        real: type[Rule] = getattr(import_below(BUILT_IN, row["module"]), row["class"])
        made = real()
        made.given = rule.given
        return made.check(site)

    fields = {
        "code": row["code"],
        "name": row["name"],
        "level": Level(row["level"]),
        "set": RuleSet(row["set"]),
        "least": Frequency(row["least"]),
        "trigger": Trigger.of_rows(row["trigger"]),
        "yields_to": tuple(row["yields_to"]),
        "cuda_only": row["cuda_only"],
        "gate": tuple(row["gate"]),
        "torch": tuple(row["torch"]),
        "options": tuple(_option(**option) for option in row.get("options", ())),
        "check": check,
    }
    return type(row["class"], (Rule,), fields)


def _option(name: str, default: Any, text: str, least: float | None) -> Option[Any]:
    from torchlint.rule import Option

    return Option(name, default, text, least)


def folder_of(package: str) -> Path:
    """Return the folder of a package."""
    return Path(next(iter(_root(package).__path__)))

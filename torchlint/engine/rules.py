"""Loading rule packages: every module below a package is imported and its rules are collected."""

from __future__ import annotations

import json
import pkgutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from torchlint.engine.packages import RulePackageError, import_below, import_installed
from torchlint.late import regex
from torchlint.rule import API_VERSION, Frequency, Level, Option, Report, Rule, RuleSet, Site, Trigger

BUILT_IN = "torchlint_rules"
_INDEX = "index.json"

_API = "TORCHLINT_API"
_CODE = regex(r"[A-Z]{2,}\d{3}")
_OURS = "TL"
_NEEDED = ("code", "name", "summary", "trigger")


def load_rules(plugins: Sequence[str] = ()) -> tuple[type[Rule], ...]:
    """The built-in rules and those of other packages, sorted by code.

    Raises:
        RulePackageError: a package cannot be used, or two rules have the same code or name.
    """
    return _together(tuple(dict.fromkeys((BUILT_IN, *plugins))))


def listed_rules(plugins: Sequence[str] = ()) -> tuple[type[Rule], ...]:
    """The same rules with what the engine needs of them before there is a site.

    The module of a rule that stands in the index of the built-in package is imported when it is asked to look at one.

    Raises:
        RulePackageError: as ``load_rules``.
    """
    return _together(tuple(dict.fromkeys((BUILT_IN, *plugins))), listed=True)


@cache
def _together(packages: tuple[str, ...], listed: bool = False) -> tuple[type[Rule], ...]:
    found = [
        rule for package in packages for rule in (_index() if listed and package == BUILT_IN else _rules_of(package))
    ]
    owners: dict[str, type[Rule]] = {}
    for rule in found:
        for word in (rule.code, rule.name):
            other = owners.setdefault(word, rule)
            if other is not rule:
                raise RulePackageError(f"plugins: {_named(other)} and {_named(rule)} share {word}")
    return tuple(sorted(found, key=lambda rule: rule.code))


@cache
def _rules_of(package: str) -> tuple[type[Rule], ...]:
    """The rules of one package.

    Raises:
        RulePackageError: it cannot be used.
    """
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
        raise RulePackageError(f"plugins: {package!r} is not a rule package: it does not say {_API} = {API_VERSION}")
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
    """The package that a rule came with, ``None`` where it is not a rule package of others."""
    package = rule.__module__
    while package:
        module = sys.modules.get(package)
        if module is not None and hasattr(module, _API):
            return None if package == BUILT_IN else package
        package = package.rpartition(".")[0]
    return None


def _index() -> tuple[type[Rule], ...]:
    """The built-in rules by their index; themselves where a module came or went since it was written."""
    folder = folder_of(BUILT_IN)
    rows = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
    modules = {
        f"{BUILT_IN}.{path.parent.name}.{path.stem}" for path in folder.glob("*/*.py") if not path.stem.startswith("_")
    }
    if modules != {row["module"] for row in rows}:
        return _rules_of(BUILT_IN)
    return tuple(map(_listed, rows))


def _listed(row: Mapping[str, Any]) -> type[Rule]:
    """A rule that becomes the real one when it looks at a site."""

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
    return Option(name, tuple(default) if isinstance(default, list) else default, text, least)


def folder_of(package: str) -> Path:
    """The folder of a package."""
    return Path(next(iter(_root(package).__path__)))

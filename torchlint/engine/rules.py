"""Loading rule packages: every module below a package is imported and its rules are collected."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from torchlint.rule import Cost, Frequency, Level, Report, Rule, RuleSet, Site, Trigger

BUILT_IN = "torchlint_rules"
_INDEX = "index.json"


@cache
def load_rules(package: str = BUILT_IN) -> tuple[type[Rule], ...]:
    """The rules of a package, sorted by code.

    Raises:
        ValueError: two rules have the same code or name.
    """
    root = importlib.import_module(package)
    found: list[type[Rule]] = []
    for info in pkgutil.walk_packages(root.__path__, f"{package}."):
        module = importlib.import_module(info.name)
        found.extend(
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, Rule) and value.__module__ == info.name
        )
    found.sort(key=lambda rule: rule.code)
    names = [word for rule in found for word in (rule.code, rule.name)]
    twice = sorted({word for word in names if names.count(word) > 1})
    if twice:
        raise ValueError(f"rules of {package} share {', '.join(twice)}")
    return tuple(found)


@cache
def listed_rules(package: str = BUILT_IN) -> tuple[type[Rule], ...]:
    """The rules of a package with what the engine needs before there is a site, sorted by code.

    Where the package has an index, the module of a rule is imported when it is asked to look at a site.
    """
    file = _folder(package) / _INDEX
    if not file.is_file():
        return load_rules(package)
    return tuple(_listed(row) for row in json.loads(file.read_text(encoding="utf-8")))


def _listed(row: Mapping[str, Any]) -> type[Rule]:
    """A rule that becomes the real one when it looks at a site."""

    def check(_: Rule, site: Site) -> Iterator[Report]:
        real: type[Rule] = getattr(importlib.import_module(row["module"]), row["class"])
        return real().check(site)

    trigger: dict[str, Any] = {
        name: frozenset(value) if isinstance(value, list) else value for name, value in row["trigger"].items()
    }
    fields = {
        "code": row["code"],
        "name": row["name"],
        "level": Level(row["level"]),
        "set": RuleSet(row["set"]),
        "least": Frequency(row["least"]),
        "trigger": Trigger(**trigger),
        "yields_to": tuple(row["yields_to"]),
        "cuda_only": row["cuda_only"],
        "gate": tuple(row["gate"]),
        "check": check,
    }
    return type(row["class"], (Rule,), fields)


def _folder(package: str) -> Path:
    """The folder of a package."""
    return Path(next(iter(importlib.import_module(package).__path__)))


@cache
def _measured(package: str) -> tuple[tuple[str, str, Cost], ...]:
    """Code, name of the example and figure of every row of the package's ``figures.json``, in its order."""
    path = _folder(package) / "figures.json"
    if not path.is_file():
        return ()
    rows = json.loads(path.read_text(encoding="utf-8"))["figures"]
    names = ("saves_us", "ratio", "low", "high", "size", "device")
    return tuple((row["code"], row["example"], Cost(**{name: row[name] for name in names})) for row in rows)


@cache
def figures_by_example(package: str = BUILT_IN) -> Mapping[tuple[str, str], Cost]:
    """What was measured by code and name of the example, in the order of the file; of two devices the first."""
    found: dict[tuple[str, str], Cost] = {}
    for code, example, cost in _measured(package):
        found.setdefault((code, example), cost)
    return found


def figures(package: str = BUILT_IN) -> Mapping[str, tuple[Cost, ...]]:
    """What was measured for each rule on all devices, the rule's first example first."""
    found: dict[str, list[Cost]] = {}
    for code, _, cost in _measured(package):
        found.setdefault(code, []).append(cost)
    return {code: tuple(costs) for code, costs in found.items()}

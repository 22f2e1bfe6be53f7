"""Loading rule packages: every module below a package is imported and its rules are collected."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from torchlint.rule import Cost, Rule

BUILT_IN = "torchlint_rules"


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
def measured(package: str = BUILT_IN) -> tuple[tuple[str, str, Cost], ...]:
    """Code, name of the example and figure of every row of the package's ``figures.json``, in its order."""
    root = importlib.import_module(package)
    path = Path(next(iter(root.__path__))) / "figures.json"
    if not path.is_file():
        return ()
    rows = json.loads(path.read_text(encoding="utf-8"))["figures"]
    names = ("saves_us", "ratio", "low", "high", "size", "device")
    return tuple((row["code"], row["example"], Cost(**{name: row[name] for name in names})) for row in rows)


@cache
def figures_by_example(package: str = BUILT_IN) -> Mapping[tuple[str, str], Cost]:
    """What was measured by code and name of the example, in the order of the file; of two devices the first."""
    found: dict[tuple[str, str], Cost] = {}
    for code, example, cost in measured(package):
        found.setdefault((code, example), cost)
    return found


def figures(package: str = BUILT_IN) -> Mapping[str, tuple[Cost, ...]]:
    """What was measured for each rule on all devices, the rule's first example first."""
    found: dict[str, list[Cost]] = {}
    for code, _, cost in measured(package):
        found.setdefault(code, []).append(cost)
    return {code: tuple(costs) for code, costs in found.items()}

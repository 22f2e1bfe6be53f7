"""What rule packages ship of their examples: measured times, and counted events of an accelerator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from typing import Any, TypeVar

from torchlint.engine.packages import RulePackageError
from torchlint.engine.rules import BUILT_IN, folder_of
from torchlint.late import dataclass
from torchlint.rule import Cost, Counted, Counts

_Row = TypeVar("_Row", Cost, Counted)
Key = tuple[str, str]
"""A rule's code, and the name of one of its examples."""


@cache
def measured(package: str = BUILT_IN) -> tuple[tuple[str, str, Cost], ...]:
    """Return every time in the package's ``figures.json`` with its code and example, in order.

    Raises:
        RulePackageError: the file holds something else.
    """
    return tuple((row["code"], row["example"], _cost(row)) for row in _rows(package, "figures", _cost))


@cache
def counted(package: str = BUILT_IN) -> tuple[tuple[str, str, Counted], ...]:
    """Return every row of counted events in the package's ``figures.json`` with its code and example, in order.

    Raises:
        RulePackageError: the file holds something else.
    """
    return tuple((row["code"], row["example"], _counted(row)) for row in _rows(package, "counts", _counted))


def _rows(package: str, name: str, read: Callable[[Mapping[str, Any]], object]) -> Sequence[Mapping[str, Any]]:
    """The rows of a list in ``figures.json``, each of which can be read; a file without such a list has none."""
    path = folder_of(package) / "figures.json"
    if not path.is_file():
        return ()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        rows: Sequence[Mapping[str, Any]] = data["figures"] if name == "figures" else data.get(name, ())
        for row in rows:
            _ = row["code"], row["example"], read(row)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RulePackageError(f"plugins: {package!r}: figures.json is not a list of figures ({error})") from error
    return rows


def _cost(row: Mapping[str, Any]) -> Cost:
    """The figure of a row, for one of the ``runs`` that its workload makes."""
    names = ("ratio", "low", "high", "size", "device", "example")
    saves_us = row["saves_us"] / row.get("runs", 1)
    return Cost(saves_us=saves_us, unit=row.get("unit", "call"), **{name: row[name] for name in names})


def _counted(row: Mapping[str, Any]) -> Counted:
    before, after = Counts(**row["before"]), Counts(**row["after"])
    return Counted(before, after, row["size"], row["example"], row.get("runs", 1), row.get("unit", "call"))


def _all_measured(plugins: Iterable[str]) -> list[tuple[str, str, Cost]]:
    return [row for package in dict.fromkeys((BUILT_IN, *plugins)) for row in measured(package)]


def _all_counted(plugins: Iterable[str]) -> list[tuple[str, str, Counted]]:
    return [row for package in dict.fromkeys((BUILT_IN, *plugins)) for row in counted(package)]


def figures_by_example(plugins: Sequence[str] = ()) -> Mapping[tuple[str, str], Cost]:
    """Return the measured figures by code and example, in the order of the files; of two devices the first counts."""
    found: dict[tuple[str, str], Cost] = {}
    for code, example, cost in _all_measured(plugins):
        found.setdefault((code, example), cost)
    return found


@dataclass(frozen=True, slots=True)
class Shipped:
    """What is known of one rule, on all devices, its first example first."""

    costs: tuple[Cost, ...] = ()
    counts: tuple[Counted, ...] = ()


def shipped(plugins: Sequence[str] = ()) -> Mapping[str, Shipped]:
    """Return the measured and counted figures, by the code of the rule.

    Raises:
        RulePackageError: a package's file holds something else.
    """
    found: dict[str, Shipped] = {}
    for code, _, cost in _all_measured(plugins):
        known = found.get(code, Shipped())
        found[code] = replace(known, costs=(*known.costs, cost))
    for code, _, events in _all_counted(plugins):
        known = found.get(code, Shipped())
        found[code] = replace(known, counts=(*known.counts, events))
    return found


@dataclass(frozen=True, slots=True)
class Figures:
    """What messages quote, by code and name of the example; the empty name stands for the rule's first example."""

    costs: Mapping[Key, Cost] = field(default_factory=dict)
    counts: Mapping[Key, Counted] = field(default_factory=dict)

    def cost(self, code: str, examples: Sequence[str]) -> Cost | None:
        """Return the time of a rule for code like some examples, which differ in size, ``None`` if no gain is known.

        That is the least one, with the most that was measured beside it. Where some sizes wait to be measured, it is
        the least of the others, which is no more than an example.
        """
        found = [self.costs[code, name] for name in examples if (code, name) in self.costs]
        known = sorted((cost for cost in found if cost.gains), key=lambda cost: cost.saves_us)
        if known and len(found) < len(examples):
            return replace(known[0], open=True)
        if len(known) < 2:
            return known[0] if known else None
        return replace(known[0], most_us=known[-1].saves_us, most_size=known[-1].size)

    def events(self, code: str, examples: Sequence[str]) -> Counted | None:
        """Return the events of a rule for such code.

        They are those of the example that saves least; ``None`` if one saves nothing.
        """
        found = [self.counts[code, name] for name in examples if (code, name) in self.counts]
        if not found or not all(each.gains for each in found):
            return None
        return min(found, key=lambda each: (each.saves.waits, each.saves.copies, each.saves.launches))


@cache
def figures_of(plugins: tuple[str, ...] = ()) -> Figures:
    """Read what the built-in rules and those of other packages ship.

    Raises:
        RulePackageError: a package's file holds something else.
    """
    return Figures(_costs(plugins), _first(_all_counted(plugins)))


def _costs(plugins: Sequence[str]) -> dict[Key, Cost]:
    """Of two devices the first with a gain counts."""
    rows = _all_measured(plugins)
    gaining = [row for row in rows if row[2].gains]
    first = {code: example for code, example, _ in reversed(rows)}
    found = _first([*gaining, *rows])
    return {**found, **{(code, ""): found[code, example] for code, example in first.items()}}


def _first(rows: Iterable[tuple[str, str, _Row]]) -> dict[Key, _Row]:
    """The first row of each example, and under an empty name that of each rule."""
    found: dict[Key, _Row] = {}
    for code, example, row in rows:
        found.setdefault((code, example), row)
        found.setdefault((code, ""), row)
    return found

"""Which facts are missing for safe fixes: the expressions of which rules would have to know more."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import field

from torchlint.engine.notebooks import inner_name
from torchlint.engine.sights import extent, keys
from torchlint.engine.units import Unit
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Device, Kind, Value
from torchlint.rule.sight import ExpressionKey

_TYPED = frozenset({Kind.TENSOR, Kind.NDARRAY, Kind.SCALAR, Kind.NUMBER})
_RANKED = frozenset({Kind.TENSOR, Kind.NDARRAY})
_HOLDING = frozenset({Kind.LIST, Kind.TUPLE, Kind.DICT})
_NAMED = frozenset({Kind.MODULE, Kind.INSTANCE})
# Code that TorchScript or Numba compiles from its source text can call nothing of ours.
_COMPILED = (b"jit.script", b"ScriptModule", b"script_method", b"numba")


@dataclass(frozen=True, slots=True)
class MissingFact:
    """An expression whose value would have to be known better: its key, and where it is in the file's text."""

    key: ExpressionKey
    start: int
    end: int


@dataclass(slots=True)
class _Asked:
    """The expressions that were asked about and of which too little is known, without names of libraries."""

    project: Project
    nodes: list[ast.expr] = field(default_factory=list)
    _tops: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._tops = frozenset(module.partition(".")[0] for module in self.project.modules)

    def note(self, facts: FileFacts, node: ast.expr, value: Value) -> None:
        if _lacks(value) and not self._is_imported(facts, node):
            self.nodes.append(node)

    def _is_imported(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression is the name of something that is not part of the project."""
        name = self.project.qualified(facts, node)
        return name is not None and name.partition(".")[0] not in self._tops


def missing(units: Iterable[Unit]) -> list[MissingFact]:
    """Return the facts that the safe fixes of findings in these units lack, in the order of files and places."""
    found: dict[ExpressionKey, MissingFact] = {}
    for unit in units:
        found.update((fact.key, fact) for fact in _missing_in(unit))
        unit.forget()
    return sorted(found.values(), key=lambda fact: (fact.key.path, fact.start, -fact.end))


def _missing_in(unit: Unit) -> list[MissingFact]:
    analyses = unit.analyses()
    asked = _Asked(analyses[Project])
    noting = analyses.supposing(Values, lambda values: values.noting(asked.note), "noting", keeping=(CallGraph, Heat))
    wanted: set[ast.expr] = set()
    for name, target in unit.targets.items():
        facts = analyses[Project].files.get(inner_name(name))
        if facts is None:
            continue
        for drafts in target.scope.linter.by_site(noting, facts):
            if any(target.shown(draft.finding) and not draft.is_settled for draft in drafts):
                wanted.update(asked.nodes)
            asked.nodes.clear()
    found: list[MissingFact] = []
    for facts in analyses[Project].files.values():
        if facts.source.notebook is None and not any(word in facts.source.utf8 for word in _COMPILED):
            table = facts.table
            places = ((key, extent(table, node)) for node, key in keys(facts, table) if node in wanted)
            found += (MissingFact(key, *place) for key, place in places)
    return found


def _lacks(value: Value) -> bool:
    """Whether a run could say more of a value than is known."""
    if value.kind in (Kind.UNKNOWN, Kind.ITEM):
        return True
    if value.kind in _TYPED and value.dtype is None:
        return True
    if value.kind in _RANKED and value.rank is None:
        return True
    if value.kind in (Kind.TENSOR, Kind.DEVICE) and value.device in (Device.UNKNOWN, Device.EITHER):
        return True
    return (value.kind in _HOLDING and not value.items) or (value.kind in _NAMED and (value.derived or not value.name))

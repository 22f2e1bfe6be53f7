"""What TL102 asks about a site."""

from __future__ import annotations

import ast
from dataclasses import field

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.project import Project
from torchlint.facts.state.sequel import Sequel
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind, Value
from torchlint.rule.site import Site

_MERGING = frozenset({"update", "setdefault"})


@dataclass(eq=False, slots=True)
class PlacementOptions(Fact):
    """Answers whether mappings of a dtype and a device, as ``.to(**options)`` takes them, hold nothing else."""

    project: Project
    values: Values
    _merged: bool | None = field(default=None)

    def hold(self, value: Value) -> bool:
        """Return whether a mapping is proven to hold nothing but a dtype and a device.

        What is stored under literal keys is part of its value; into no such mapping another one is merged.
        """
        if self._merged is None:
            self._merged = any(
                isinstance(call.func, ast.Attribute)
                and call.func.attr in _MERGING
                and _is_placement(self.values.of(facts, call.func.value))
                for facts in self.project.files.values()
                for scope in facts.scopes
                for call in scope.calls
            )
        return _is_placement(value) and not self._merged


def _is_placement(value: Value) -> bool:
    return value.kind is Kind.DICT and bool(value.keys) and set(value.keys) <= {"dtype", "device"}


def moved_later(site: Site, node: cst.CSTNode) -> str | None:
    """Return the move of a fresh tensor in the next statement that mentions it, as source: ``x.cuda()``; else ``None``.

    ``x = x.to(device)`` right after it, or as all that an ``if use_cuda:`` holds.
    """
    twin = site.expression(node)
    return (site.fact(Sequel).moved(site.file, twin) or None) if twin is not None else None

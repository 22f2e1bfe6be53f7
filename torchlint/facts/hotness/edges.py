"""Edges of the call graph along which hotness spreads."""

from __future__ import annotations

import ast

from torchlint.facts.code.graph import How
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.late import dataclass


@dataclass(frozen=True, slots=True)
class Edge:
    """A place that runs a function.

    ``weak`` when only the method's name says so, ``doubtful`` when more than one class may be meant then; ``override``
    when the call names a relative of the function's class.
    """

    facts: FileFacts
    node: ast.AST
    target: Scope
    how: How = How.CALL
    weak: bool = False
    override: bool = False
    doubtful: bool = False

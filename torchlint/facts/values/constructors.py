"""Constructors that run those of their bases, before and after they set attributes themselves."""

from __future__ import annotations

import ast

from torchlint.facts.code.callers import methods
from torchlint.facts.code.model import FUNCTIONS, AttributeStore, Scope, is_base_constructor


def replaces(init: Scope, store: AttributeStore) -> bool:
    """Return whether a constructor sets an attribute whatever happens, after those of the bases have run."""
    node = init.node
    assert isinstance(node, FUNCTIONS)
    above = [call.lineno for call in init.calls if is_base_constructor(call)]
    stmt = store.binding.stmt
    if stmt not in node.body or init.returns or not above:
        return False
    return isinstance(stmt, ast.stmt) and max(above) < stmt.lineno


def runs_base(init: Scope) -> bool:
    """Return whether a constructor runs another one, of a base: ``super().__init__()``, ``Base.__init__(self)``."""
    return any(isinstance(call.func, ast.Attribute) and call.func.attr == "__init__" for call in init.calls)


def builds_on_base(cls: Scope) -> bool:
    """Return whether the constructor of a class, if it has one, runs that of its nearest base."""
    inits = [method for method in methods(cls) if method.name == "__init__"]
    return all(any(map(is_base_constructor, init.calls)) for init in inits)

"""Integers that compiled code reads off a module and that change from call to call: each value is compiled again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import stores_of
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import AttributeStore, Bind, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.compiling.breaks import settled
from torchlint.facts.compiling.inside import Inside
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Changing, Frequency, Hop, Kind


@dataclass(eq=False, slots=True)
class Integers(Fact):
    """Finds attributes of modules that compiled code reads and hot code counts."""

    project: Project
    graph: CallGraph
    values: Values
    heat: Heat
    inside: Inside
    _known: dict[str, dict[ast.expr, Changing]] = field(default_factory=dict)

    def of(self, facts: FileFacts) -> dict[ast.expr, Changing]:
        """Return the first read of each such attribute in each function of a file."""
        if facts.path not in self._known:
            functions = [scope for scope in self.inside.functions() if scope.file is facts]
            if functions and settled(self.project, self.graph.groups[facts.path], "integer"):
                functions = []
            self._known[facts.path] = dict(found for scope in functions for found in self._read_in(scope))
        return self._known[facts.path]

    def _read_in(self, scope: Scope) -> Iterator[tuple[ast.expr, Changing]]:
        facts = scope.file
        seen: set[str] = set()
        for node in walk(scope.node):
            if not isinstance(node, ast.Attribute) or not _is_read(facts, node) or node.attr in seen:
                continue
            if facts.scope_of(node).function is not scope or self.inside.of(facts, node) is None:
                continue
            cls = self._module(facts, node.value)
            changed = self._changed(cls, node.attr) if cls else None
            compilation = self.inside.of(facts, node)
            if changed is not None and compilation is not None:
                seen.add(node.attr)
                place = Hop(compilation.facts.path, compilation.place.lineno, "")
                yield node, Changing(ast.unparse(node), changed, place)

    def _module(self, facts: FileFacts, node: ast.expr) -> str:
        """The class of what is proven a module of the project; integers of other objects become symbols."""
        value = self.values.of(facts, node)
        ours = value.name in self.project.classes and self.project.is_module(value.name)
        return value.name if ours and value.kind is Kind.MODULE else ""

    def _changed(self, cls: str, attr: str) -> Hop | None:
        """Where hot code counts an attribute on; ``None``: it is not an integer, or hot code does not change it."""
        inner = [(store.scope.file, store) for store in stores_of(self.project, cls, attr)]
        outer = [(store.scope.file, store) for store in self.values.outside(cls, attr)]
        stores = [*inner, *outer]
        if not stores or not all(self._is_integer(facts, store) for facts, store in stores):
            return None
        for facts, store in stores:
            stmt = store.binding.stmt
            if store.scope.name != "__init__" and self._counts(facts, store):
                if self.heat.frequency(facts, stmt) >= Frequency.UPDATE:
                    return Hop(facts.path, getattr(stmt, "lineno", 1), facts.scope_of(stmt).function.qualname)
        return None

    def _is_integer(self, facts: FileFacts, store: AttributeStore) -> bool:
        value = store.binding.value
        if value is None or store.binding.path:
            return False
        known = self.values.of(facts, value)
        return known.kind is Kind.NUMBER and known.dtype == "int"

    def _counts(self, facts: FileFacts, store: AttributeStore) -> bool:
        """Whether an assignment gives other values from time to time: no literal, and no setting."""
        binding = store.binding
        assert binding.value is not None
        if binding.how is Bind.AUGMENT:
            return True
        value = binding.value
        if isinstance(value, ast.Name):
            bindings = self.project.reaching(facts, value).bindings
            return any(bound.how in (Bind.PARAM, Bind.ELEMENT, Bind.AUGMENT) for bound in bindings)
        return isinstance(value, ast.BinOp)


def _is_read(facts: FileFacts, node: ast.Attribute) -> bool:
    """Whether an attribute is read, also by ``x.n += 1``; not what a method is called on, and not a method."""
    above = facts.parent.get(node)
    if isinstance(above, ast.AugAssign) and above.target is node:
        return True
    called = isinstance(above, ast.Call) and above.func is node
    return isinstance(node.ctx, ast.Load) and not called and not isinstance(above, ast.Attribute)

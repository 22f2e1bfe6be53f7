"""How the value of an expression is used later: changed in place, or called from other places."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.values.values import Values
from torchlint.rule import CallSite, Hop, Kind


@dataclass(eq=False, slots=True)
class Uses:
    """Answers what becomes of a value."""

    project: Project
    values: Values
    heat: Heat

    def mutated(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether the name that an expression is assigned to is changed in place in the same function."""
        parent = facts.parent.get(node)
        if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
            return False
        target = parent.targets[0]
        text = ast.unparse(target)
        scope = facts.scope_of(parent).function
        for part in walk(scope.node):
            if isinstance(part, ast.AugAssign) and ast.unparse(_base(part.target)) == text:
                return True
            if isinstance(part, ast.Assign) and part is not parent:
                if any(isinstance(t, ast.Subscript) and ast.unparse(_base(t)) == text for t in part.targets):
                    return True
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr.endswith("_"):
                if not part.func.attr.endswith("__") and ast.unparse(part.func.value) == text:
                    return True
        return False

    def calls_of(self, facts: FileFacts, node: ast.expr) -> list[CallSite]:
        """All calls of what an expression is assigned to, an attribute of ``self`` or a name."""
        parent = facts.parent.get(node)
        if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
            return []
        target = parent.targets[0]
        found: list[CallSite] = []
        for where, call in self._calls(facts, target, facts.scope_of(parent)):
            hot = self.heat.at(where, call)
            hop = Hop(where.path, call.lineno, where.scope_of(call).function.qualname)
            for root in sorted(self.heat.kinds(where, call)) or [""]:
                found.append(CallSite(hop, hot.frequency, root, self._batch(where, call)))
        return found

    def _calls(self, facts: FileFacts, target: ast.expr, scope: Scope) -> Iterator[tuple[FileFacts, ast.Call]]:
        if isinstance(target, ast.Name):
            for inner in facts.scopes:
                for call in inner.calls:
                    if isinstance(call.func, ast.Name) and call.func.id == target.id:
                        if self.project.reaching(facts, call.func).scope is scope.function:
                            yield facts, call
        elif isinstance(target, ast.Attribute) and scope.owner is not None:
            family = {cls.dotted for cls in self.project.family(scope.owner.dotted)}
            family |= {cls.dotted for cls in self.project.descendants(scope.owner.dotted)}
            for file in self.project.files.values():
                for inner in file.scopes:
                    for call in inner.calls:
                        func = call.func
                        if isinstance(func, ast.Attribute) and func.attr == target.attr:
                            receiver = self.values.of(file, func.value)
                            if receiver.kind in (Kind.INSTANCE, Kind.MODULE) and family & set(receiver.name.split("|")):
                                yield file, call

    def _batch(self, facts: FileFacts, call: ast.Call) -> str:
        """``1`` where the first argument is proven to be a batch of one."""
        if not call.args:
            return ""
        node = call.args[0]
        if isinstance(node, ast.Name):
            bindings = self.project.reaching(facts, node).bindings
            if len(bindings) == 1 and bindings[0].value is not None and not bindings[0].path:
                node = bindings[0].value
        for part in _chain(node):
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.args:
                first = part.args[0].value if isinstance(part.args[0], ast.Constant) else None
                if part.func.attr == "unsqueeze" and first == 0:
                    return "1"
                if part.func.attr in ("reshape", "view") and first == 1:
                    return "1"
            if isinstance(part, ast.Subscript):
                index = part.slice.elts[0] if isinstance(part.slice, ast.Tuple) and part.slice.elts else part.slice
                if isinstance(index, ast.Constant) and index.value is None:
                    return "1"
        return ""


def _base(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _chain(node: ast.expr) -> Iterator[ast.expr]:
    """An expression and what its methods are called on, outermost first; through a conversion into its argument."""
    while True:
        yield node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            base = node.func.value
            node = (
                node.args[0] if isinstance(base, ast.Name) and node.args and base.id in ("torch", "th", "np") else base
            )
        elif isinstance(node, (ast.Subscript, ast.Attribute)):
            node = node.value
        else:
            return

"""What TL206 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint.facts.code.callers import stores_of
from torchlint.facts.code.model import Bind, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.finders import Finder
from torchlint.facts.hotness.branches import raises
from torchlint.facts.values.values import Values
from torchlint.late import dataclass, regex
from torchlint.rule import Kind
from torchlint.rule.site import Site

_FLAG = regex(r"(^|_)(debug\w*|sanity\w*|check_nans?|check_finite|check_numerics|validate|validation)($|_)")


def debug_flag(site: Site) -> str | None:
    """A debug attribute or parameter in scope whose default is false."""
    scope: Scope | None = site.file.scope_of(site.twin).function
    while scope is not None and scope.kind == "function":
        for name in scope.params:
            default = scope.bindings[name][0].value
            if _FLAG.search(name) and len(scope.bindings[name]) == 1 and _is_false(default):
                return name
        owner = scope.method_of
        if owner is not None and scope.self_name:
            attribute = _debug_attribute(site, owner)
            return f"{scope.self_name}.{attribute}" if attribute else None
        scope = scope.parent
    return None


def _debug_attribute(site: Site, owner: Scope) -> str | None:
    project = site.fact(Project)
    names = {name for cls in project.family(owner.dotted) for name in cls.stores if _FLAG.search(name)}
    for name in sorted(names):
        stores = list(stores_of(project, owner.dotted, name))
        if all(store.scope.kind == "class" or store.scope.name == "__init__" for store in stores) and all(
            _false_by_default(store.scope, store.binding.value) for store in stores
        ):
            return name
    return None


def _false_by_default(scope: Scope, value: ast.expr | None) -> bool:
    if _is_false(value):
        return True
    if not isinstance(value, ast.Name):
        return False
    bound = scope.bindings.get(value.id, [])
    return len(bound) == 1 and bound[0].how is Bind.PARAM and _is_false(bound[0].value)


def _is_false(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


@dataclass(eq=False, slots=True)
class Checks(Finder):
    """Finds asserts, and branches that exist to raise, whose test may read a tensor."""

    project: Project
    values: Values

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """The statements."""
        for stmt in file.compounds:
            if type(stmt) is ast.Assert or (type(stmt) is ast.If and raises(stmt.body)):
                if wanted(stmt) and self._may_read(file, stmt.test):
                    yield stmt

    def _may_read(self, file: FileFacts, test: ast.expr) -> bool:
        """Whether a test may read values of a tensor: there is one in it, or a function of torch is called."""
        for part in walk(test):
            if isinstance(part, ast.Call) and (self.project.qualified(file, part.func) or "").startswith("torch."):
                return True
            if isinstance(part, ast.expr) and self.values.of(file, part).kind is Kind.TENSOR:
                return True
        return False

"""Lists of everything that an object keeps, built again only to draw a few of them at random."""

from __future__ import annotations

import ast
import re

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import own_mentions_of
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.nesting import code_of
from torchlint.facts.code.tree import walk
from torchlint.facts.values.values import Values
from torchlint.late import dataclass, regex
from torchlint.models import last_names, method_names
from torchlint.rule.site import Site

_DRAWS = last_names("random numpy.random Generator", draws=("items", "integer"))
_SOURCES = ("random.", "numpy.random.")
_GENERATOR = regex(r"(rng|random|generator)", re.IGNORECASE)
_ADDING = method_names("list deque set", adds=True, elsewhere=False)
_WHOLE = method_names("dict", returns=("keys", "parts"))
_LISTS = frozenset({"list", "tuple", "sorted", "array", "asarray", "range", "len", "enumerate", "zip"})
_DEEPEST = 6


@dataclass(eq=False, slots=True)
class Enumerating(Fact):
    """Answers from what a random draw is made."""

    values: Values
    graph: CallGraph

    def listed(self, facts: FileFacts, call: ast.Call) -> str:
        """Return the source of a collection of the object itself that is listed again for each draw from the list.

        Otherwise the result is empty.

        The collection grows while the program runs, so that each draw takes longer.
        """
        if not call.args or not self.draws(facts, call):
            return ""
        return self._whole(facts, call.args[0], listed=False, depth=0)

    def draws(self, facts: FileFacts, call: ast.Call) -> bool:
        """Return whether a call draws items or integers at random."""
        name = self.values.project.qualified(facts, call.func) or ""
        if name.startswith(_SOURCES):
            return name.rpartition(".")[2] in _DRAWS
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr not in _DRAWS or call in self.graph.callees:
            return False
        return bool(_GENERATOR.search(ast.unparse(func.value)))

    def _whole(self, facts: FileFacts, node: ast.expr, *, listed: bool, depth: int) -> str:
        """The collection that an expression lists, through names, ``len``, ``range`` and functions of the project."""
        if depth > _DEEPEST:
            return ""
        if isinstance(node, (ast.ListComp, ast.SetComp)):
            return self._whole(facts, node.generators[0].iter, listed=True, depth=depth + 1)
        if isinstance(node, ast.Name):
            return self._named(facts, node, listed=listed, depth=depth)
        if isinstance(node, ast.Attribute):
            return ast.unparse(node) if listed and self._grows(facts, node) else ""
        if not isinstance(node, ast.Call):
            return ""
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in _WHOLE and not node.args:
            return self._whole(facts, func.value, listed=listed, depth=depth + 1)
        word = last_name(func)
        if word in _LISTS and node.args and node not in self.graph.callees:
            builds = listed or word in ("list", "tuple", "sorted", "array", "asarray")
            return self._whole(facts, node.args[0], listed=builds, depth=depth + 1)
        return self._returned(node, depth)

    def _named(self, facts: FileFacts, node: ast.Name, *, listed: bool, depth: int) -> str:
        value = self.values.project.reaching(facts, node).value
        if isinstance(value, ast.List) and not value.elts:
            return self._appended(facts.scope_of(node).function, node.id, depth)
        return self._whole(facts, value, listed=listed, depth=depth + 1) if value is not None else ""

    def _returned(self, call: ast.Call, depth: int) -> str:
        """What a function of the project lists, in its own words."""
        given = [(target.file, value) for target in self.graph.sure(call) for value in target.results]
        if len(given) == 1 and isinstance(given[0][1], (ast.Name, ast.ListComp)):
            return self._whole(*given[0], listed=False, depth=depth + 1)
        return ""

    def _appended(self, scope: Scope, name: str, depth: int) -> str:
        """The collection that a loop goes over which appends to a list."""
        for loop in (part for part in code_of(scope) if isinstance(part, ast.For)):
            calls = (part for stmt in loop.body for part in walk(stmt) if isinstance(part, ast.Call))
            if any(_appends(call, name) for call in calls):
                return self._whole(scope.file, loop.iter, listed=True, depth=depth + 1)
        return ""

    def _grows(self, facts: FileFacts, node: ast.Attribute) -> bool:
        """Whether a method of the class adds to an attribute of ``self`` after the object was made."""
        owner, project = facts.scope_of(node).function.owner, self.values.project
        if owner is None or not facts.is_own(node):
            return False
        related = [*project.family(owner.dotted), *project.descendants(owner.dotted)]
        uses = ((cls.file, use) for cls in related for use in own_mentions_of(cls, node.attr))
        return any(self._adds(file, use) for file, use in uses if file.scope_of(use).function.name != "__init__")

    def _adds(self, facts: FileFacts, node: ast.Attribute) -> bool:
        above = facts.parent.get(node)
        if isinstance(above, ast.Subscript) and above.value is node:
            return isinstance(above.ctx, ast.Store)
        call = facts.parent.get(above) if isinstance(above, ast.Attribute) else None
        return isinstance(above, ast.Attribute) and above.attr in _ADDING and isinstance(call, ast.Call)


def _appends(call: ast.Call, name: str) -> bool:
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr not in ("append", "extend"):
        return False
    return isinstance(func.value, ast.Name) and func.value.id == name


def listed(site: Site, call: cst.Call) -> str | None:
    """Return the growing collection, as source, that is listed again for each random draw, else ``None``."""
    twin = site.expression(call)
    return (site.fact(Enumerating).listed(site.file, twin) or None) if isinstance(twin, ast.Call) else None

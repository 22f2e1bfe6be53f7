"""Who calls what was compiled, how often, and with how large a batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import among
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.compiling.compiled import Compilation, Compilations
from torchlint.facts.compiling.holders import Holders
from torchlint.facts.hotness.branches import raises
from torchlint.facts.hotness.hotness import Heat
from torchlint.late import dataclass
from torchlint.rule import CallSite, Hop
from torchlint.rule.site import Site

_CALLING = frozenset({"torch.func.functional_call", "torch.nn.utils.stateless.functional_call"})


@dataclass(eq=False, slots=True)
class Calling(Fact):
    """Finds the calls of compiled objects."""

    project: Project
    heat: Heat
    compilations: Compilations
    holders: Holders

    def of(self, node: ast.expr) -> list[CallSite]:
        """Return the calls of what a compilation gives, by the call (or bare decorator) that makes it."""
        compilation = self.compilations.at(node)
        found: list[CallSite] = []
        for where, call, arguments in self._calls(compilation) if compilation is not None else ():
            hot = self.heat.at(where, call)
            hop = Hop(where.path, call.lineno, where.scope_of(call).function.qualname)
            for root in sorted(self.heat.kinds(where, call)) or [""]:
                found.append(CallSite(hop, hot.frequency, root, self._batch(where, arguments)))
        return found

    def _calls(self, compilation: Compilation) -> Iterator[tuple[FileFacts, ast.Call, list[ast.expr]]]:
        if compilation.given is None:
            for function in compilation.entries:
                for caller in self.holders.uses.graph.callers.get(function, ()):
                    yield caller.facts, caller.call, caller.call.args
            return
        for where, node in self.holders.of_compiled(compilation):
            above = where.parent.get(node)
            if not isinstance(above, ast.Call):
                continue
            if above.func is node:
                yield where, above, above.args
            elif above.args[:1] == [node] and self.project.qualified(where, above.func) in _CALLING:
                yield where, above, _inputs(above)

    def _batch(self, facts: FileFacts, arguments: list[ast.expr]) -> str:
        """``1`` where the first argument is proven to be a batch of one."""
        if not arguments:
            return ""
        node = arguments[0]
        for part in _chain(self.project.reaching(facts, node).value or node):
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


def refused(facts: FileFacts, node: ast.expr) -> bool:
    """Return whether the function around an expression raises for some values of a name or attribute."""
    tests = [part for part in walk(facts.scope_of(node).function.node) if isinstance(part, ast.If)]
    return any(raises(part.body) and among(node, walk(part.test)) for part in tests)


def _inputs(call: ast.Call) -> list[ast.expr]:
    """The inputs in ``functional_call(net, parameters, (x, y))``."""
    given = call.args[2:3]
    return list(given[0].elts) if given and isinstance(given[0], ast.Tuple) else given


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


def calls_of(site: Site, node: cst.CSTNode) -> Sequence[CallSite]:
    """Return all places known to call the object that the expression is assigned to, e.g. a compiled module."""
    twin = site.expression(node)
    return site.fact(Calling).of(twin) if twin is not None else []

"""What TL601 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint import cst
from torchlint.facts.code.alike import alike
from torchlint.facts.code.collect import dotted
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.nesting import LoopNode, around
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import is_none, walk
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.finders import Finder
from torchlint.facts.loops.batching import texts
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import Word
from torchlint.rule import Kind
from torchlint.rule.site import Site

_HEADS = Word("heads of a layer")
_LISTS = frozenset({"torch.nn.ModuleList", "torch.nn.modules.container.ModuleList"})
_SEVERAL = 3  # networks that are written one by one
_Made = tuple[FileFacts, ast.Call]


def ensemble(site: Site, call: cst.Call) -> bool:
    """Return whether a call runs one of several networks built alike (``q`` of ``self.qs``), another in each round."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(Ensembles).runs(site.file, twin)


@dataclass(eq=False, slots=True)
class Ensembles(Finder):
    """Finds calls in loops that run one of several networks built alike."""

    project: Project
    values: Values
    sources: Sources

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the calls."""
        calls = (call for scope in file.scopes for call in scope.calls)
        named = (call for call in calls if isinstance(_run_by(call), (ast.Name, ast.Subscript)))
        return (call for call in named if wanted(call) and self.runs(file, call))

    def runs(self, facts: FileFacts, call: ast.Call) -> bool:
        """Return whether a call runs one of several networks built alike, another in each round, on the same input."""
        func, loop = _run_by(call), next(iter(around(facts, call)), None)
        if loop is None or isinstance(loop, ast.While) or not call.args:
            return False
        bound = set(_bound(loop))
        if any(text in bound for part in call.args for text in texts(part)):
            return False
        if all(self._is_output(facts, part) for part in call.args):
            return False  # heads on the features of one network, but not critics of a state and of what an actor does
        if isinstance(func, ast.Subscript):
            return not isinstance(func.slice, (ast.Constant, ast.Slice)) and self._alike(facts, func.value)
        if not isinstance(func, ast.Name):
            return False
        over = self.sources.looped(facts, func)
        return over is not None and self._alike(facts, over)

    def _is_output(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a name was set to what another network gives, or to what is computed of it, in the same function."""
        todo, seen = [node], set[ast.AST]()
        while todo:
            name = todo.pop()
            if not isinstance(name, ast.Name) or name in seen:
                continue
            seen.add(name)
            bindings = self.project.reaching(facts, name).bindings
            for part in (part for binding in bindings if binding.value is not None for part in walk(binding.value)):
                if isinstance(part, ast.Call) and self._may_be_network(facts, part.func):
                    return True
                if isinstance(part, ast.Name):
                    todo.append(part)
        return False

    def _may_be_network(self, facts: FileFacts, func: ast.expr) -> bool:
        """Whether a call runs a module, or an attribute of the object of which nothing is known."""
        kind = self.values.of(facts, func).kind
        return kind is Kind.MODULE or (kind is Kind.UNKNOWN and self._is_own(facts, func))

    def _is_own(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether code of the project sets an attribute of the object; else it is a method of a library's class."""
        scope = facts.scope_of(node)
        if not isinstance(node, ast.Attribute) or dotted(node.value) != scope.function.self_name != "":
            return False
        return scope.owner is None or self.project.stores(scope.owner.dotted, node.attr)

    def _alike(self, facts: FileFacts, over: ast.expr) -> bool:
        """Whether an attribute holds networks that one expression makes again and again, or several that are alike."""
        if not isinstance(over, ast.Attribute):
            return False
        ends = ValueFlow(self._makers, None).ends(facts, over, None)
        made = [each for each in ends if each is not None]
        if not made or len(made) < len(ends) or any(_are_heads(file, call) for file, call in made):
            return False
        repeated = [_is_repeated(file, call) for file, call in made]
        if not all(alike(made[0][1], call) for _, call in made):
            return all(repeated)  # objects of several classes, each of which makes its own alike
        return len(made) >= _SEVERAL or any(repeated)

    def _makers(self, spot: Spot) -> Iterator[Spot | _Made | None]:
        """One step backward from a list to the calls that make its elements; ``None``: what makes them is not seen."""
        node = spot.node
        if isinstance(node, ast.Call) and not spot.path:
            yield spot.facts, node
        elif isinstance(node, ast.Call) and self.project.qualified(spot.facts, node.func) in _LISTS and node.args:
            yield spot.same(node.args[0], Label.ELEMENT)
        elif isinstance(node, ast.BinOp):
            parts = [part for part in (node.left, node.right) if self.values.of(spot.facts, part).kind is Kind.LIST]
            yield from (spot.at(part, *spot.path) for part in parts)
        elif not is_none(node):
            found = False
            for source in self.sources.of(spot):
                found = True
                yield source if isinstance(source, Spot) else None
            if not found and not (spot.path and isinstance(node, ast.List) and not node.elts):
                yield None


def _run_by(call: ast.Call) -> ast.expr:
    """What a call runs if it runs a network: ``q`` of ``q(x)`` and ``q.forward(x)``."""
    func = call.func
    return func.value if isinstance(func, ast.Attribute) and func.attr == "forward" else func


def _is_repeated(facts: FileFacts, call: ast.Call) -> bool:
    """Whether a loop or comprehension runs a call again and again, and what it gives is the same for each round."""
    heads = _made_over(facts, call)
    bound = {part.id for target, _ in heads for part in walk(target) if isinstance(part, ast.Name)}
    return bool(heads) and not bound & {part.id for part in walk(call) if isinstance(part, ast.Name)}


def _are_heads(facts: FileFacts, call: ast.Call) -> bool:
    """Whether as many modules are made as a layer has heads: ``for _ in range(n_heads)``."""
    return any(
        isinstance(over, ast.Call) and any(_HEADS.fits(last_name(each)) for each in over.args)
        for _, over in _made_over(facts, call)
    )


def _made_over(facts: FileFacts, call: ast.Call) -> list[tuple[ast.expr, ast.expr]]:
    """The targets of the loop that runs a call again and again, each with what it goes over."""
    match next(iter(around(facts, call)), None):
        case ast.For(target=target, iter=over) | ast.AsyncFor(target=target, iter=over):
            return [(target, over)]
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() as made:
            return [(each.target, each.iter) for each in made.generators]
    return []


def _bound(loop: LoopNode) -> Iterator[str]:
    """The names that a loop binds in its head and in its body."""
    for part in walk(loop):
        if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Store):
            yield dotted(part)

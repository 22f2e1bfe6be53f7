"""What TL303 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint import cst
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.code.model import LOOPS, Bind, Binding, FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.finders import Finder
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.loops.growth import Growth
from torchlint.late import dataclass
from torchlint.rule.site import Site

from ._losses import Losses

_HOLDERS = (ast.Tuple, ast.List, ast.Starred)


def backpropagated(site: Site, node: cst.CSTNode) -> bool:
    """Return whether ``backward()`` runs through what an expression is made of, on a path around the expression.

    Of the second ``loss`` in ``loss.backward(); losses.append(loss)``, and of ``a`` with ``(a + b).backward()``.
    """
    twin = site.expression(node)
    return twin is not None and site.fact(Losses).runs_through(site.file, twin)


def backpropagated_in_round(site: Site, node: cst.CSTNode) -> bool:
    """Return whether ``backward()`` does so in each round of the loop that keeps the expression."""
    twin = site.expression(node)
    return twin is not None and site.fact(Losses).runs_in_round(site.file, twin)


def is_leaf(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a tensor asks for gradients itself and was computed from nothing, such as a parameter."""
    twin = site.expression(node)
    return twin is not None and site.fact(Autograd).graphs.is_leaf(site.file, twin)


def is_loss(site: Site, node: cst.CSTNode) -> bool:
    """Return whether backward() is called on what an expression stands for, elsewhere in the function or by a callee.

    A sum of such values is one too, and so is a term of such a sum.
    """
    twin = site.expression(node)
    losses = site.fact(Losses)
    return twin is not None and (losses.called_on(site.file, twin) or losses.is_term(site.file, twin))


def written_into(site: Site, node: cst.CSTNode) -> str:
    """Return the tensor that each round writes a value into, and with it its graph: ``losses[i] = loss``."""
    twin = site.expression(node)
    recorded = twin is not None and site.autograd.records() is True
    return site.fact(Growth).written(site.file, twin, fresh=True) if recorded and twin is not None else ""


def gives_loss(site: Site, node: cst.CSTNode) -> bool:
    """Return whether an expression is what a call gives whose function ran backward() through it, or a part of it."""
    twin = site.expression(node)
    return twin is not None and site.fact(Losses).given(site.file, twin)


def chains(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a list of the function keeps what the next round goes on from: ``x = f(x); outputs.append(x)``.

    The graph of such a tensor is a part of that of the next one, and of what the function goes on with behind the loop,
    whether the list keeps it or not. So is that of a tensor from which the same function makes what it returns.
    """
    twin = site.expression(node)
    if twin is not None and _is_listed_here(site.file, twin) and site.fact(Losses).outlived(site.file, twin):
        return True
    loops = [loop for loop in site.file.ancestors(twin) if isinstance(loop, LOOPS)] if twin is not None else []
    if twin is None or not loops or not _is_listed_here(site.file, twin):
        return False
    chain = _Chain(site.fact(Project), site.fact(Autograd), site.file, loops[0])
    own = [binding for name in chain.names(twin) for binding in chain.bound(name)]
    carried = chain.carried()
    return bool(own) and carried.issuperset(own) and chain.goes_on(carried)


def is_part_of_result(site: Site, node: cst.CSTNode, where: str) -> bool:
    """Return whether a sum of the function's own adds up what is a part of its result, too.

    ``loss += part + rest; shown += part``, where ``loss`` is returned and ``shown`` is gone with the call.
    """
    twin = site.expression(node)
    if twin is None or not isinstance(site.file.parent.get(twin), (ast.AugAssign, ast.BinOp)):
        return False
    bindings = site.file.scope_of(twin).function.bindings.get(where, ())
    return any(each.how is Bind.ASSIGN for each in bindings) and site.fact(Losses).returned(site.file, twin)


def lives_for_a_call(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a list is made and filled within one step or update, and then handed out: actions of all agents.

    Also what is made of the list: ``return torch.cat(outputs)`` keeps the graphs of all of them anyway.
    What it holds is gone with the next call, unless the caller keeps it; of a run without a graph's use TL302 tells.
    """
    twin = site.expression(node)
    if twin is None or not _is_listed_here(site.file, twin):
        return False
    function, roots = site.file.scope_of(twin).function, site.fact(Heat).roots
    loops = [loop for loop in site.file.ancestors(twin) if isinstance(loop, LOOPS)]
    rounds = (roots.loops.keys(), roots.episodes, roots.collected.keys())
    names = {result.id for result in function.results if isinstance(result, ast.Name)}
    closures = [inner.node for inner in function.inner if inner.name in names]
    names |= {part.id for closure in closures for part in walk(closure) if isinstance(part, ast.Name)}
    adding = next((part for part in site.file.ancestors(twin) if isinstance(part, ast.Call)), None)
    listed = adding.func.value if adding is not None and isinstance(adding.func, ast.Attribute) else None
    handed = isinstance(listed, ast.Name) and listed.id in names
    handed = handed or site.fact(Autograd).is_given_back(site.file, twin)
    return function.kind == "function" and handed and not any(loop in each for loop in loops for each in rounds)


def _is_listed_here(file: FileFacts, node: ast.expr) -> bool:
    """Whether a value is added, alone or in a tuple, to a list that the function around it makes."""
    call = next((parent for parent in file.ancestors(node) if not isinstance(parent, _HOLDERS)), None)
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            bindings = file.scope_of(node).bindings.get(name, ())
            return bool(bindings) and all(binding.how is Bind.ASSIGN for binding in bindings)
    return False


@dataclass(frozen=True, slots=True)
class _Chain:
    """What goes from one round of a loop to the next together with its graph."""

    project: Project
    autograd: Autograd
    file: FileFacts
    loop: ast.For | ast.AsyncFor | ast.While

    def carried(self) -> set[Binding]:
        """Return the bindings of a round whose graphs are a part of what the next round reads."""
        todo = [
            binding
            for name in walk(self.loop)
            if isinstance(name, ast.Name)
            and isinstance(name.ctx, ast.Load)
            and self.autograd.has_graph(self.file, name)
            for binding in self.project.rounds(self.file, name, self.loop).before
        ]
        found: set[Binding] = set()
        while todo:
            binding = todo.pop()
            if binding not in found and binding.value is not None:
                found.add(binding)
                todo += (each for name in self.names(binding.value) for each in self.bound(name))
        return found

    def goes_on(self, carried: set[Binding]) -> bool:
        """Return whether the function reads behind the loop what the last round has bound."""
        behind = (node for node in walk(self.file.scope_of(self.loop).function.node) if isinstance(node, ast.Name))
        reads = (
            name for name in behind if isinstance(name.ctx, ast.Load) and self.loop not in self.file.ancestors(name)
        )
        return any(
            self.autograd.has_graph(self.file, name)
            and not carried.isdisjoint(self.project.reaching(self.file, name).bindings)
            for name in reads
        )

    def bound(self, name: ast.Name) -> tuple[Binding, ...]:
        """Return what the same round has bound a name to."""
        return self.project.rounds(self.file, name, self.loop).same

    def names(self, node: ast.expr) -> Iterator[ast.Name]:
        """Yield the names in an expression whose graphs may be a part of its graph."""
        if self.autograd.has_graph(self.file, node) is False:
            return
        if isinstance(node, ast.Name):
            yield node
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                yield from self.names(part)


@dataclass(eq=False, slots=True)
class Kept(Finder):
    """Finds expressions that are added to something again and again and may be part of a graph."""

    growth: Growth
    autograd: Autograd

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the added expressions."""
        kept = (*self.growth.added(file, wanted), *self.growth.places(file, wanted))
        return (node for node in kept if self.autograd.has_graph(file, node) is not False)

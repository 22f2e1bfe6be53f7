"""Loops that bring one network nearer to another: ``target.data.copy_(tau * p.data + (1 - tau) * target.data)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.origins import ModuleOrigin, Tracer
from torchlint.facts.code.alike import alike, among
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.nesting import code_of
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import arguments_of, walk
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.state.provenance import last_word
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Average, Kind
from torchlint.rule.site import Site

from ._ties import Ties

_SAME = frozenset({"data"})
_SAME_CALLS = frozenset({"detach", "clone", "to", "cpu", "float"})
_FACTORS = frozenset({"mul", "multiply"})
_OTHERS = ("grad", "moment", "buf", "exp_avg", "range")
_DEEPEST = 3


@dataclass(eq=False, slots=True)
class Averages(Fact):
    """Answers whether something is the average of two networks' parameters, kept up by hand."""

    project: Project
    values: Values
    sources: Sources
    tracer: Tracer
    ties: Ties

    def of(self, facts: FileFacts, node: ast.expr) -> Average | None:
        """Return what is known of an average, for the three places where one is written.

        A call ``x.copy_(...)``, what is assigned to ``x.data``, or a call ``load_state_dict(d)`` of a dict whose items
        are averages.
        """
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) >= 1:
            if node.func.attr == "copy_":
                return self._written(facts, node.func.value, node.args[0])
            if node.func.attr == "load_state_dict":
                return Average(whole=True) if self._is_averaged(facts, node.args[0]) else None
        parent = facts.parent.get(node)
        if isinstance(parent, ast.Assign) and parent.value is node and len(parent.targets) == 1:
            target = parent.targets[0]
            if isinstance(target, ast.Attribute) and target.attr in _SAME:
                return self._written(facts, target, node)
        return None

    def _written(self, facts: FileFacts, target: ast.expr, value: ast.expr) -> Average | None:
        """The average of the elements of two collections that is written back into an element of one."""
        into = _base(target)
        known = self._element(facts, into)
        if known is None:
            return None
        for other in self._elements(facts, value):
            if not alike(other, into) and self._mixes(facts, value, into, other):
                over = self._element(facts, other)
                return Average(
                    apart=over is not None and self._apart(facts, known, over), learned=self._is_learned(facts, known)
                )
        return None

    # the arithmetic -------------------------------------------------------------------------------------------------

    def _mixes(self, facts: FileFacts, value: ast.expr, one: ast.expr, other: ast.expr) -> bool:
        """Whether an expression is ``a * one + b * other``, or ``one + a * (other - one)``."""
        value = self._named(facts, value)
        terms = list(_terms(value))
        if len(terms) < 2:
            return False
        held = [(_mentions(term, one), _mentions(term, other)) for term in terms if _is_product(term)]
        return (True, True) in held or ((True, False) in held and (False, True) in held)

    def _named(self, facts: FileFacts, value: ast.expr) -> ast.expr:
        """What a name was set to just before, the expression itself for others."""
        for _ in range(_DEEPEST):
            value = self.project.reaching(facts, value).value or value
        return value

    # elements of collections ----------------------------------------------------------------------------------------

    def _elements(self, facts: FileFacts, value: ast.expr) -> Iterator[ast.expr]:
        """The names and items in an expression that stand for one element of a collection."""
        for part in walk(self._named(facts, value)):
            if isinstance(part, (ast.Name, ast.Subscript)) and self._element(facts, part) is not None:
                yield part

    def _element(self, facts: FileFacts, node: ast.expr) -> ast.expr | None:
        """The collection that a loop goes through, of ``p`` and of ``state[key]``; no gradients and no counts."""
        named = node.slice if isinstance(node, ast.Subscript) else node
        over = self.sources.looped(facts, named)
        if over is None:
            return None
        if isinstance(node, ast.Subscript):
            over = node.value
        word = last_word(over)
        return None if any(other in word for other in _OTHERS) else over

    # state dicts ----------------------------------------------------------------------------------------------------

    def _is_averaged(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether the items of a dict are averages of the items of two others."""
        node = self._named(facts, node)
        if isinstance(node, ast.DictComp):
            return self._is_average(facts, node.value)
        if isinstance(node, ast.Name):
            return any(self._is_average(facts, value) for value in self._items(facts, node.id, node))
        parent = facts.parent.get(node)
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
            return any(self._is_average(facts, value) for value in self._items(facts, parent.targets[0].id, node))
        return False

    def _items(self, facts: FileFacts, name: str, node: ast.expr) -> Iterator[ast.expr]:
        """What a function assigns to the items of a dict under a name."""
        for part in code_of(facts.scope_of(node).function):
            if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Subscript):
                held = part.targets[0].value
                if isinstance(held, ast.Name) and held.id == name:
                    yield part.value

    def _is_average(self, facts: FileFacts, value: ast.expr) -> bool:
        found = list({ast.unparse(part): part for part in self._elements(facts, value)}.values())
        return any(self._mixes(facts, value, one, other) for one in found for other in found if one is not other)

    # two networks ---------------------------------------------------------------------------------------------------

    def _apart(self, facts: FileFacts, one: ast.expr, other: ast.expr) -> bool:
        """Whether two collections are the parameters of modules that share none of them and have one dtype: proven."""
        first, second = _owner(one), _owner(other)
        if first is None or second is None:
            return False
        mine, theirs = self.tracer.of(facts, first), self.tracer.of(facts, second)
        if not mine or not theirs or mine & theirs:
            return False
        return all(self._is_fresh(origin) for origin in mine) and not (self.ties.tied(facts) or self.ties.cast(facts))

    def _is_learned(self, facts: FileFacts, collection: ast.expr) -> bool:
        """Whether a collection is ``parameters()`` of a module: floating-point numbers, unlike some of its buffers."""
        owner = _owner(collection)
        return owner is not None and self.values.of(facts, owner).kind is Kind.MODULE

    def _is_fresh(self, origin: ModuleOrigin) -> bool:
        """Whether a module is made with parameters of its own: copied, or built without being handed a module."""
        found = self.tracer.made(origin)
        return bool(found) and all(value is not None and self._builds(facts, value) for facts, value in found)

    def _builds(self, facts: FileFacts, value: ast.expr) -> bool:
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if self.values.of(facts, value.func).kind is Kind.CLASS or self.project.qualified(facts, value.func):
                break
            value = value.func.value
        if not isinstance(value, ast.Call):
            return False
        name = self.project.qualified(facts, value.func)
        if name == "copy.deepcopy":
            return True
        given = arguments_of(value)
        built = name in self.project.classes and self.project.is_module(name or "")
        return built and not any(self.values.of(facts, part).kind is Kind.MODULE for part in given)


def _owner(over: ast.expr) -> ast.expr | None:
    """The module of ``module.parameters()``."""
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr == "parameters":
        return over.func.value
    return None


def _base(node: ast.expr) -> ast.expr:
    """A parameter without ``.data``, ``.detach()`` and the like."""
    while True:
        if isinstance(node, ast.Attribute) and node.attr in _SAME:
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME_CALLS:
            node = node.func.value
        else:
            return node


def _terms(node: ast.expr) -> Iterator[ast.expr]:
    """The terms of a sum."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield from _terms(node.left)
        yield from _terms(node.right)
    else:
        yield node


def _is_product(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Mult)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FACTORS


def _mentions(node: ast.expr, other: ast.expr) -> bool:
    return among(other, walk(node))


def average_of(site: Site, node: cst.CSTNode) -> Average | None:
    """Return the average of two networks that a copy, assigned value or loaded dict updates, else ``None``.

    ``t.data.copy_(tau * p.data + (1 - tau) * t.data)`` in a loop over two networks' parameters, the same assigned
    to ``t.data``, and ``load_state_dict(d)`` where the items of ``d`` are such averages.
    """
    twin = site.expression(node)
    return site.fact(Averages).of(site.file, twin) if twin is not None else None

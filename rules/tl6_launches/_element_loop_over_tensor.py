"""What TL611 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import LOOPS, FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import conjuncts, walk
from torchlint.facts.finders import Finder
from torchlint.facts.loops.elements import Elements
from torchlint.facts.values.join import TENSOR
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import Word, function_names, method_names
from torchlint.rule import Device, Kind, Value
from torchlint.rule.site import Site

_FINDING = method_names(waits="shape")
_MAKING = function_names("torch", makes="data")
_END = Word("token that ends a text")
_DEEPEST = 8


@dataclass(eq=False, slots=True)
class RowReads(Fact):
    """Answers which tensor gives a row to each round of a loop, of which the round computes one number."""

    project: Project
    values: Values
    elements: Elements

    def of(self, facts: FileFacts, node: ast.expr) -> Value | None:
        """Return the tensor of ``(row != 0).sum()`` in ``for row in tensor``, ``None`` for other expressions."""
        for inner in self._inner(facts, node):
            found = self.elements.of(facts, inner)
            if found is not None:
                return found if not _is_filled(facts, inner) else None
        return None

    def _inner(self, facts: FileFacts, node: ast.expr) -> Iterator[ast.expr]:
        """What a number is computed from, step by step: one tensor, beside what the loop does not change."""
        for _ in range(_DEEPEST):
            match node:
                case ast.Call(func=ast.Attribute(value=inner, attr=attr), args=args, keywords=named):
                    name = self.project.qualified(facts, node.func) or ""
                    if name.startswith("torch.") and name not in _MAKING and args:  # a method under another name
                        inner, *args = args
                    given = [*args, *(keyword.value for keyword in named)]
                    plain = all(isinstance(each, ast.Constant) for each in given) and attr not in _FINDING
                    if not plain or not self._is_tensor(facts, inner):
                        return
                    node = inner
                case ast.Subscript(value=inner, slice=index) if _is_fixed(index) or self._is_part(facts, index):
                    node = inner
                case ast.Compare(left=left, comparators=[right]) | ast.BinOp(left=left, right=right):
                    if not self._is_the_same(facts, right) or self._is_tensor(facts, right):
                        return
                    node = left
                case ast.Name() if (value := self.project.reaching(facts, node).value) is not None:
                    node = value
                case _:
                    return
            yield node

    def _is_the_same(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression has one value in all rounds: a literal, an attribute, a name that is a parameter."""
        if isinstance(node, ast.Name):
            return self.project.reaching(facts, node).parameter is not None
        return isinstance(node, (ast.Constant, ast.Attribute))

    def _is_part(self, facts: FileFacts, index: ast.expr) -> bool:
        """Whether an index takes a stretch whose ends the host knows: ``row[start:]``."""
        ends = (index.lower, index.upper, index.step) if isinstance(index, ast.Slice) else ()
        return isinstance(index, ast.Slice) and not any(self._is_tensor(facts, end) for end in ends if end is not None)

    def _is_tensor(self, facts: FileFacts, node: ast.expr) -> bool:
        return self.values.of(facts, node).kind is Kind.TENSOR


def _is_filled(facts: FileFacts, row: ast.expr) -> bool:
    """Whether the loop around a row writes into the tensor that has it, so that no read before it has the numbers."""
    loop = next((part for part in facts.ancestors(row) if isinstance(part, LOOPS)), None)
    whole = last_name(row.value) if isinstance(row, ast.Subscript) else ""
    parts = walk(loop) if loop is not None and whole else ()
    stored = (part for part in parts if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store))
    return any(last_name(part.value) == whole for part in stored)


def _is_fixed(index: ast.expr) -> bool:
    """Whether an index is written out, so that it is the same in each round: ``0``, ``[1, 2]``."""
    parts = index.elts if isinstance(index, (ast.List, ast.Tuple)) else [index]
    return all(isinstance(part, ast.Constant) for part in parts)


@dataclass(eq=False, slots=True)
class IndexReads(Finder):
    """Finds the places of a list that are chosen by an element of a tensor, which Python reads for it."""

    project: Project
    values: Values
    elements: Elements

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the subscripts."""
        found = (node for node in file.subscripts if self.of(file, node) is not None)
        return (node for node in found if wanted(node))

    def of(self, facts: FileFacts, node: ast.Subscript) -> Value | None:
        """Return the tensor of ``rows[i + 1]`` in ``for i in tensor``, ``None`` for other expressions."""
        if isinstance(node.slice, (ast.Constant, ast.Slice, ast.Tuple)):
            return None
        if self.values.of(facts, node.slice).kind is not Kind.TENSOR:
            return None
        if self.values.of(facts, node.value).kind not in (Kind.LIST, Kind.TUPLE):
            return None
        index = node.slice
        while isinstance(index, ast.BinOp) and isinstance(index.right, ast.Constant):
            index = index.left
        found = self.elements.of(facts, index)
        return found if found is not None and found.device is not Device.CPU else None


def of_ended_text(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a round comes to an expression only for a text that has just ended, which few have at a time.

    ``if tokens[row, t] == tokenizer.eos_token_id: text = decode(tokens[row].tolist())``.
    """
    twin = site.expression(node)
    for child, parent in site.file.climb(twin, ast.For, ast.AsyncFor, ast.While) if twin is not None else ():
        if isinstance(parent, ast.If) and child in parent.body:
            if any(truth and _finds_end(test) for test, truth in conjuncts(parent.test, truth=True)):
                return True
    return False


def _finds_end(test: ast.expr) -> bool:
    """Whether a test compares something with the token that ends a text."""
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return any(_END.fits(last_name(side)) for side in (left, right))
    return False


def indexed_by(site: Site, node: cst.CSTNode) -> Value | None:
    """Return the tensor whose element chooses the place of a list that an expression reads."""
    twin = site.expression(node)
    return site.fact(IndexReads).of(site.file, twin) if isinstance(twin, ast.Subscript) else None


def element_of(site: Site, node: cst.CSTNode) -> Value | None:
    """Return the tensor whose element an expression is in each round of a loop, ``None`` for other expressions.

    ``v`` of ``for v in t`` and of comprehensions, also through ``zip`` and ``enumerate``, and ``t[i]`` where a
    loop counts ``i``.
    """
    twin = site.expression(node)
    return site.fact(Elements).of(site.file, twin) if twin is not None else None


def unknown_element_of(site: Site, node: cst.CSTNode) -> Value | None:
    """Return a tensor where an expression is one of many elements of what is not known, in a file without NumPy.

    For what has the method ``item``: ``kinds[i].item()`` where a loop counts ``i``.
    """
    twin = site.expression(node)
    if not isinstance(twin, ast.Subscript) or any(name.partition(".")[0] == "numpy" for name in site.file.imports):
        return None
    whole = site.fact(Elements).collection(site.file, twin)
    return TENSOR if whole is not None and whole.kind is Kind.UNKNOWN else None


def row_of(site: Site, node: cst.CSTNode) -> Value | None:
    """Return the tensor from whose row an expression computes a number in each round of a loop, else ``None``."""
    twin = site.expression(node) if site.values.of(node).kind is Kind.TENSOR else None
    return site.fact(RowReads).of(site.file, twin) if twin is not None else None

"""What TL303 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint import cst
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.code.model import FileFacts
from torchlint.facts.finders import Finder
from torchlint.facts.loops.growth import Growth
from torchlint.late import dataclass
from torchlint.rule.site import Site


def backpropagated(site: Site, node: cst.CSTNode) -> bool:
    """Whether backward() runs through what an expression is made of, by another way than the expression itself.

    Of the second ``loss`` in ``loss.backward(); losses.append(loss)``, and of ``a`` with ``(a + b).backward()``.
    """
    twin = site.expression(node)
    return twin is not None and site.fact(Growth).backpropagated(site.file, twin)


def is_leaf(site: Site, node: cst.CSTNode) -> bool:
    """Whether a tensor asks for gradients itself and was computed from nothing, such as a parameter."""
    twin = site.expression(node)
    return twin is not None and site.fact(Autograd).graphs.is_leaf(site.file, twin)


def is_loss(site: Site, node: cst.CSTNode) -> bool:
    """Whether backward() is called on what an expression stands for, elsewhere in the function or by a callee.

    A sum of such values is one too.
    """
    twin = site.expression(node)
    return twin is not None and site.fact(Growth).is_loss(site.file, twin)


@dataclass(eq=False, slots=True)
class Kept(Finder):
    """Finds expressions that are added to something again and again and may hang on a graph."""

    growth: Growth
    autograd: Autograd

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """The added expressions."""
        return (node for node in self.growth.added(file, wanted) if self.autograd.has_graph(file, node) is not False)

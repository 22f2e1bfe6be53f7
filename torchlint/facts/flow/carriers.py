"""What is followed forward: data or an autograd graph, and what operations make of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Protocol

from torchlint.facts.code.model import Scope
from torchlint.facts.dataflow.spots import Spot
from torchlint.rule import Use

Next = Iterator[Spot | Use]


class Carrier(Protocol):
    """What is followed: data or an autograd graph. Says what operations on the value itself make of it.

    ``text`` is the end where it is formatted or logged. The methods give the places where the value goes on, and the
    ends it comes to.
    """

    def branch(self, spot: Spot, /) -> Use:
        """The end in a condition."""

    def index(self, spot: Spot, /) -> Use:
        """The end as an index or a key."""

    @property
    def text(self) -> Use:
        """The end in a text or a log."""

    def quiet(self, spot: Spot, call: ast.Call, /) -> bool:
        """Whether autograd is off in what a call runs."""

    def operation(self, spot: Spot, node: ast.expr) -> Next:
        """Arithmetic or a comparison; ``node`` is the expression with the result (of ``x += y`` the target ``x``)."""

    def attribute(self, spot: Spot, node: ast.Attribute) -> Next:
        """An attribute of it that is not called."""

    def method(self, spot: Spot, call: ast.Call, name: str) -> Next:
        """A call of its method."""

    def given(self, spot: Spot, call: ast.Call, method: str) -> Next | None:
        """It is an argument of a method of something else; ``None`` where that thing is not known."""

    def library(self, spot: Spot, call: ast.Call, name: str) -> Next | None:
        """It is an argument of a function of a library; ``None`` where that is not known."""

    def summary(self, spot: Spot, call: ast.Call, function: Scope, /) -> Next | None:
        """It is an argument of a function of the project whose work is known as a whole; ``None``: follow it inside."""

    def stored(self, spot: Spot, target: ast.Subscript) -> Next | None:
        """It is assigned to an element; ``None`` where that is one of an ordinary container."""

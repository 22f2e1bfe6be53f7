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

    def branch(self, spot: Spot, /) -> Next:
        """Follow the value into a condition."""

    def index(self, spot: Spot, /) -> Use:
        """Return the end as an index or a key."""

    @property
    def text(self) -> Use:
        """The end in a text or a log."""

    def quiet(self, spot: Spot, call: ast.Call, /) -> bool:
        """Return whether autograd is off in what a call runs."""

    def operation(self, spot: Spot, node: ast.expr) -> Next:
        """Follow the value into the result ``node`` of arithmetic or a comparison (of ``x += y`` the target ``x``)."""

    def attribute(self, spot: Spot, node: ast.Attribute) -> Next:
        """Follow the value to an attribute of it that is not called."""

    def method(self, spot: Spot, call: ast.Call, name: str) -> Next:
        """Follow the value into a call of its method."""

    def given(self, spot: Spot, call: ast.Call, method: str) -> Next | None:
        """Follow the value as an argument of a method of another object; ``None`` where that object is not known."""

    def library(self, spot: Spot, call: ast.Call, name: str) -> Next | None:
        """Follow the value as an argument of a library function; ``None`` where that function is not known."""

    def stepped(self, spot: Spot, call: ast.Call, /) -> Next:
        """Follow the value through the step of an environment, into what that gives."""

    def summary(self, spot: Spot, call: ast.Call, function: Scope, /) -> Next | None:
        """Return what a project function does with the value as a whole; ``None``: follow the value inside of it."""

    def handed_back(self, function: Scope, calls: Next, /) -> Next:
        """Follow the value to the calls that a function returns it to, and to ends besides those that are known."""

    def stored(self, spot: Spot, target: ast.Subscript) -> Next | None:
        """Follow the value into the element that it is assigned to; ``None`` for an ordinary container."""

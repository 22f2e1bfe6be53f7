"""Asking for values: the questions that may be asked, and short ways to ask them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from torchlint.facts.annotations import Annotations
from torchlint.facts.callers import Caller
from torchlint.facts.join import join
from torchlint.facts.model import Binding, FileFacts, Scope
from torchlint.facts.project import Project
from torchlint.facts.solver import NotYetError, Solver
from torchlint.rule import Kind, Value

Question = Scope | tuple[FileFacts, ast.expr | Binding] | tuple[str, str]
"""What a function returns, what an expression or a binding is, what an attribute of a class is."""


@dataclass(eq=False, slots=True)
class Ask:
    """The project, who calls its functions, and the solver that remembers all answers.

    Answers are ``None`` where nothing is known yet, in a circle of questions.
    """

    project: Project
    callers: Mapping[Scope, list[Caller]]
    solver: Solver[Question, Value]
    annotations: Annotations = field(init=False)

    def __post_init__(self) -> None:
        self.annotations = Annotations(self.project, self.instance)

    def value(self, facts: FileFacts, node: ast.expr) -> Value | None:
        """The value of an expression."""
        return self.solver.ask((facts, node))

    def known(self, facts: FileFacts, node: ast.expr) -> Value:
        """The value of an operand without which nothing can be said."""
        value = self.solver.ask((facts, node))
        if value is None:
            raise NotYetError
        return value

    def knower(self, facts: FileFacts) -> Callable[[ast.expr], Value]:
        """``known`` for the expressions of one file."""
        return lambda node: self.known(facts, node)

    def bound(self, facts: FileFacts, bindings: Iterable[Binding]) -> Value | None:
        """The value of a name that one of these bindings gave it."""
        return join([self.solver.ask((facts, binding)) for binding in bindings])

    def returned(self, functions: Iterable[Scope]) -> Value | None:
        """What a call gives that may reach any of these functions."""
        return join([self.solver.ask(function) for function in functions])

    def attribute(self, classes: str, name: str) -> Value | None:
        """An attribute of an instance of a class, or of one of several whose names are separated by ``|``."""
        return join([self.solver.ask((cls, name)) for cls in classes.split("|")])

    def instance(self, cls: str) -> Value:
        """An instance of a class of the project or of a known library."""
        return Value(Kind.MODULE if self.project.is_module(cls) else Kind.INSTANCE, name=cls)

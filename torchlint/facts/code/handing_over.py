"""Calls of the project's functions that a library makes, with the arguments that code of the project gives it.

The graph has them as callers, so parameters are known by what comes to them. What such a call returns is another thing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from torchlint.facts.code.callers import Caller
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.values.values import Values
from torchlint.rule import Kind

DIFFERENTIABLE = frozenset({"torch.autograd.Function", "torch.autograd.function.Function"})
"""Classes of whose forward and backward pass a program makes an operation: ``Scaled.apply(x)``."""
Handed = tuple[Scope, Caller]
_Forward = tuple[Scope, int]


def handed_over(project: Project, values: Values, files: Iterable[FileFacts]) -> Iterator[Handed]:
    """Yield the functions that calls in some files have a library run, each with its call."""
    forwards = dict(_forwards(project))
    for facts in files:
        text = facts.source.utf8
        starting = b"target" in text or b"spawn" in text
        applying = bool(forwards) and b".apply" in text
        for call in (call for scope in facts.scopes for call in scope.calls) if starting or applying else ():
            if starting:
                yield from _started(project, values, facts, call)
            if applying and (found := _applied(project, forwards, facts, call)) is not None:
                yield found


def _applied(project: Project, forwards: Mapping[str, _Forward], facts: FileFacts, call: ast.Call) -> Handed | None:
    """The function that ``Grouped.apply(x)`` runs, or ``grouped(x)`` with ``grouped = Grouped.apply``."""
    func = project.reaching(facts, call.func).value if isinstance(call.func, ast.Name) else call.func
    if not isinstance(func, ast.Attribute) or func.attr != "apply":
        return None
    found = forwards.get(project.qualified(facts, func.value) or "")
    return (found[0], Caller(facts, call, found[1])) if found is not None else None


def _forwards(project: Project) -> Iterator[tuple[str, _Forward]]:
    """The functions that ``apply`` of classes runs, and how many parameters it fills itself: with a context."""
    for cls in project.classes:
        if DIFFERENTIABLE.isdisjoint(project.ancestry(cls)):
            continue
        forward = project.method(cls, "forward")
        if forward is not None and "staticmethod" in forward.decorator_names:
            yield cls, (forward, 0 if project.method(cls, "setup_context") is not None else 1)


def _started(project: Project, values: Values, facts: FileFacts, call: ast.Call) -> Iterator[Handed]:
    """The functions that a process or thread runs which a call makes."""
    target = next((keyword.value for keyword in call.keywords if keyword.arg == "target"), None)
    before = 0
    if target is None and (project.qualified(facts, call.func) or "").endswith("multiprocessing.spawn"):
        target, before = (call.args[0] if call.args else None), 1  # the number of the process comes first
    value = values.of(facts, target) if target is not None else None
    for name in value.name.split("|") if value is not None and value.kind is Kind.FUNCTION else ():
        function = project.functions.get(name)
        if function is not None:
            skip = before + (1 if function.method_of is not None else 0)
            yield function, Caller(facts, call, skip, starts=True)

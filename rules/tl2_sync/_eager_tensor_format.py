"""Calls of functions of the project that print what they are given: what TL206 looks at besides `print`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import field

from torchlint import cst
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.finders import Finder
from torchlint.late import dataclass
from torchlint.rule.site import Site


@dataclass(eq=False, slots=True)
class Printing(Finder):
    """Finds calls of functions that only print, mostly in one of several processes: ``print_on_first(f"{loss}")``."""

    project: Project
    graph: CallGraph
    _known: dict[Scope, frozenset[str]] = field(default_factory=dict)

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the calls."""
        calls = (call for scope in file.scopes for call in scope.calls if call.args)
        return (call for call in calls if self.printed(call) and wanted(call))

    def printed(self, call: ast.Call) -> list[ast.expr]:
        """Return the arguments of a call that all functions which it means print."""
        targets = self.graph.sure(call)
        if not targets or not all(map(self._prints, targets)):
            return []
        return [
            each
            for each in call.args
            if all(
                any(name in self._prints(function) for function, name in self._taking(target, call, each))
                for target in targets
            )
        ]

    def _taking(self, target: Scope, call: ast.Call, node: ast.expr) -> Iterator[tuple[Scope, str]]:
        yield from ((function, name) for function, name in self.graph.taking(call, node) if function is target)
        star = getattr(getattr(target.node, "args", None), "vararg", None)
        if star is not None:
            yield target, star.arg

    def _prints(self, function: Scope) -> frozenset[str]:
        """The parameters that a function prints which returns nothing; empty of any other function."""
        found = self._known.get(function)
        if found is None:
            names: set[str] = set()
            for call in function.calls if function.kind == "function" and not list(function.results) else ():
                if self.project.qualified(function.file, call.func) == "builtins.print":
                    parts = (each.value if isinstance(each, ast.Starred) else each for each in call.args)
                    names.update(each.id for each in parts if isinstance(each, ast.Name))
            parameters = {binding for binding in names if _is_parameter(function, binding)}
            found = self._known[function] = frozenset(parameters)
        return found


def _is_parameter(function: Scope, name: str) -> bool:
    """Whether a name is a parameter of a function, which binds it nowhere else."""
    args = getattr(function.node, "args", None)
    star = args.vararg.arg if isinstance(args, ast.arguments) and args.vararg is not None else ""
    return len(function.bindings.get(name, ())) == 1 and (name in function.params or name == star)


def printed(site: Site, call: cst.Call) -> list[cst.BaseExpression]:
    """Return the arguments of a call that a function of the project prints."""
    twin = site.expression(call)
    if not isinstance(twin, ast.Call):
        return []
    found = site.fact(Printing).printed(twin)
    return [argument.value for argument, node in zip(call.args, twin.args, strict=False) if node in found]

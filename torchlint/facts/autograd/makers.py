"""Which function made a tensor: followed back through names, picked elements and what project functions return."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import stores_of
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Bind, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import method_names
from torchlint.rule import Kind

_PICKING = method_names("torch.Tensor torch", elements=("all", "some"), integral=False)
_DEEPEST = 12


@dataclass(eq=False, slots=True)
class Makers(Fact):
    """Answers what made a tensor."""

    project: Project
    graph: CallGraph
    values: Values

    def of(self, facts: FileFacts, node: ast.expr) -> str:
        """The last word of the one function or module that made all that an expression may mean; else empty.

        ``softmax`` of ``F.softmax(x, -1)``, ``x.softmax(-1)``, ``nn.Softmax(-1)(x)``, of ``p.gather(1, a)`` where
        ``p`` is one of these, of a call of a project function that returns one, and of a network that ends in one;
        ``sub`` of ``x - y``.
        """
        made = set(self._made(facts, node, (), _DEEPEST))
        return made.pop() if len(made) == 1 else ""

    def _made(self, facts: FileFacts, node: ast.expr, path: tuple[int, ...], depth: int) -> Iterator[str]:
        """The words for all ways to a value, or to a part of it; empty words for those that are not known."""
        if depth == 0:
            yield ""
        elif isinstance(node, ast.Name):
            yield from self._name(facts, node, path, depth)
        elif isinstance(node, (ast.Tuple, ast.List)):
            inside = bool(path) and -1 < path[0] < len(node.elts)
            yield from self._made(facts, node.elts[path[0]], path[1:], depth - 1) if inside else ("",)
        elif isinstance(node, ast.IfExp):
            yield from self._made(facts, node.body, path, depth - 1)
            yield from self._made(facts, node.orelse, path, depth - 1)
        elif isinstance(node, ast.Subscript):
            tensor = self.values.of(facts, node.value).kind is Kind.TENSOR
            yield from self._made(facts, node.value, path, depth - 1) if tensor else ("",)
        elif isinstance(node, ast.Call):
            yield from self._call(facts, node, path, depth)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            yield "sub"  # as of the function
        else:
            yield ""

    def _name(self, facts: FileFacts, node: ast.Name, path: tuple[int, ...], depth: int) -> Iterator[str]:
        bindings = self.project.reaching(facts, node).bindings
        if not bindings:
            yield ""
        for binding in bindings:
            if binding.how is Bind.ASSIGN and binding.value is not None:
                yield from self._made(facts, binding.value, (*binding.path, *path), depth - 1)
            else:
                yield ""

    def _call(self, facts: FileFacts, call: ast.Call, path: tuple[int, ...], depth: int) -> Iterator[str]:
        func = call.func
        name = self.project.qualified(facts, func) or ""
        library = name.startswith("torch.")
        word = name.rpartition(".")[2] if library else func.attr if isinstance(func, ast.Attribute) else ""
        targets = [] if call in self.graph.weak else self.graph.callees.get(call, ())
        if targets:
            for target in targets:
                yield from self._returned(target, path, depth)
        elif library and word in _PICKING and call.args:
            yield from self._made(facts, call.args[0], path, depth - 1)
        elif library:
            yield word
        elif isinstance(func, ast.Attribute) and self.values.of(facts, func.value).kind is Kind.TENSOR:
            yield from self._made(facts, func.value, path, depth - 1) if word in _PICKING else (word,)
        else:
            yield self._last_layer(facts, func)

    def _returned(self, target: Scope, path: tuple[int, ...], depth: int) -> Iterator[str]:
        given = [given.value for given in target.returns if given.value is not None]
        if not given or target.name == "__init__":
            yield ""
        for value in given:
            yield from self._made(target.file, value, path, depth - 1)

    def _last_layer(self, facts: FileFacts, func: ast.expr) -> str:
        """Of a module of the library what it computes last: ``softmax`` of ``nn.Sequential(..., nn.Softmax(-1))``."""
        value = self.values.of(facts, func)
        if value.kind is not Kind.MODULE or not value.name.startswith("torch.nn."):
            return ""
        word = value.name.rpartition(".")[2]
        return self._sequence(facts, func) if word == "Sequential" else word.lower()

    def _sequence(self, facts: FileFacts, func: ast.expr) -> str:
        """What the last part of an ``nn.Sequential`` computes that an attribute of an object of ours holds."""
        if not isinstance(func, ast.Attribute):
            return ""
        owner = self.values.of(facts, func.value).name
        last = {
            self._last_part(store.scope.file, store.binding.value)
            for store in stores_of(self.project, owner, func.attr)
        }
        return last.pop() if len(last) == 1 else ""

    def _last_part(self, facts: FileFacts, value: ast.expr | None) -> str:
        if not isinstance(value, ast.Call) or not value.args or isinstance(value.args[-1], ast.Starred):
            return ""
        part = value.args[-1]
        name = self.values.of(facts, part).name
        return name.rpartition(".")[2].lower() if name.startswith("torch.nn.") else ""

"""What calls give: of libraries, of the project's functions, of methods, modules and environments."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass

from torchlint.facts import operators, signatures
from torchlint.facts.asking import Ask
from torchlint.facts.join import INT, NONE, TENSOR, join, list_of, tuple_of
from torchlint.facts.libraries import library_call
from torchlint.facts.model import FileFacts, Scope
from torchlint.facts.project import is_external_module, is_super
from torchlint.rule import UNKNOWN, Kind, Value

_ENV_NAME = re.compile(r"(^|_)(v?envs?|environments?|vecenv|venv|vec_env|gym_env)\d*$", re.IGNORECASE)


@dataclass(eq=False, slots=True)
class Calls:
    """Answers what calls give. ``envs_return_arrays`` tells it of the project's own environments."""

    ask: Ask
    envs_return_arrays: Callable[[], bool]

    def of(self, facts: FileFacts, node: ast.Call) -> Value | None:
        """The value of a call."""
        project = self.ask.project
        name = project.qualified(facts, node.func)
        if name == "builtins.map" and len(node.args) == 2:
            return self._mapped(facts, node.args[0])
        if name is not None:
            known = library_call(name, node, self.ask.knower(facts))
            if known is not None:
                return known
            if name in project.functions:
                return self.ask.solver.ask(project.functions[name])
            if name in project.classes:
                return self.ask.instance(name)
            if is_external_module(name):
                return Value(Kind.MODULE, name=name)
            foreign = operators.foreign_instance(name)
            if foreign is not None:
                return foreign
        if isinstance(node.func, ast.Attribute):
            return self._method(facts, node, node.func)
        callee = self.ask.value(facts, node.func)
        return None if callee is None else self._called(callee)

    def _mapped(self, facts: FileFacts, function: ast.expr) -> Value | None:
        """``map(np.stack, rows)``: a list of what the function gives."""
        name = self.ask.project.qualified(facts, function) or ""
        if name in self.ask.project.functions:
            element = self.ask.solver.ask(self.ask.project.functions[name])
            return list_of(element) if element is not None else None
        return list_of(signatures.mapped(name))

    # methods --------------------------------------------------------------------------------------------------------

    def _method(self, facts: FileFacts, node: ast.Call, func: ast.Attribute) -> Value | None:
        if is_super(func.value):
            return self._inherited(facts, func)
        source = self.ask.value(facts, func.value)
        if source is None:
            return None
        of = self.ask.knower(facts)
        if source.kind is Kind.TENSOR:
            return signatures.tensor_method(func.attr, source, node, of)
        if source.kind is Kind.NDARRAY:
            return signatures.ndarray_method(func.attr, source, node, of)
        if source.kind is Kind.DISTRIBUTION:
            tensors = signatures.table()["distribution_methods"]["tensor"]
            return TENSOR if func.attr in tensors else UNKNOWN
        if source.kind is Kind.ENV or (not source.known and self._called_env(func.value)):
            return operators.environment(func.attr, facts.parent.get(node))
        if source.kind is Kind.LIST and func.attr in ("pop", "popleft"):
            return source.element
        if source.kind is Kind.LIST and func.attr == "copy":
            return source
        if source.kind is Kind.DICT and func.attr in ("get", "pop"):
            return source.element if len(node.args) == 1 else UNKNOWN
        if source.kind is Kind.SIZE and func.attr == "numel":
            return INT
        if source.kind in (Kind.MODULE, Kind.DEVICE) and func.attr in ("to", "cuda", "cpu", "eval", "train", "float"):
            return source
        if source.kind in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS) and source.name:
            return join([self._method_of(source.kind, name, func.attr, node) for name in source.name.split("|")])
        return operators.untyped_method(func.attr, node)

    def _called_env(self, node: ast.expr) -> bool:
        """Whether a value of unknown origin is called an environment, in a project whose own ones return arrays."""
        return bool(_ENV_NAME.search(operators.last_name(node))) and self.envs_return_arrays()

    def _inherited(self, facts: FileFacts, func: ast.Attribute) -> Value | None:
        """What ``super().method(...)`` gives."""
        project = self.ask.project
        owner = facts.scope_of(func).owner
        for base in project.ancestry(owner.dotted)[1:] if owner is not None else ():
            method = project.method(base, func.attr)
            if method is not None:
                return self.ask.solver.ask(method)
        return UNKNOWN

    def _method_of(self, kind: Kind, cls: str, attr: str, node: ast.Call) -> Value | None:
        own = self.ask.project.implementations(cls, attr)
        if own:
            return self.ask.returned(own)
        if attr == "__call__" and kind is Kind.MODULE:
            return self._called(Value(kind, name=cls))
        member = self.ask.attribute(cls, attr)
        if member is None:
            return None
        if member.kind in (Kind.MODULE, Kind.INSTANCE, Kind.CLASS, Kind.FUNCTION):
            return self._called(member)
        return operators.untyped_method(attr, node)

    # what is called -------------------------------------------------------------------------------------------------

    def _called(self, callee: Value) -> Value | None:
        """The value of calling something."""
        return join([self._called_one(callee.kind, name) for name in callee.name.split("|")])

    def _called_one(self, kind: Kind, name: str) -> Value | None:
        project = self.ask.project
        if kind is Kind.CLASS:
            return self.ask.instance(name) if name in project.classes else UNKNOWN
        if kind is Kind.FUNCTION:
            function = project.functions.get(name)
            return self.ask.solver.ask(function) if function is not None else UNKNOWN
        own = project.implementations(name, "forward" if kind is Kind.MODULE else "__call__")
        if own and kind in (Kind.MODULE, Kind.INSTANCE):
            return self.ask.returned(own)
        if kind is Kind.MODULE and name.startswith("torch.nn."):
            several = name.rpartition(".")[2] in signatures.table()["modules"]["tuple"]
            return tuple_of(TENSOR, UNKNOWN) if several else TENSOR
        return UNKNOWN

    def result(self, function: Scope) -> Value | None:
        """What a function of the project returns: what its annotation promises, else what its returns give."""
        node = function.node
        if isinstance(node, ast.Lambda):
            return self.ask.value(function.file, node.body)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
            promised = self.ask.annotations.read(function.file, node.returns)
            if promised.known and promised.kind not in (Kind.LIST, Kind.TUPLE, Kind.MODULE, Kind.INSTANCE):
                return promised
        if function.yields:
            return UNKNOWN
        values = [self.ask.value(function.file, r.value) if r.value is not None else NONE for r in function.returns]
        return join(values) if values else NONE

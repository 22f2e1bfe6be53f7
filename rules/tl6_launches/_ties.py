"""Whether modules that were built apart may come to share parameters, or to hold them in different dtypes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import arguments_of
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import method_names
from torchlint.rule import Kind

_PARAMETERS = frozenset({"weight", "bias", "data"})
_TAKING = method_names("Module list dict", adds=True)
_CASTS = frozenset({"half", "double", "float", "bfloat16", "type", "to"})
_MAY_BE_HELD = frozenset({Kind.UNKNOWN, Kind.TENSOR, Kind.MODULE})
# With ``load_state_dict(..., assign=True)`` a module takes the tensors themselves.
_ADOPTING = b"assign="


@dataclass(eq=False, slots=True)
class Ties(Fact):
    """Answers what the code of a program, the files connected by imports, may do to modules after they were built."""

    project: Project
    graph: CallGraph
    values: Values
    _tied: dict[frozenset[str], bool] = field(default_factory=dict)
    _cast: dict[frozenset[str], bool] = field(default_factory=dict)

    def tied(self, facts: FileFacts) -> bool:
        """Return whether code connected with a file may give a module a parameter, a part or the memory of another."""
        group = self.graph.groups[facts.path]
        if group not in self._tied:
            self._tied[group] = (
                any(_ADOPTING in self.project.files[path].source.utf8 for path in group)
                or any(self._stores(*store) for store in self._stored(group))
                or any(self._hands(file, call) for file, call in self._calls(group))
            )
        return self._tied[group]

    def cast(self, facts: FileFacts) -> bool:
        """Return whether code connected with a file may give some module another dtype than the default one."""
        group = self.graph.groups[facts.path]
        if group not in self._cast:
            self._cast[group] = any(self._casts(file, call) for file, call in self._calls(group))
        return self._cast[group]

    def _files(self, group: frozenset[str]) -> list[FileFacts]:
        return [self.project.files[path] for path in sorted(group)]

    def _stored(self, group: frozenset[str]) -> Iterator[tuple[FileFacts, str, ast.expr, ast.expr | None]]:
        """What is stored where: the attribute, the object, and the value; an empty attribute for ``x[i] = value``."""
        for facts in self._files(group):
            for attr, stores in facts.outside.items():
                for holder, store in stores:
                    yield facts, attr, holder, store.binding.value
            for statement in facts.places:
                if isinstance(statement, ast.Assign):
                    for target in statement.targets:
                        if isinstance(target, ast.Subscript):
                            yield facts, "", target.value, statement.value

    def _calls(self, group: frozenset[str]) -> Iterator[tuple[FileFacts, ast.Call]]:
        for facts in self._files(group):
            for scope in facts.scopes:
                for call in scope.calls:
                    yield facts, call

    def _stores(self, facts: FileFacts, attr: str, holder: ast.expr, value: ast.expr | None) -> bool:
        """Whether an assignment may hand on a parameter or a module that exists already."""
        if value is None or not self._may_be_held(facts, value):
            return False
        alike = isinstance(value, ast.Attribute) and value.attr == attr
        return alike or attr in _PARAMETERS or self._is_module(facts, holder)

    def _hands(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a call may put what exists already into a module."""
        match call.func:
            case ast.Name(id="setattr") if len(call.args) == 3:
                return self._may_be_held(facts, call.args[2])
            case ast.Attribute(value=holder, attr=attr) if attr in _TAKING and self._is_module(facts, holder):
                return any(self._may_be_held(facts, argument) for argument in call.args)
        return False

    def _casts(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a call may give a module another dtype, or build one with another."""
        match call.func:
            case ast.Attribute(value=holder, attr="to") if self._is_module(facts, holder):
                given = arguments_of(call)
                return any(self.values.of(facts, argument).kind is not Kind.DEVICE for argument in given)
            case ast.Attribute(value=holder, attr=attr) if attr in _CASTS and self._is_module(facts, holder):
                return True
        if self.project.qualified(facts, call.func) == "torch.set_default_dtype":
            return True
        return any(keyword.arg == "dtype" for keyword in call.keywords) and self._is_module(facts, call)

    def _may_be_held(self, facts: FileFacts, value: ast.expr) -> bool:
        """Whether an expression may mean a parameter or a module that something else holds, too."""
        named = isinstance(value, (ast.Name, ast.Attribute, ast.Subscript))
        return named and self.values.of(facts, value).kind in _MAY_BE_HELD

    def _is_module(self, facts: FileFacts, node: ast.expr) -> bool:
        return self.values.of(facts, node).kind is Kind.MODULE

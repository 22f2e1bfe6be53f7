"""Whether an expression has the same value on every call: literals, settings, and what is computed from them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import alike
from torchlint.facts.code.callers import passed, stores_of
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import LOOPS, Bind, Binding, FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.solver import Solver
from torchlint.facts.code.tree import arguments_of, is_none
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.values.signatures import starred
from torchlint.facts.values.spaces import is_space
from torchlint.facts.values.tested import arms
from torchlint.facts.values.values import Values
from torchlint.late import dataclass, regex
from torchlint.models import last_names
from torchlint.rule import Kind

_SETTINGS = regex(r"_*(args|opts?|cfg|config|conf|configs|hparams|hyperparams|settings|flags|params_cfg)_*$", re.I)
_PURE = last_names("builtins", folds=True) | last_names("builtins", makes=("sequence", "pattern"))
_SPACES = regex(r"(^|_)space$")
_LIMITS = frozenset({"low", "high"})
_CONSTRUCTORS = ("__init__", "__post_init__")
_CHANGING = frozenset({Kind.TENSOR, Kind.NDARRAY, Kind.DICT, Kind.SET, Kind.ENV, Kind.MODULE, Kind.SIZE})


@dataclass(eq=False, slots=True)
class Constants(Fact):
    """Answers whether expressions are constant, with a memory."""

    project: Project
    graph: CallGraph
    values: Values
    sources: Sources
    _written: frozenset[str] | None = field(default=None)
    _solver: Solver[tuple[FileFacts, ast.expr], bool] = field(init=False)

    def __post_init__(self) -> None:
        self._solver = Solver(lambda question: self._expression(*question), unknown=False)

    def of(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether an expression has the same value in each evaluation, and does not depend on itself."""
        return bool(self._solver.ask((facts, node)))

    def unwritten(self, facts: FileFacts, node: ast.Attribute) -> bool:
        """Return whether no code writes into the list or array that an attribute holds.

        A list is made for it, and nothing is put into an attribute of that name; a constructor makes another one for
        each object. An array is a limit of a space.
        """
        if self._is_limit(facts, node):
            return True
        if _constructs(facts, node):
            return False
        made = [store.binding.value for store in self.sources.stores(facts, node)]
        return bool(made) and all(map(_is_new_list, made)) and node.attr not in self._written_into()

    def _is_limit(self, facts: FileFacts, node: ast.Attribute) -> bool:
        """Whether an attribute is a limit of a space of actions or observations, which stays as it is made."""
        if node.attr not in _LIMITS or _constructs(facts, node):
            return False
        return bool(_SPACES.search(last_name(node.value))) or is_space(self.values.of(facts, node.value))

    def _written_into(self) -> frozenset[str]:
        """The names of all attributes into which code of the project puts something."""
        if self._written is None:
            into = (name for file in self.project.files.values() for scope in file.scopes for name in scope.appends)
            self._written = frozenset(name.rpartition(".")[2] for name in into if "." in name)
        return self._written

    def _all(self, facts: FileFacts, nodes: list[ast.expr]) -> bool:
        return all(self.of(facts, node) for node in nodes)

    def _expression(self, facts: FileFacts, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, (ast.Tuple, ast.List)):
            return self._all(facts, node.elts)
        if isinstance(node, ast.UnaryOp):
            return self.of(facts, node.operand)
        if isinstance(node, ast.BinOp):
            return self._all(facts, [node.left, node.right])
        if isinstance(node, ast.BoolOp):
            return self._all(facts, node.values)
        if isinstance(node, ast.Compare):
            return self._all(facts, [node.left, *node.comparators])
        if isinstance(node, ast.Starred):
            return self.of(facts, node.value)
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            fixed = self.values.of(facts, node.value).kind is Kind.TUPLE  # no code can write into it
            return fixed and self._all(facts, [node.value, node.slice])
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return self._all(facts, [node.elt, *(g.iter for g in node.generators)])
        if isinstance(node, ast.Name):
            return self._name(facts, node)
        if isinstance(node, ast.Attribute):
            return self._attribute(facts, node)
        if isinstance(node, ast.Call):
            return self._call(facts, node)
        return False

    def _call(self, facts: FileFacts, node: ast.Call) -> bool:
        if starred(node):
            return False
        name = self.project.qualified(facts, node.func) or ""
        pure = name.startswith(("math.", "builtins.")) and (name.startswith("math.") or name.partition(".")[2] in _PURE)
        pure = pure or name in ("torch.device", "numpy.log", "numpy.sqrt", "numpy.exp", "numpy.prod")
        return pure and self._all(facts, arguments_of(node))

    def _name(self, facts: FileFacts, node: ast.Name) -> bool:
        reach = self.project.reaching(facts, node)
        if not reach.bindings:
            return False
        if self.values.of(facts, node).kind in (Kind.DEVICE, Kind.DTYPE):
            return True
        if reach.scope is not None and reach.scope.kind == "module" and len(reach.bindings) > 1:
            return False
        if self._is_chosen(facts, reach.bindings):
            return False
        return all(self._binding(facts, node, binding) for binding in reach.bindings)

    def _is_chosen(self, facts: FileFacts, bindings: Sequence[Binding]) -> bool:
        """Whether what a program comes to decides which of several values a name has: ``1 if won else 0``.

        A setting that decides is the same in all calls.
        """
        given = [(b.stmt, b.value) for b in bindings if b.how is Bind.ASSIGN and b.value is not None]
        if all(alike(given[0][1], value) for _, value in given[1:]):
            return False
        tests = [[test for test, _ in arms(facts, stmt)] for stmt, _ in given]
        return sum(not each for each in tests) > 1 or not all(self._all(facts, each) for each in tests)

    def _binding(self, facts: FileFacts, node: ast.Name, binding: Binding) -> bool:
        if binding.how is Bind.PARAM:
            return self._parameter(facts, binding)
        if binding.how is Bind.ASSIGN and not binding.path and binding.value is not None:
            value = self.values.of(facts, binding.value)
            if value.kind in _CHANGING or (value.kind is Kind.LIST and _grows(facts, node.id)):
                return False
            return self.of(facts, binding.value) or self._is_read_once(facts, node, binding)
        if binding.how is Bind.ELEMENT and isinstance(binding.stmt, (ast.ListComp, ast.GeneratorExp)):
            return binding.value is not None and self.of(facts, binding.value)
        if binding.how is Bind.IMPORT:
            return self._imported(facts, binding)
        return False

    def _is_read_once(self, facts: FileFacts, node: ast.Name, binding: Binding) -> bool:
        """Whether a name is the settings that a program reads before its loops: ``args = parser.parse_args()``."""
        if not _SETTINGS.match(node.id) or not isinstance(binding.value, ast.Call):
            return False
        only = self.project.reaching(facts, node).only is binding
        return only and not any(isinstance(part, LOOPS) for part in facts.ancestors(binding.stmt))

    def _imported(self, facts: FileFacts, binding: Binding) -> bool:
        found = [(file, each.value) for file, each in self.sources.imported(facts, binding) if each.how is Bind.ASSIGN]
        file, value = found[0] if len(found) == 1 else (facts, None)
        return value is not None and self.of(file, value)

    def _parameter(self, facts: FileFacts, binding: Binding) -> bool:
        """A parameter that every caller gives as a constant; one that is called as settings are called is one."""
        if _SETTINGS.match(binding.target):
            return True
        scope = binding.scope
        callers = self.graph.callers.get(scope, []) if scope is not None else []
        if scope is None or not callers:
            return False
        if scope.method_of is not None and scope.name in self.graph.open:
            return False  # someone calls a method of this name on an unknown object, so not all callers are known
        for caller in callers:
            node = passed(scope, binding.target, caller)
            if node is not None:
                if not self.of(caller.facts, node):
                    return False
            elif starred(caller.call) or binding.value is None or not self.of(facts, binding.value):
                return False
            elif is_none(binding.value):
                return False  # no tensor is made of what was left out
        return True

    def _attribute(self, facts: FileFacts, node: ast.Attribute) -> bool:
        name = self.project.qualified(facts, node) or ""
        if name.startswith(("torch.", "numpy.", "math.")):
            return True
        value = self.values.of(facts, node)
        if value.kind in (Kind.DEVICE, Kind.DTYPE) or self._is_limit(facts, node):
            return True
        if value.kind in _CHANGING or node.attr in ("shape", "T", "data", "grad", "training"):
            return False
        base = node.value
        if (assigned := self.sources.of_module(facts, node)) is not None:
            file, given = assigned
            if not _grows(file, node.attr) and self.of(file, given):
                return True
        owner = facts.scope_of(node).owner
        method = facts.scope_of(node).method
        if isinstance(base, ast.Name) and owner is not None and method is not None and base.id == method.self_name:
            return self._never_rebound(owner, node.attr)
        if isinstance(base, ast.Name):
            return bool(_SETTINGS.match(base.id)) and self._name(facts, base)
        return isinstance(base, ast.Attribute) and self._attribute(facts, base)

    def _never_rebound(self, owner: Scope, attr: str) -> bool:
        """Whether an attribute is set in ``__init__`` (or the class body) alone and holds nothing that is changed."""
        stores = list(stores_of(self.project, owner.dotted, attr))
        if not stores or any(store.binding.how is not Bind.ASSIGN for store in stores):
            return False
        if any(True for _ in self.values.outside(owner.dotted, attr)):
            return False
        for store in stores:
            place = store.scope.function
            if place.kind == "function" and place.name not in _CONSTRUCTORS:
                return False
        return not any(
            f"{method.self_name}.{attr}" in method.appends
            for cls in (*self.project.family(owner.dotted), *self.project.descendants(owner.dotted))
            for method in cls.inner
            if method.kind == "function"
        )


def _constructs(facts: FileFacts, node: ast.AST) -> bool:
    """Whether a node is in a constructor, which runs for one object after the other."""
    method = facts.scope_of(node).method
    return method is not None and method.name in _CONSTRUCTORS


def _grows(facts: FileFacts, name: str) -> bool:
    """Whether any function of a file adds to, or changes the items of, something of that name."""
    return any(name in scope.appends for scope in facts.scopes)


def _is_new_list(node: ast.expr | None) -> bool:
    """``[1, 2]``, ``[...]`` with a loop, ``list(parts)``, ``sorted(parts)``."""
    match node:
        case ast.Call(func=ast.Name(id="list" | "sorted")) | ast.List() | ast.ListComp():
            return True
    return False

"""What TL401 asks about a site."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.members import Members
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.movers import Movers
from torchlint.facts.code.naming import last_name, mentions_of
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import arguments_of
from torchlint.facts.finders import Finder
from torchlint.facts.state.constant import Constants
from torchlint.facts.state.uses import accumulated
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import function_names, last_names
from torchlint.rule import Device, Kind
from torchlint.rule.site import Site

from ._filling import COPIES

ARRAYS = function_names("numpy", makes=("data", "pattern"))
"""Functions that make an array of data, or of a pattern."""
_MAKING = function_names("torch", makes=("array", "data"))
_MAKING_LAST = last_names("torch", makes=("array", "data"))
_NARROWING = frozenset({"half", "bfloat16", "double"})
_COPIED = frozenset({Kind.NUMBER, Kind.TUPLE, Kind.LIST, Kind.NDARRAY})
_FLOATING = frozenset({None, "float16", "bfloat16", "float32", "float64"})


@dataclass(eq=False, slots=True)
class Recast(Fact):
    """Answers whether modules get another dtype as a whole: their floating buffers get it too."""

    project: Project
    graph: CallGraph
    values: Values
    _known: dict[frozenset[str], bool] = field(default_factory=dict)

    def near(self, facts: FileFacts) -> bool:
        """Return whether a file that imports connect with this one casts a module."""
        group = self.graph.groups[facts.path]
        if group not in self._known:
            files = (self.project.files[path] for path in sorted(group))
            calls = ((file, call) for file in files for scope in file.scopes for call in scope.calls)
            self._known[group] = any(self._casts(file, call) for file, call in calls)
        return self._known[group]

    def _casts(self, facts: FileFacts, call: ast.Call) -> bool:
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr not in _NARROWING | {"float", "to", "type"}:
            return False
        receiver = self.values.of(facts, func.value).kind
        if receiver is not Kind.MODULE:
            return receiver is Kind.UNKNOWN and func.attr in _NARROWING
        given = [self.values.of(facts, node).kind for node in arguments_of(call)]
        return func.attr != "to" or Kind.DTYPE in given or Kind.TENSOR in given


@dataclass(eq=False, slots=True)
class Copiers(Finder):
    """Finds calls of functions that copy one of their arguments to a device: ``to_tensor(2.0, device=device)``.

    One that moves its argument and makes no tensor of a number copies arrays: ``to_gpu(np.arange(8))``.
    """

    project: Project
    graph: CallGraph
    values: Values
    constants: Constants
    movers: Movers
    _copying: Mapping[Scope, str] | None = None

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the calls."""
        if self._functions():
            calls = (call for scope in file.scopes for call in scope.calls if self.copied(file, call) is not None)
            yield from (call for call in calls if wanted(call))

    def copied(self, facts: FileFacts, call: ast.Call) -> ast.expr | None:
        """Return the number or sequence that a call hands to such a function, unless it stays on the host."""
        functions, copying = self.graph.sure(call), self._functions()
        if len(functions) != 1 or functions[0] not in copying:
            return None
        taken = (functions[0], copying[functions[0]])
        given = next((arg for arg in arguments_of(call) if taken in self.graph.taking(call, arg)), None)
        if given is None or self.values.of(facts, given).kind not in _COPIED:
            return None
        others = (self.values.of(facts, each) for each in arguments_of(call) if each is not given)
        return None if any(value.device is Device.CPU or value.literal == "cpu" for value in others) else given

    def _functions(self) -> Mapping[Scope, str]:
        """The functions of the project that give a tensor of a parameter on a device, with the parameter."""
        if self._copying is None:
            functions = self.project.functions.values()
            plain = [each for each in functions if each.results and not each.decorator_names]
            found = ((each, self._taken(each) or self._moved(each)) for each in plain)
            self._copying = {function: name for function, name in found if name}
        return self._copying

    def _taken(self, function: Scope) -> str:
        """The parameter of which a function returns a tensor, if there is one: ``torch.tensor(x, device=device)``.

        Empty where all calls give the same: what the function returns is a constant then.
        """
        for result in function.results:
            match result:
                case ast.Call(func=func, args=[ast.Name(id=name) as read, *_], keywords=words):
                    made = self.project.qualified(function.file, func) in COPIES
                    made = made and self.project.reaching(function.file, read).parameter is not None
                    placed = any(word.arg == "device" for word in words)
                    if made and placed and not self.constants.of(function.file, read):
                        return name
        return ""

    def _moved(self, function: Scope) -> str:
        """The parameter that a function makes a tensor of and moves: ``torch.from_numpy(x).cuda()``; else empty."""
        given = function.positional[bool(function.self_name) :]
        making = (call for call in function.calls if last_name(call.func) in _MAKING_LAST) if given else ()
        made = any(self.project.qualified(function.file, call.func) in _MAKING for call in making)
        return given[0] if made and self.movers.only_moves(function) else ""

    def is_same_array(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether an expression is an array that each call makes of the same numbers.

        ``np.arange(self.size)``, also by a name that is read here alone, so that nothing writes into it before.
        """
        made: ast.expr | None = node
        if isinstance(node, ast.Name):
            made, here = self.project.reaching(facts, node).value, self.project.bound_to(facts, node)
            mentions = mentions_of(facts, facts.scope_of(node).function.node, node.id)
            others = (each for each in mentions if isinstance(each.ctx, ast.Load) and each is not node)
            if any(here & self.project.bound_to(facts, each) for each in others):
                return False
        if not isinstance(made, ast.Call) or self.project.qualified(facts, made.func) not in ARRAYS:
            return False
        return bool(made.args) and all(self.constants.of(facts, each) for each in arguments_of(made))


def copied_by(site: Site, call: cst.Call) -> cst.BaseExpression | None:
    """Return what a call of a function of the project copies to a device, ``None`` for other calls."""
    twin = site.expression(call)
    given = site.fact(Copiers).copied(site.file, twin) if isinstance(twin, ast.Call) else None
    return next((arg.value for arg in call.args if given is not None and site.expression(arg.value) is given), None)


def is_same_array(site: Site, node: cst.CSTNode) -> bool:
    """Return whether an expression is an array that each call makes of the same numbers."""
    twin = site.expression(node)
    return twin is not None and site.fact(Copiers).is_same_array(site.file, twin)


def is_accumulated(site: Site, node: cst.CSTNode) -> bool:
    """Return whether the name an expression is assigned to is later given what is made of it, as in ``x = x + y``."""
    twin = site.expression(node)
    return twin is not None and accumulated(site.file, twin)


def is_fixed(site: Site, node: cst.CSTNode) -> bool:
    """Return whether an expression is an attribute that holds a list into which nothing is written."""
    twin = site.expression(node)
    return isinstance(twin, ast.Attribute) and site.fact(Constants).unwritten(site.file, twin)


def free_attribute(site: Site, name: str) -> str | None:
    """Return an attribute as source (``self.support``) that the module could set at the end of ``__init__``.

    ``name`` itself or with a number after it, never one that the class or its relatives use. ``None`` where the
    class has no ``__init__`` of its own that calls the next one, or the attribute might not be there at the node.
    """
    return site.fact(Members).free_attribute(site.file, site.twin, name)


def settled(site: Site, node: cst.CSTNode) -> bool:
    """Return whether an expression means the same at the end of the enclosing class's own ``__init__``."""
    twin = site.expression(node)
    return twin is not None and site.fact(Members).settled(site.file, twin)


def follows_a_cast(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a tensor would get another dtype as a buffer, because modules are cast nearby."""
    value = site.values.of(node)
    return value.dtype in _FLOATING and site.fact(Recast).near(site.file)

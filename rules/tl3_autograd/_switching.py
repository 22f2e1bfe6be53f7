"""Training and evaluation mode: what switches it, and which modules care."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.networks import Networks
from torchlint.facts.code.alike import alike
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import NESTED, FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import conjuncts, names_in, walk
from torchlint.facts.hotness.around import enclosing_loop
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.loops.loops import Loops
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import function_names
from torchlint.rule import UNKNOWN, Frequency, Kind
from torchlint.rule.site import Site

_CONTEXT_METHODS = frozenset({"__enter__", "__exit__"})
_CONTEXT_MAKERS = frozenset({"contextmanager", "asynccontextmanager"})
_MODAL = ("Dropout", "BatchNorm", "InstanceNorm", "AlphaDropout", "RReLU", "Transformer", "MultiheadAttention")
_HOLDERS = function_names("torch.nn", holds="modules") | function_names(wraps="module")
_NESTED = ("Module", "Transformer", "MultiheadAttention")
_SWITCHES = frozenset(
    """train eval requires_grad_ super isinstance hasattr getattr values items modules named_modules children
    named_children""".split()
)
_RECURRENT = frozenset({"torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN"})


@dataclass(eq=False, slots=True)
class Switching(Fact):
    """Answers what switches modules between training and evaluation."""

    project: Project
    graph: CallGraph
    networks: Networks
    values: Values
    loops: Loops
    heat: Heat
    _readers: bool | None = field(default=None)

    def switches(self, facts: FileFacts, call: ast.Call) -> bool:
        """Return whether a call makes a context manager of the project that switches modules back and forth.

        It says ``train(False)``, or both ``eval()`` and ``train()``, on something, whatever its arguments are.
        """
        calls = [inner for scope in self._bodies(facts, call) if not _may_pass(scope) for inner in scope.calls]
        methods = [inner for inner in calls if isinstance(inner.func, ast.Attribute)]
        names = {inner.func.attr for inner in methods if isinstance(inner.func, ast.Attribute)}
        return {"eval", "train"} <= names or any(_says_false(inner) for inner in methods)

    def hands_on(self, facts: FileFacts, node: ast.AST) -> bool:
        """Return whether a node stands where someone else's switch is carried out.

        In a context manager, which runs where it is entered and left, and in a module's own ``train`` or ``eval``.
        """
        function = facts.scope_of(node).function
        owner = function.method_of
        own = function.name in ("train", "eval") and owner is not None and self.project.is_module(owner.dotted)
        return own or _is_context(function)

    def sets(self, facts: FileFacts, call: ast.Call) -> bool:
        """Return whether ``net.train(mode)`` is the method of every module, in a function that does more than switch.

        A class of the project may take something else under this name: a batch, or a number of steps.
        """
        value = self.values.of(facts, call.func.value) if isinstance(call.func, ast.Attribute) else UNKNOWN
        if any(self.project.method(cls, "train") for cls in value.name.split("|")):
            return False
        return not all(last_name(each.func) in _SWITCHES for each in facts.scope_of(call).function.calls)

    def in_step(self, facts: FileFacts, call: ast.Call) -> bool:
        """Return whether a call runs on every step, and not only in an update for each of its few networks."""
        loop = enclosing_loop(facts, call, facts.scope_of(call).function)
        if not isinstance(loop, ast.For) or not self.loops.is_few(facts, loop):
            return True
        return self.heat.frequency(facts, loop) >= Frequency.STEP

    def on_change(self, facts: FileFacts, call: ast.Call) -> bool:
        """Return whether a switch runs only where the mode is the other one: ``if not net.training: net.train()``."""
        func = call.func
        if not isinstance(func, ast.Attribute):
            return False
        for child, current in facts.climb(call, *NESTED):
            if isinstance(current, ast.If) and child in current.body:
                for test, truth in conjuncts(current.test, True):
                    asks = isinstance(test, ast.Attribute) and test.attr == "training" and alike(test.value, func.value)
                    if asks and truth is (func.attr == "eval"):
                        return True
        return False

    def matter(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether a module may compute something else in the other mode; true where its parts are not known."""
        parts = self.networks.of(facts, node).parts
        if parts is None or parts & _RECURRENT or self._reads_mode():
            return True
        return any(part.rpartition(".")[2].startswith(_MODAL) for part in parts)

    def is_layer(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether a module is one layer of torch, without others inside: to switch it sets one attribute."""
        value = self.values.of(facts, node)
        names = value.name.split("|") if value.kind is Kind.MODULE and not value.derived else [""]
        return all(name.startswith("torch.nn.") and not _has_layers(name) for name in names)

    def _bodies(self, facts: FileFacts, call: ast.Call) -> Iterator[Scope]:
        """The functions that run when a context manager is entered and left."""
        name = self.project.qualified(facts, call.func) or ""
        for cls in self.project.family(name):
            yield from (inner for inner in cls.inner if inner.name in _CONTEXT_METHODS)
        function = self.project.functions.get(name)
        for scope in [function] if function is not None else self.graph.callees.get(call, ()):
            if _is_context(scope):
                yield scope

    def _reads_mode(self) -> bool:
        """Whether a module of the project asks in which mode it is."""
        if self._readers is None:
            self._readers = any(
                isinstance(part, ast.Attribute) and part.attr == "training" and isinstance(part.ctx, ast.Load)
                for cls in self.project.classes.values()
                if b".training" in cls.file.source.utf8 and self.project.is_module(cls.dotted)
                for part in walk(cls.node)
            )
        return self._readers


def _has_layers(cls: str) -> bool:
    return cls in _HOLDERS or cls.rpartition(".")[2].startswith(_NESTED)


def _is_context(scope: Scope) -> bool:
    return scope.name in _CONTEXT_METHODS or bool(_CONTEXT_MAKERS.intersection(scope.decorator_names))


def _may_pass(scope: Scope) -> bool:
    """Whether a context manager does nothing where a parameter says so: ``if not needed: yield; return``."""
    given = set(scope.params) - {scope.self_name}
    for stmt in getattr(scope.node, "body", ()):
        match stmt:
            case ast.If(test=ast.Name() | ast.UnaryOp(op=ast.Not()) as test, body=[ast.Expr(value=ast.Yield()), *rest]):
                if not given.isdisjoint(names_in(test)) and rest and isinstance(rest[-1], ast.Return):
                    return True
    return False


def _says_false(call: ast.Call) -> bool:
    """``x.train(False)``"""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "train":
        return False
    arguments = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    return len(arguments) == 1 and isinstance(arguments[0], ast.Constant) and arguments[0].value is False


def hands_mode_on(site: Site) -> bool:
    """Return whether the node is in a context manager, or in a module's own ``train`` or ``eval``."""
    return site.fact(Switching).hands_on(site.file, site.twin)


def sets_mode(site: Site, call: cst.Call) -> bool:
    """Return whether ``net.train(mode)`` sets the mode of a module, in a function that does more than switch."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(Switching).sets(site.file, twin)


def only_on_change(site: Site, call: cst.Call) -> bool:
    """Return whether a switch runs only where the mode is the other one."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(Switching).on_change(site.file, twin)


def runs_per_step(site: Site, call: cst.Call) -> bool:
    """Return whether a call runs on every step, and not only in an update for each of its few networks."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(Switching).in_step(site.file, twin)


def switches_layer(site: Site, node: cst.CSTNode) -> bool:
    """Return whether what is switched is one layer of torch, without others inside."""
    twin = site.expression(node)
    return twin is not None and site.fact(Switching).is_layer(site.file, twin)


def mode_matters(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a module may compute something else in the other mode; true where its parts are not known."""
    twin = site.expression(node)
    return twin is None or site.fact(Switching).matter(site.file, twin)


def switches_mode(site: Site, call: cst.Call) -> bool:
    """Return whether a call makes a context manager of the project that puts modules into evaluation mode and back."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and site.fact(Switching).switches(site.file, twin)

"""Whether autograd records what runs somewhere, and which tensors hang on a graph."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from torchlint.facts.callers import passed, stores_of
from torchlint.facts.graph import CallGraph
from torchlint.facts.hotness import Heat
from torchlint.facts.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.modes import Mode, Modes
from torchlint.facts.networks import Networks
from torchlint.facts.project import Project
from torchlint.facts.signatures import keyword
from torchlint.facts.solver import Solver
from torchlint.facts.values import Values
from torchlint.rule import Kind

_ENDING = frozenset(
    ["detach", "detach_", "item", "numpy", "tolist", "argmax", "argmin", "argsort", "long", "int", "bool", "byte"]
    + ["sample", "sample_n", "multinomial", "nonzero", "size", "dim", "numel", "eq", "ne", "gt", "ge", "lt", "le"]
    + ["isnan", "isinf", "isfinite", "any", "all", "new_zeros", "new_ones", "new_tensor", "new_full", "sign", "round"]
)
_MAKING = frozenset(
    ["zeros", "ones", "empty", "full", "eye", "arange", "linspace", "tensor", "as_tensor", "asarray", "from_numpy"]
    + ["rand", "randn", "randint", "randperm", "normal", "zeros_like", "ones_like", "empty_like", "full_like"]
    + ["rand_like", "randn_like", "randint_like", "tril_indices", "triu_indices", "bernoulli", "load", "device"]
    + ["FloatTensor", "DoubleTensor", "LongTensor", "IntTensor", "BoolTensor", "ByteTensor", "Tensor", "HalfTensor"]
    + ["one_hot", "searchsorted", "bincount"]
)
_NO_GRAPH = frozenset(
    [Kind.NDARRAY, Kind.SCALAR, Kind.ITEM, Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.SIZE, Kind.DEVICE, Kind.DTYPE]
    + [Kind.ENV, Kind.OPTIMIZER]
)
_INTEGERS = frozenset({"int64", "int32", "int16", "int8", "uint8", "bool"})
_PASSING = frozenset(f"builtins.{name}" for name in ("sum", "max", "min", "zip", "list", "tuple", "enumerate", "map"))
# Modules of torch without parameters; a loss or an activation, besides those found by their names' ends.
_BARE = frozenset(
    ["Sequential", "ModuleList", "ModuleDict", "Module", "Identity", "Flatten", "Unflatten", "ReLU", "ReLU6", "ELU"]
    + ["SELU", "CELU", "GELU", "SiLU", "Mish", "LeakyReLU", "Sigmoid", "Tanh", "Softmax", "LogSoftmax", "Softplus"]
    + ["Hardtanh", "Hardswish", "Hardsigmoid", "LogSigmoid", "Softsign", "Tanhshrink", "Softmin", "Threshold", "GLU"]
    + ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "Upsample", "PixelShuffle", "CosineSimilarity"]
)
_BARE_ENDS = ("Loss", "Pool1d", "Pool2d", "Pool3d", "Pad1d", "Pad2d", "Pad3d")

_Question = tuple[FileFacts, ast.expr] | Scope


@dataclass(eq=False, slots=True)
class Autograd:
    """Whether autograd records what runs somewhere, and which tensors hang on a graph."""

    project: Project
    graph: CallGraph
    values: Values
    heat: Heat
    networks: Networks
    modes: Modes = field(init=False)
    _graphs: Solver[_Question, str] = field(init=False)
    _names: dict[Scope, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.modes = Modes(self.project, self.graph, self.heat)
        self._graphs = Solver(self._answer, "")

    def records(self, facts: FileFacts, node: ast.AST) -> bool | None:
        """Whether autograd records what runs at a node; ``None`` where nothing says so."""
        mode = self.modes.at(facts, node)
        return None if mode is Mode.UNKNOWN else mode is Mode.ON

    # graphs ---------------------------------------------------------------------------------------------------------

    def has_graph(self, facts: FileFacts, node: ast.expr) -> bool | None:
        """Whether a tensor hangs on a recorded graph."""
        return {"yes": True, "no": False}.get(self._graphs.ask((facts, node)) or "")

    def runs_network(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a call runs a network with parameters: a module, or a method of one that gives tensors."""
        func = call.func
        callee = self.values.of(facts, func)
        if callee.kind is Kind.MODULE:
            return self._parametric(facts, func)
        if not isinstance(func, ast.Attribute) or callee.kind not in (Kind.FUNCTION, Kind.UNKNOWN):
            return False
        if self.values.of(facts, func.value).kind is not Kind.MODULE or not self.graph.callees.get(call):
            return False
        return self._graphs.ask((facts, call)) == "yes"

    def _answer(self, question: _Question) -> str | None:
        """``yes``, ``no``, or empty where it is not known; ``None`` before anything is."""
        if isinstance(question, Scope):
            given = [part.value for part in question.returns if part.value is not None]
            if isinstance(question.node, ast.Lambda):
                given = [question.node.body]
            return self._any(question.file, given)
        facts, node = question
        value = self.values.of(facts, node)
        if value.kind in _NO_GRAPH or (value.kind is Kind.TENSOR and value.dtype in _INTEGERS):
            return "no"
        if isinstance(node, (ast.Call, ast.BinOp, ast.UnaryOp)) and self.modes.inside(facts, node) is Mode.OFF:
            return "no"
        return self._expression(facts, node)

    def _expression(self, facts: FileFacts, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self._name(facts, node)
        if isinstance(node, ast.Call):
            return self._call(facts, node)
        if isinstance(node, ast.Attribute):
            return self._attribute(facts, node)
        if isinstance(node, ast.BinOp):
            return self._any(facts, [node.left, node.right])
        if isinstance(node, ast.UnaryOp):
            return self._any(facts, [node.operand])
        if isinstance(node, ast.IfExp):
            return self._any(facts, [node.body, node.orelse])
        if isinstance(node, ast.BoolOp):
            return self._any(facts, node.values)
        if isinstance(node, (ast.Tuple, ast.List)):
            return self._any(facts, node.elts)
        if isinstance(node, ast.Dict):
            return self._any(facts, node.values)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return self._any(facts, [node.elt])
        if isinstance(node, (ast.Subscript, ast.Starred, ast.NamedExpr, ast.Await)):
            return self._graphs.ask((facts, node.value))
        return "no" if isinstance(node, (ast.Constant, ast.Compare, ast.JoinedStr, ast.Lambda)) else ""

    def _any(self, facts: FileFacts, nodes: Iterable[ast.expr]) -> str | None:
        return _joined([self._graphs.ask((facts, node)) for node in nodes])

    def _name(self, facts: FileFacts, node: ast.Name) -> str | None:
        bindings = self.project.reaching(facts, node).bindings
        return _joined([self._binding(facts, binding) for binding in bindings]) if bindings else ""

    def _binding(self, facts: FileFacts, binding: Binding) -> str | None:
        if binding.how is Bind.PARAM and binding.scope is not None:
            return self._parameter(binding, binding.scope)
        value = binding.value
        if value is None or binding.how not in (Bind.ASSIGN, Bind.ELEMENT, Bind.AUGMENT):
            return ""
        if binding.how is Bind.AUGMENT and isinstance(binding.stmt, ast.AugAssign):
            return self._any(facts, [binding.stmt.target, value])
        for step in binding.path:
            if isinstance(value, (ast.Tuple, ast.List)) and -1 < step < len(value.elts):
                value = value.elts[step]
        return self._graphs.ask((facts, value))

    def _parameter(self, binding: Binding, function: Scope) -> str | None:
        if function.self_name == binding.target:
            return ""
        callers = self.graph.callers.get(function, ())
        given = [(caller.facts, passed(function, binding.target, caller)) for caller in callers]
        found = [self._graphs.ask((facts, node)) if node is not None else "" for facts, node in given]
        return _joined(found) if found else ""

    def _attribute(self, facts: FileFacts, node: ast.Attribute) -> str | None:
        if node.attr in ("data", "grad", "shape", "dtype", "device"):
            return "no"
        source = self.values.of(facts, node.value)
        if source.kind in (Kind.TENSOR, Kind.DISTRIBUTION):
            return self._graphs.ask((facts, node.value))
        if source.kind not in (Kind.INSTANCE, Kind.MODULE) or not source.name:
            return ""
        stores = [store for cls in source.name.split("|") for store in stores_of(self.project, cls, node.attr)]
        return _joined([self._binding(s.scope.file, s.binding) for s in stores]) if stores else ""

    # calls ----------------------------------------------------------------------------------------------------------

    def _call(self, facts: FileFacts, node: ast.Call) -> str | None:
        func = node.func
        name = self.project.qualified(facts, func) or ""
        given = [part.value if isinstance(part, ast.Starred) else part for part in node.args]
        given.extend(part.value for part in node.keywords)
        if name.startswith("torch.") and self._makes(name, node):
            return "no"
        if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
            return "no" if _says(node, "requires_grad", False) else "yes"
        if name.startswith("torch.") and not name.startswith("torch.nn.modules") and name != "torch.utils.checkpoint":
            last = name.rpartition(".")[2]
            return "no" if last in _ENDING else self._any(facts, given)
        if name.startswith("builtins."):
            return self._any(facts, given) if name in _PASSING else "no"
        if name.startswith(("numpy.", "math.", "random.")):
            return "no"
        callee = self.values.of(facts, func)
        if callee.kind is Kind.MODULE:
            return self._network(facts, func, node, given)
        targets = self.graph.callees.get(node, ())
        if targets and node not in self.graph.weak:
            return "no" if self._off(facts, node) else _joined([self._graphs.ask(target) for target in targets])
        if isinstance(func, ast.Attribute):
            return self._method(facts, func, given)
        return ""

    @staticmethod
    def _makes(name: str, node: ast.Call) -> bool:
        """Whether a function of torch makes a leaf that asks for no gradient."""
        asked = keyword(node, "requires_grad")
        return name.rpartition(".")[2] in _MAKING and (asked is None or _says(node, "requires_grad", False))

    def _method(self, facts: FileFacts, func: ast.Attribute, given: Sequence[ast.expr]) -> str | None:
        source = self.values.of(facts, func.value)
        if func.attr == "requires_grad_":
            return "yes"
        if func.attr in _ENDING:
            return "no"
        if source.kind in (Kind.TENSOR, Kind.DISTRIBUTION):
            return self._any(facts, [func.value, *given])
        if source.kind in (Kind.LIST, Kind.TUPLE, Kind.DICT):
            return self._graphs.ask((facts, func.value))
        found = self._graphs.ask((facts, func.value))
        return found if found == "yes" else ""

    def _off(self, facts: FileFacts, node: ast.AST) -> bool:
        return self.modes.at(facts, node) is Mode.OFF

    def _network(self, facts: FileFacts, func: ast.expr, node: ast.Call, given: Sequence[ast.expr]) -> str | None:
        """The result of a module: its parameters ask for gradients, or what it is given hangs on a graph."""
        if self._off(facts, node):
            return "no"
        network = self.networks.of(facts, func)
        targets = self.graph.callees.get(node, ())
        if self.networks.toggled(facts, func):
            return ""
        if not network.frozen and self._parametric(facts, func):
            own = _joined([self._graphs.ask(target) for target in targets]) if targets else "yes"
            return own if own in ("no", None) else "yes"
        if network.frozen or network.parts is not None:
            return self._any(facts, given)
        return _joined([self._graphs.ask(target) for target in targets]) if targets else ""

    def _parametric(self, facts: FileFacts, func: ast.expr) -> bool:
        """Whether a module is known to have parameters."""
        network = self.networks.of(facts, func)
        value = self.values.of(facts, func)
        parts = network.parts or frozenset()
        if any(has_parameters(part) for part in parts) or has_parameters(value.name):
            return True
        if network.trained and network.parts is None:
            return True
        return any(self._own_parameter(cls) for cls in value.name.split("|") if cls in self.project.classes)

    def _own_parameter(self, cls: str) -> bool:
        """Whether a class keeps a ``Parameter``, or a module that has some."""
        for scope in self.project.family(cls):
            made = [store.binding.value for stores in scope.stores.values() for store in stores]
            calls = [part for value in made if value for part in ast.walk(value) if isinstance(part, ast.Call)]
            names = [self.project.qualified(scope.file, call.func) or "" for call in calls]
            if any(name.endswith("nn.Parameter") or has_parameters(name) for name in names):
                return True
        return False

    # what functions run ---------------------------------------------------------------------------------------------

    def reaches(self, function: Scope, names: frozenset[str]) -> bool:
        """Whether a function may run one of these, itself or through known callees.

        Modules and functions that are not the project's are taken to run none of them.
        """
        todo, seen = [function], {function}
        while todo:
            scope = todo.pop()
            if names & self._called(scope):
                return True
            for inner in (scope, *_comprehensions(scope)):
                for call in inner.calls:
                    new = [target for target in self.graph.callees.get(call, ()) if target not in seen]
                    seen.update(new)
                    todo.extend(new)
        return False

    def _called(self, scope: Scope) -> frozenset[str]:
        """Qualified names and names of methods that a function calls itself."""
        found = self._names.get(scope)
        if found is None:
            names: set[str] = set()
            for inner in (scope, *_comprehensions(scope)):
                for call in inner.calls:
                    names.add(self.project.qualified(scope.file, call.func) or "")
                    if isinstance(call.func, ast.Attribute):
                        names.add(call.func.attr)
            found = self._names[scope] = frozenset(names)
        return found


def _comprehensions(scope: Scope) -> Iterable[Scope]:
    """The comprehensions that run as part of a function, at any depth."""
    for inner in scope.inner:
        if inner.kind == "comprehension":
            yield inner
            yield from _comprehensions(inner)


def _joined(found: Sequence[str | None]) -> str | None:
    """The answer for something made of several: one graph is enough; nothing known yet does not count."""
    known = [answer for answer in found if answer is not None]
    if not known:
        return None if found else "no"
    return "yes" if "yes" in known else "" if "" in known else "no"


def _says(call: ast.Call, name: str, value: bool) -> bool:
    given = keyword(call, name)
    return isinstance(given, ast.Constant) and given.value is value


def has_parameters(name: str) -> bool:
    """Whether modules of a class of torch have parameters."""
    last = name.rpartition(".")[2]
    return name.startswith("torch.nn.") and last[:1].isupper() and last not in _BARE and not last.endswith(_BARE_ENDS)

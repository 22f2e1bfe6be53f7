"""Whether code may leave the CPU: it names an accelerator, moves something elsewhere, or has a framework do so."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Bind, Binding, FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Label, Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.values.signatures import device_of
from torchlint.facts.values.values import Values
from torchlint.late import dataclass, regex
from torchlint.models import protocols
from torchlint.rule import Device, Kind

# Texts that name an accelerator, or an option of a program that chooses one.
_NAMED = regex(
    r"(torch\.)?(cuda|xpu|mps|npu|hpu)([:.].*)?|gpu(:\d+)?"
    r"|--?((no|use|with|enable|disable)[-_])?(cuda|gpus?|devices?|accelerator)([-_](ids?|idx|index|name|num|type))?"
)
# What of torch belongs to accelerators, and methods that move something to one.
_MODULES = frozenset({"torch.cuda", "torch.accelerator", "torch.xpu", "torch.mps", "torch.npu", "torch.mtia"})
# What makes its random numbers the same in each run, which programs do whether or not they use one.
_SEEDS = frozenset({"torch.cuda.manual_seed", "torch.cuda.manual_seed_all"})
_METHODS = frozenset({"cuda", "xpu", "npu", "hpu", "to_gpu", "to_cuda", "to_device"})
_PLACING = frozenset({"device", "device_map", "device_type", "map_location"})
_FIRST = frozenset({"torch.device", "torch.set_default_device"})
_NUMBERED = frozenset({"device_ids", "num_gpus"})
_NOT_DEVICES = frozenset({Kind.DTYPE, Kind.TENSOR, Kind.MODULE, Kind.NONE, Kind.NDARRAY, Kind.DICT, Kind.FUNCTION})
DEVICE = regex(r"_*device_*$")
"""Names of devices of a program's own."""
_TYPES = regex(r"(^|_)(dtype|type)$")
# A file without any of these cannot hold what is searched for.
_WORDS = (b"cuda", b"xpu", b"mps", b"npu", b"hpu", b"gpu", b"device", b"map_location", b".to(", b"accelerator")


@dataclass(eq=False, slots=True)
class Devices(Fact):
    """Answers for files that imports connect whether any of them may use an accelerator."""

    project: Project
    graph: CallGraph
    values: Values
    sources: Sources
    _flow: ValueFlow[bool] = field(init=False)
    _groups: dict[frozenset[str], bool] = field(default_factory=dict)
    _programs: dict[frozenset[str], bool] = field(default_factory=dict)
    _files: dict[FileFacts, bool] = field(default_factory=dict)
    _dead: dict[FileFacts, frozenset[ast.AST]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._flow = ValueFlow(self._step, lost=True)

    def may_leave(self, facts: FileFacts) -> bool:
        """Return whether a file, or one connected with it, may ever use an accelerator."""
        group = self.graph.groups[facts.path]
        if group not in self._groups:
            self._groups[group] = any(self.file_leaves(self.project.files[path]) for path in sorted(group))
        return self._groups[group]

    def file_leaves(self, facts: FileFacts) -> bool:
        """Return whether the code of a file itself may use an accelerator."""
        if facts not in self._files:
            self._files[facts] = self._leaves(facts)
        return self._files[facts]

    def _leaves(self, facts: FileFacts) -> bool:
        if any(self._places(name) or _accelerated(name) for name in facts.imports):
            return True
        text = facts.source.utf8
        return any(word in text for word in _WORDS) and self.leaves(facts, list(facts.parent))

    def _places(self, name: str) -> bool:
        """Whether a name is that of a framework that chooses a device, and not of a module of the project."""
        return protocols.places(name) and name.partition(".")[0] not in self.project.modules

    def leaves(self, facts: FileFacts, nodes: Iterable[ast.AST]) -> bool:
        """Return whether one of some nodes names an accelerator, or is a device that is not proven to be the CPU."""
        dead = self._overwritten(facts)
        if dead:
            inside = {part for stmt in dead for part in walk(stmt)}
            nodes = (node for node in nodes if node not in inside)
        return any(self._names(facts, node) or self._moves(facts, node) for node in nodes)

    def _overwritten(self, facts: FileFacts) -> frozenset[ast.AST]:
        """The assignments of a file that the statement after them makes void: ``device = ...; device = "cpu"``."""
        if facts not in self._dead:
            self._dead[facts] = frozenset(_void(facts))
        return self._dead[facts]

    def _names(self, facts: FileFacts, node: ast.AST) -> bool:
        """Whether a node names an accelerator: ``"cuda:0"``, ``torch.cuda.synchronize``, ``net.cuda()``."""
        if isinstance(node, ast.Constant):
            text = node.value
            return isinstance(text, str) and bool(_NAMED.fullmatch(text)) and is_used(facts, node)
        if not isinstance(node, ast.Attribute):
            return False
        name = self.project.qualified(facts, node) or ""
        if _accelerated(name) or self._places(name):
            return not self._seeds(facts, node)
        return node.attr in _METHODS and isinstance(call := facts.parent.get(node), ast.Call) and call.func is node

    def _seeds(self, facts: FileFacts, node: ast.AST) -> bool:
        """Whether a name of torch is used for seeds alone: ``if torch.cuda.is_available(): torch.cuda.manual_seed(1)``.

        Settings of a backend for equal runs may stand beside.
        """
        whole, above = next(step for step in facts.climb(node) if not isinstance(step[1], ast.Attribute))
        if self.project.qualified(facts, whole) in _SEEDS:
            return True
        match facts.parent.get(above) if isinstance(above, ast.Call) and above.func is whole else None:
            case ast.If(test=test, body=body, orelse=[]) if test is above:
                return all(self._is_seed(facts, stmt) for stmt in body)
        return False

    def _is_seed(self, facts: FileFacts, stmt: ast.stmt) -> bool:
        match stmt:
            case ast.Expr(value=ast.Call(func=func)):
                return self.project.qualified(facts, func) in _SEEDS
            case ast.Assign(targets=[ast.Attribute() as target]):
                return (self.project.qualified(facts, target) or "").startswith("torch.backends.")
        return False

    def _moves(self, facts: FileFacts, node: ast.AST) -> bool:
        """Whether a call is given a device that may be another than the CPU."""
        if not isinstance(node, ast.Call):
            return False
        name = self.project.qualified(facts, node.func) or ""
        for keyword in node.keywords:
            if keyword.arg in _NUMBERED and not _is_nothing(keyword.value):
                return True
            counted = isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, int)
            if keyword.arg in _PLACING and (not counted or name.startswith("torch.")):
                if self._elsewhere(facts, keyword.value):
                    return True
        moved = name in _FIRST or (isinstance(node.func, ast.Attribute) and node.func.attr == "to")
        if not node.args or isinstance(node.args[0], ast.Starred) or not moved:
            return name.rpartition(".")[2] in _METHODS and name not in self.project.functions
        return self._elsewhere(facts, node.args[0])

    # where a device comes from ----------------------------------------------------------------------------------------

    def _elsewhere(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression may be a device other than the CPU; what only leads to itself is none."""
        return True in self._flow.ends(facts, node)

    def _step(self, spot: Spot) -> Iterator[Spot | bool]:
        facts, node = spot.facts, spot.node
        if self.values.of(facts, node).kind in _NOT_DEVICES:
            return
        match node:
            case ast.IfExp() | ast.BoolOp():
                yield from self.sources.crossing(spot, (Label.COPY,), unknown=True)
            case ast.Name(id=word) | ast.Attribute(attr=word):
                if not _TYPES.search(word):
                    yield from self._held(spot)
            case ast.Call(func=func, args=[given, *_]) if self.project.qualified(facts, func) == "torch.device":
                yield spot.same(given)
            case ast.Call():
                yield from self.sources.crossing(spot, (Label.RETURN,), unknown=True)
            case _:
                yield device_of(self.values.of(facts, node)) is not Device.CPU

    def _held(self, spot: Spot) -> Iterator[Spot | bool]:
        """What a name or attribute holds, unless the statement after it makes an assignment void."""
        found = list(self.sources.of(spot))
        for source in found:
            if isinstance(source, Spot):
                stmt = source.facts.statement(source.node)
                if source.path or source.label in (Label.ELEMENT, Label.OPERAND):
                    yield device_of(self.values.of(spot.facts, spot.node)) is not Device.CPU
                elif stmt not in self._overwritten(source.facts):
                    yield True if _is_setting(source.facts, stmt) else source
            elif isinstance(source, Binding) and source.how is Bind.PARAM and source.scope is not None:
                left_out = source.value is not None and not self.graph.is_called(source.scope)
                yield not (left_out and self._is_program(source.scope.file))
            else:
                yield True
        if not found:
            yield from self._of_object(spot)

    def _of_object(self, spot: Spot) -> Iterator[Spot | bool]:
        """Where a tensor or module is: in a program that names no accelerator on the CPU, in a library anywhere."""
        match spot.node:
            case ast.Attribute(attr="type", value=ast.Attribute() as device):
                yield spot.same(device)
            case ast.Attribute(attr="device", value=whole):
                kind = self.values.of(spot.facts, whole).kind
                placed = kind in (Kind.TENSOR, Kind.MODULE) or _is_parameter(whole)
                yield not (placed and self._is_program(spot.facts))
            case _:
                yield True

    def _is_program(self, facts: FileFacts) -> bool:
        """Whether connected files are a program, in which all is seen that is made: one of them runs something."""
        group = self.graph.groups[facts.path]
        if group not in self._programs:
            self._programs[group] = any(_runs(self.project.files[path].tree) for path in group)
        return self._programs[group]


def _void(facts: FileFacts) -> Iterator[ast.stmt]:
    """Assignments to a name that the next statement of the same block assigns to again, without reading it."""
    for stmt, (block, index) in facts.places.items():
        name = _assigned(stmt)
        if name and index + 1 < len(block) and name == _assigned(following := block[index + 1]):
            assert isinstance(following, ast.Assign)
            if not any(isinstance(part, ast.Name) and part.id == name for part in walk(following.value)):
                yield stmt


def _assigned(stmt: ast.stmt) -> str:
    match stmt:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""


def _accelerated(name: str) -> bool:
    """Whether a qualified name is part of torch that only accelerators have a use for."""
    return name.startswith("torch.") and any(name == each or name.startswith(f"{each}.") for each in _MODULES)


def _is_parameter(node: ast.expr) -> bool:
    """``next(net.parameters())``."""
    match node:
        case ast.Call(func=ast.Name(id="next"), args=[ast.Call(func=ast.Attribute(attr="parameters" | "buffers")), *_]):
            return True
    return False


def _is_setting(facts: FileFacts, stmt: ast.stmt | None) -> bool:
    """Whether a statement gives a field of a class its default, as in a data class of settings."""
    return isinstance(stmt, ast.AnnAssign) and isinstance(facts.parent.get(stmt), ast.ClassDef)


def _is_nothing(node: ast.expr) -> bool:
    """``None``, ``0``, ``False``, an empty list."""
    return (isinstance(node, ast.Constant) and not node.value) or (isinstance(node, ast.List) and not node.elts)


def is_used(facts: FileFacts, node: ast.Constant) -> bool:
    """Return whether a text is more than a statement of its own, as docstrings are."""
    return not isinstance(facts.parent.get(node), ast.Expr)


def _runs(tree: ast.Module) -> bool:
    """Whether a module does something when it is run: it asks for ``__name__``, loops, or calls a function."""
    for stmt in tree.body:
        if isinstance(stmt, (ast.For, ast.While)):
            return True
        if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
            return True
        if isinstance(stmt, ast.If) and any(
            isinstance(p, ast.Name) and p.id == "__name__" for p in ast.walk(stmt.test)
        ):
            return True
    return False

"""Attributes that record what updates read from tensors: how TL203 and TL204 keep tensors until the record is read."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.closure import reached
from torchlint.facts.code.exporting import of_library
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.naming import mentions_of
from torchlint.facts.code.project import Project
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.state.hoards import Hoards
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import method_names
from torchlint.rule import Change, Fix, Kind
from torchlint.rule.build import module_for
from torchlint.rule.site import Site

from ._scalar_readback import Readbacks
from ._single_numbers import Tensors, operand

_ADDING = method_names("list deque", adds=True, at=False)
_COPIES = frozenset({"numpy", "cpu"})
_CHANGES = (Change.ORDER, Change.MEMORY)
_NUMBERS_OF = (
    "_read_numbers",
    """\
def _read_numbers(tensors):
    \"""Read the numbers of some tensors by one copy.\"""
    return {torch}.stack(tuple(tensors)).tolist() if tensors else []
""",
)
_ARRAYS = (
    "_read_rows",
    """\
def _read_rows(tensors):
    \"""Copy tensors of one shape to the host at once, as arrays.\"""
    return list({torch}.stack(tuple(tensors)).cpu().numpy()) if tensors else []
""",
)
"""The functions that the fix adds: names and texts."""
_EMPTY_KINDS = ("collections.deque", "builtins.list")


@dataclass(frozen=True, slots=True)
class TensorRecord:
    """How an attribute records tensors in place of what is read from them.

    Attributes:
        added: expressions that add to it, and the text that takes the place of each; of a copy of each in ``copied``.
        read: the places that read it, each with its source text. arrays: whether it records arrays, else numbers.
        doubts: what is not proven, in words. written: the same of tensors that are recorded without a copy.
    """

    added: tuple[tuple[ast.expr, str], ...]
    copied: tuple[tuple[ast.expr, str], ...]
    read: tuple[tuple[ast.expr, str], ...]
    arrays: bool
    doubts: tuple[str, ...]
    written: str


@dataclass(frozen=True, slots=True)
class _Added:
    """What a statement adds to a record: the call that reads it, the tensor, and whether it adds each of its rows."""

    call: ast.Call
    tensor: ast.expr
    rows: bool
    numeric: bool


@dataclass(eq=False, slots=True)
class Recording(Fact):
    """Finds attributes to which statements only add what they read from tensors, and that code reads less often.

    All mentions of the attribute are seen and lie in one file: it begins as an empty deque or list, statements add what
    they read, and calls that only read it take it as an argument.
    """

    project: Project
    graph: CallGraph
    values: Values
    heat: Heat
    hoards: Hoards
    readbacks: Readbacks
    tensors: Tensors

    def of(self, facts: FileFacts, call: ast.Call) -> TensorRecord | None:
        """Return how the record that takes what a call reads keeps tensors.

        The result is ``None`` where there is none, or not all is seen.

        ``call`` reads a number, or gives an array.
        """
        record = self._record(facts, call)
        owner = facts.scope_of(call).function.owner
        if record is None or owner is None or not self._is_own(facts, record):
            return None
        mentions = self._mentions(facts, owner, record.attr)
        if mentions is None:
            return None
        added = [self._added(facts, node) for node in mentions if _takes(facts, node)]
        rest = [node for node in mentions if not _takes(facts, node)]
        stores = [node for node in rest if isinstance(node.ctx, ast.Store)]
        reads = [node for node in rest if isinstance(node.ctx, ast.Load) and not self._asks_for_size(facts, node)]
        if (
            None in added
            or not self._is_bounded(facts, stores)
            or not all(self._is_read(facts, node) for node in reads)
        ):
            return None
        parts = [part for part in added if part is not None]
        if len({(part.rows, part.numeric) for part in parts}) != 1:
            return None
        least = min(self.heat.frequency(facts, part.call) for part in parts)
        if any(self.heat.frequency(facts, node) >= least for node in reads):
            return None
        return self._made(facts, owner, record.attr, parts, reads)

    def _record(self, facts: FileFacts, node: ast.expr) -> ast.Attribute | None:
        """The attribute to which a statement adds an expression, also with another sign."""
        above = facts.parent.get(node)
        if isinstance(above, ast.UnaryOp) and isinstance(above.op, ast.USub):
            node, above = above, facts.parent.get(above)
        match above:
            case ast.Call(func=ast.Attribute(value=ast.Attribute() as record, attr=name), args=[value], keywords=[]):
                statement = isinstance(facts.parent.get(above), ast.Expr)
                return record if value is node and name in ("append", "extend") and statement else None
        return None

    def _is_own(self, facts: FileFacts, node: ast.Attribute) -> bool:
        """Whether an attribute is one of the object itself, in a method."""
        return facts.is_own(node) and facts.scope_of(node).function.owner is not None

    def _mentions(self, facts: FileFacts, owner: Scope, name: str) -> list[ast.Attribute] | None:
        """All mentions of an attribute of a class and its relatives; ``None`` where they are not all seen here."""
        by_class: dict[Scope, list[tuple[FileFacts, ast.Attribute]]] = {}
        others = []
        for file, node in self.hoards.mentions(name):
            holder = file.scope_of(node).function.owner if self._is_own(file, node) else None
            if holder is not None:
                by_class.setdefault(holder, []).append((file, node))
            else:
                others.append((file, node))
        related = self._related(owner, by_class)
        found = [each for cls, mentions in by_class.items() if cls in related for each in mentions]
        if any(file is not facts for file, _ in found) or self._is_named(name):
            return None
        return None if any(self._may_be(file, node, related) for file, node in others) else [node for _, node in found]

    def _may_be(self, facts: FileFacts, node: ast.Attribute, classes: frozenset[Scope]) -> bool:
        """Whether an attribute of another object may be that of some classes."""
        value = self.values.of(facts, node.value)
        known = [self.project.classes.get(name) for name in value.name.split("|")]
        return value.kind is not Kind.INSTANCE or any(cls is None or self._share(cls, classes) for cls in known)

    def _related(self, owner: Scope, classes: Iterable[Scope]) -> frozenset[Scope]:
        """A class, and those among others whose methods its objects may have, also through others of them."""
        return frozenset(reached([owner], lambda known: (cls for cls in classes if self._share(cls, (known,)))))

    def _share(self, cls: Scope, others: Iterable[Scope]) -> bool:
        """Whether an object may be of a class and of one of some others."""
        below = {cls, *self.project.descendants(cls.dotted)}
        return any(not below.isdisjoint((other, *self.project.descendants(other.dotted))) for other in others)

    def _is_named(self, name: str) -> bool:
        """Whether a string of the project is the name of the attribute, for ``getattr`` or a list of what is saved."""
        return any(
            part.value == name
            for facts in self.project.files.values()
            if name.encode() in facts.source.utf8
            for part in facts.nodes(ast.Constant)
        )

    # mentions -------------------------------------------------------------------------------------------------------

    def _added(self, facts: FileFacts, record: ast.Attribute) -> _Added | None:
        """What a statement adds to a record where it is read from a tensor; ``None`` of anything else."""
        method = facts.parent[record]
        call = facts.parent[method]
        if not isinstance(method, ast.Attribute) or not isinstance(call, ast.Call) or len(call.args) != 1:
            return None
        given = call.args[0]
        if isinstance(given, ast.UnaryOp) and isinstance(given.op, ast.USub):
            given = given.operand
        if not isinstance(given, ast.Call) or self._record(facts, given) is not record:
            return None
        if method.attr == "append":
            read = self.readbacks.of(facts, given)
            number = read is not None and read.how != "int()" and given is call.args[0]
            if read is None or read.copied or not number or self.tensors.is_whole(facts, read.source):
                return None
            return _Added(given, read.source, rows=False, numeric=True)
        tensor = _copied(given)
        if tensor is None:
            return None
        return _Added(given, tensor, rows=True, numeric=False)

    def _is_bounded(self, facts: FileFacts, stores: Sequence[ast.Attribute]) -> bool:
        """Whether a record begins empty wherever it is made, and holds no more than a bound, or is made again later."""
        made = [facts.parent.get(node) for node in stores]
        values = [stmt.value for stmt in made if isinstance(stmt, (ast.Assign, ast.AnnAssign))]
        if not values or len(values) != len(stores) or any(_several(stmt) for stmt in made):
            return False
        later = any(facts.scope_of(node).function.name != "__init__" for node in stores)
        return all(self._is_empty(facts, value, bounded=not later) for value in values)

    def _is_empty(self, facts: FileFacts, value: ast.expr | None, *, bounded: bool) -> bool:
        """Whether an expression makes an empty deque or list; ``bounded``: a deque with a bound."""
        if isinstance(value, ast.List):
            return not value.elts and not bounded
        name = self.project.qualified(facts, value.func) if isinstance(value, ast.Call) else None
        if not isinstance(value, ast.Call) or name not in _EMPTY_KINDS or value.args:
            return False
        return any(keyword.arg == "maxlen" for keyword in value.keywords) or not bounded

    def _asks_for_size(self, facts: FileFacts, node: ast.Attribute) -> bool:
        """Whether a mention asks how much there is, or empties it: ``len(x)``, ``if x``, ``x.clear()``."""
        match facts.parent.get(node):
            case ast.Call(func=ast.Name(id="len" | "bool")) | ast.UnaryOp(op=ast.Not()):
                return True
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                return test is node
            case ast.Attribute(attr="clear") as method:
                return isinstance(facts.parent.get(method), ast.Call)
        return False

    def _is_read(self, facts: FileFacts, node: ast.Attribute) -> bool:
        """Whether a call takes the record as an argument, and only reads it."""
        call = facts.parent.get(node)
        if not isinstance(call, ast.Call) or node not in call.args:
            return False
        targets = self.graph.callees.get(call, ())
        if not targets:
            return self.hoards.only_reads(facts, node)
        return call not in self.graph.weak and all(self._reads_first(target, call, node) for target in targets)

    def _reads_first(self, target: Scope, call: ast.Call, node: ast.expr) -> bool:
        """Whether a function of the project only reads the parameter that an argument is given for."""
        position = call.args.index(node) + bool(target.self_name)
        if position >= len(target.positional) or any(isinstance(each, ast.Starred) for each in call.args[:position]):
            return False
        uses = mentions_of(target.file, target.node, target.positional[position])
        return all(self.hoards.only_reads(target.file, use) for use in uses)

    # what it becomes ------------------------------------------------------------------------------------------------

    def _made(
        self, facts: FileFacts, owner: Scope, name: str, parts: Sequence[_Added], reads: Iterable[ast.Attribute]
    ) -> TensorRecord:
        doubts = []
        if not name.startswith("_") and of_library(self.project, owner):
            doubts.append(f"no code outside of this project reads `{name}`")
        if parts[0].numeric:
            if not all(self.tensors.is_floating(facts, part.tensor) for part in parts):
                doubts.append("the tensors hold floating-point numbers")
            added = tuple((part.call, self.tensors.detached(facts, part.tensor, "clone", flat=True)) for part in parts)
            copied, written = added, ""
        else:
            known = [self.values.of(facts, part.tensor) for part in parts]
            if any(value.rank != 1 or value.dtype is None for value in known) or len({v.dtype for v in known}) > 1:
                doubts.append(f"all rows in `{name}` have one shape and dtype")
            added = tuple((part.call, operand(facts, part.tensor)) for part in parts)
            copied = tuple((call, f"{text}.clone()") for call, text in added)
            written = "nothing writes into recorded tensors later"
        own = tuple((node, ast.unparse(node)) for node in reads)
        return TensorRecord(added, copied, own, not parts[0].numeric, tuple(doubts), written)


def _takes(facts: FileFacts, record: ast.Attribute) -> bool:
    """Whether a mention of a record adds to it."""
    method = facts.parent.get(record)
    called = isinstance(method, ast.Attribute) and isinstance(facts.parent.get(method), ast.Call)
    return called and isinstance(method, ast.Attribute) and method.attr in _ADDING


def _copied(call: ast.expr) -> ast.expr | None:
    """The tensor on the device that a call copies into an array: ``x.detach()`` of ``x.detach().cpu().numpy()``.

    Nothing but a tensor has both methods.
    """
    names = []
    node = call
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _COPIES:
        if node.args or node.keywords:
            return None
        names.append(node.func.attr)
        node = node.func.value
    return node if names == ["numpy", "cpu"] else None


def _several(stmt: ast.AST | None) -> bool:
    return isinstance(stmt, ast.Assign) and len(stmt.targets) > 1


def _helper(site: Site, torch: str, *, arrays: bool) -> tuple[str, str] | None:
    """The name and the text of the function that brings a record to the host; ``None``: the name is taken."""
    name, text = _ARRAYS if arrays else _NUMBERS_OF
    text = text.format(torch=torch)
    bound = site.file.top.bindings.get(name, ())
    own = ast.dump(ast.parse(text).body[0])
    return (name, text) if all(each.stmt is not None and ast.dump(each.stmt) == own for each in bound) else None


def recorded(site: Site, call: cst.Call, instead: Fix | None = None) -> Fix | None:
    """Record the tensor that a call reads, and read it where the record is read; else the fix that is there instead."""
    twin = site.expression(call)
    found = site.fact(Recording).of(site.file, twin) if isinstance(twin, ast.Call) else None
    if found is None:
        return instead
    torch, imports = module_for(site, "torch", "torch")
    helper = _helper(site, torch, arrays=found.arrays)
    if helper is None:
        return instead
    read = tuple((node, f"{helper[0]}({text})") for node, text in found.read)
    ways = [(found.added, (*found.doubts, found.written)), (found.copied, found.doubts)]
    for added, doubts in reversed(ways if found.written else ways[1:]):
        instead = Fix(
            message="record the tensor, and read it where the record is read",
            replace=(),
            elsewhere=(*added, *read),
            may_change=_CHANGES,
            assumes=" and ".join(doubts),
            imports=imports if read else (),
            definitions=(helper[1],) if read else (),
            instead=instead,
        )
    return instead

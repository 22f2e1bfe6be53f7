"""Loops that take tensors apart, element by element, and what they compute with the elements."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, repeat

from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import alike, among
from torchlint.facts.code.callers import unpacked
from torchlint.facts.code.model import Binding, FileFacts
from torchlint.facts.code.naming import mentions_of
from torchlint.facts.code.nesting import LoopNode, around, nodes_of
from torchlint.facts.code.project import Project
from torchlint.facts.code.relaying import HANDING
from torchlint.facts.code.tree import first_index, is_number, names_in, root_of, walk
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.loops.operations import READING, added_to_end, ahead, bare, scaled_by, wholes
from torchlint.facts.values.join import TENSOR
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import function_names
from torchlint.rule import Kind, Picked, Value

_KEEPING = frozenset(
    {"append", "insert", "appendleft", "detach", "float", "long", "int", "to", "cpu", "unsqueeze", "squeeze"}
)
_APART = frozenset({"data", "detach"})
_BUILTINS = frozenset(f"builtins.{name}" for name in ("float", "int", "bool", "max", "min", "len", "abs", "range"))
_FUNCTIONS = frozenset(
    f"torch.{name}"
    for name in ("where", "max", "min", "maximum", "minimum", "clamp", "exp", "log", "abs", "zeros_like")
)
_FILLING = function_names("torch", makes="filled")
_JOINING = function_names("torch", joins="parts")
_SUMMING = frozenset({"sum", "cumsum", "prod"})


@dataclass(eq=False, slots=True)
class Elements(Fact):
    """Answers what loops take out of tensors."""

    project: Project
    values: Values
    sources: Sources

    def of(self, facts: FileFacts, node: ast.expr) -> Value | None:
        """Return the tensor whose element an expression is in each round of a loop, ``None`` for other expressions.

        ``v`` of ``for v in t``, also through ``unbind``, ``zip``, ``enumerate`` and ``reversed``, and ``t[i]`` or
        ``t[0, i]`` where a loop counts ``i`` and does not make ``t``.
        """
        value = self.collection(facts, node)
        if value is None and isinstance(node, ast.Subscript) and (index := _behind_numbers(node)) is not None:
            value = self.values.of(facts, node.value) if self.counted(facts, node.value, index) else None
        return value if value is not None and value.kind is Kind.TENSOR else None

    def collection(self, facts: FileFacts, node: ast.AST) -> Value | None:
        """Return what is known of the collection whose element an expression is, ``None`` for other expressions."""
        if isinstance(node, ast.Name):
            over = self._iterated(facts, node, list(around(facts, node)))
            if over is None or self.is_count(facts, over):
                return None
            return self.values.of(facts, self._unbound(facts, over))
        if isinstance(node, ast.Subscript) and self.counted(facts, node.value, first_index(node)):
            return self.values.of(facts, node.value)
        return None

    def _part(self, facts: FileFacts, node: ast.AST) -> Value | None:
        """What is known of the collection that an expression is an element of, or a column: ``x[:, t]``."""
        if isinstance(node, ast.Subscript) and (column := column_of(node)) is not None:
            return self.values.of(facts, node.value) if self.counted(facts, node.value, column) else None
        return self.collection(facts, node)

    def _iterated(self, facts: FileFacts, name: ast.Name, loops: list[LoopNode]) -> ast.expr | None:
        """What a loop goes over that binds a name."""
        over, binding = self.sources.looped(facts, name), self.project.reaching(facts, name).only
        if over is None or binding is None:
            return None
        return over if binding.stmt in loops or isinstance(binding.stmt, ast.comprehension) else None

    def _unbound(self, facts: FileFacts, over: ast.expr) -> ast.expr:
        """The tensor whose rows a call of ``unbind`` lists, else the expression itself."""
        name = self.project.qualified(facts, over.func) if isinstance(over, ast.Call) else None
        match over:
            case ast.Call(args=[inner, *_]) if name == "torch.unbind":
                return inner
            case ast.Call(func=ast.Attribute(value=inner, attr="unbind")) if name is None:
                return inner
        return over

    def counted(self, facts: FileFacts, value: ast.expr, first: ast.expr) -> bool:
        """Return whether an index is the count of an enclosing loop, or 1 more, and ``value`` is from outside of it."""
        loops = list(around(facts, value))
        if isinstance(first, ast.BinOp) and isinstance(first.right, ast.Constant):
            first = first.left
        if not isinstance(first, ast.Name):
            return False
        first = self._counted_by(facts, first, loops)
        over = self._iterated(facts, first, loops)
        if over is None or not self.is_count(facts, over):
            return False
        holder = next((loop for loop in loops if _binds(loop, first.id)), None)
        inside = set(nodes_of([holder])) if holder is not None else set()
        root = root_of(value)
        if not isinstance(root, ast.Name):
            return False
        return not any(binding.stmt in inside for binding in self.project.reaching(facts, root).bindings)

    def _counted_by(self, facts: FileFacts, index: ast.Name, loops: list[LoopNode]) -> ast.Name:
        """The name that a loop counts, of an index computed from it: ``i`` of ``k = n - i - 1``; else the index."""
        value = self.project.reaching(facts, index).value
        if not isinstance(value, ast.BinOp) or any(isinstance(part, ast.Subscript) for part in walk(value)):
            return index
        if not all(
            isinstance(part.op, (ast.Add, ast.Sub, ast.Mult)) for part in walk(value) if isinstance(part, ast.BinOp)
        ):
            return index
        names = [part for part in walk(value) if isinstance(part, ast.Name)]
        return next((name for name in names if self._iterated(facts, name, loops) is not None), index)

    def is_count(self, facts: FileFacts, over: ast.expr) -> bool:
        """Return whether an expression is a ``range``, also backwards."""
        if not isinstance(over, ast.Call):
            return False
        name = self.project.qualified(facts, over.func)
        if name in ("builtins.reversed", "builtins.enumerate", "tqdm.tqdm", "tqdm.trange") and over.args:
            return name == "builtins.enumerate" or self.is_count(facts, over.args[0])
        return name in ("builtins.range", "tqdm.trange")

    # what a loop computes -------------------------------------------------------------------------------------------

    def picked(self, facts: FileFacts, loop: ast.For) -> Picked | None:
        """Return what a loop computes with the elements of tensors, where it does nothing else; else ``None``."""
        parts = [part for stmt in loop.body for part in nodes_of([stmt])]
        if any(isinstance(part, (ast.For, ast.While, ast.With, ast.Try, ast.Yield, ast.Await)) for part in parts):
            return None
        if not all(self._is_arithmetic(facts, part) for part in parts if isinstance(part, ast.Call)):
            return None
        if self._sums_up_rest(facts, loop):
            return Picked(summed=True, rest=True)
        if self._is_series(facts, loop):
            return Picked(carried=True, single=True, series=True)
        reads = [part for part in parts if isinstance(part, (ast.Name, ast.Subscript)) and _is_read(part)]
        taken = {part: value for part in reads if (value := self._part(facts, part)) is not None}
        if any(value.kind is Kind.NDARRAY for value in taken.values()):
            return None
        filled = any(self._is_filled(facts, stmt) for stmt in loop.body)
        tensors = self._tensors(facts, loop, taken)
        if not tensors and not (taken and filled and all(value.kind is Kind.UNKNOWN for value in taken.values())):
            return None
        adding = [stmt for stmt in parts if isinstance(stmt, ast.AugAssign) and self._adds_numbers(facts, loop, stmt)]
        others = [stmt for stmt in parts if isinstance(stmt, ast.stmt) and self._is_carried(facts, loop, stmt)]
        carrying = [*others, *adding]
        alone = not carrying and any(self._is_filled(facts, stmt) and self._is_single(stmt) for stmt in loop.body)
        if not carrying and not (alone and tensors):
            return None
        rows = [part for part in reads if isinstance(part, ast.Name) and self._is_element(facts, part)]
        number, paired = ahead(parts, carrying, rows)
        numbers = all(value.rank == 1 for value in tensors) or self._are_numbers(facts, taken)
        numbers = numbers or any(self._fills_number(facts, stmt) for stmt in loop.body)
        return Picked(
            carried=bool(carrying),
            single=bool(tensors) and numbers,
            prepared=any(self._is_prepared(facts, part) for part in reads if isinstance(part, ast.Subscript)),
            ahead=number,
            paired=paired,
            summed=bool(adding) and not others,
        )

    def _tensors(self, facts: FileFacts, loop: ast.For, taken: Mapping[ast.Name | ast.Subscript, Value]) -> list[Value]:
        """What is known of the tensors of which a loop takes elements.

        Of collections of unknown kind what the loop makes of them tells, or what else the function asks them for.
        """
        tensors = [value for value in taken.values() if value.kind is Kind.TENSOR]
        # Of lists of tensors, which a sum may need with their graphs, what is read without a graph could be joined.
        apart = (value for part, value in taken.items() if getattr(facts.parent.get(part), "attr", "") in _APART)
        tensors += [TENSOR for value in apart if value.kind is Kind.LIST and value.element.kind is Kind.TENSOR]
        if tensors or not taken or any(value.kind is not Kind.UNKNOWN for value in taken.values()):
            return tensors
        kept = (self.values.of(facts, part) for stmt in loop.body for part in _kept(stmt))
        tensors = [value for value in kept if value.kind is Kind.TENSOR]
        grown = [added[0] for stmt in loop.body if (added := added_to_end(stmt)) is not None]
        tensors = tensors or [TENSOR for each in grown if self._is_joined(facts, each)]
        return tensors or [TENSOR for part in taken if self._has_device(facts, part)]

    def _has_device(self, facts: FileFacts, part: ast.expr) -> bool:
        """Whether a function asks what an element is taken of for its device, so that it is no array."""
        whole = part.value if isinstance(part, ast.Subscript) else None
        if not isinstance(whole, ast.Name):
            return False
        binding = self.project.reaching(facts, whole).only
        mentions = mentions_of(facts, facts.scope_of(whole).function.node, whole.id)
        asking = (use for use in mentions if getattr(facts.parent.get(use), "attr", "") == "device")
        return binding is not None and any(self.project.reaching(facts, use).only is binding for use in asking)

    def _are_numbers(self, facts: FileFacts, parts: Iterable[ast.expr]) -> bool:
        """Whether elements are single numbers, as far as is known."""
        known = [self._is_number(facts, part) for part in parts]
        return True in known and False not in known

    def _is_number(self, facts: FileFacts, node: ast.expr) -> bool | None:
        """Whether an element is one number: it has an index for each axis, or several that loops count.

        ``None``: not known.
        """
        indices: list[ast.expr] = []
        whole = facts.last_item(node)
        while isinstance(whole, ast.Subscript):
            indices += whole.slice.elts if isinstance(whole.slice, ast.Tuple) else [whole.slice]
            whole = whole.value
        if any(isinstance(index, (ast.Slice, ast.Constant)) for index in indices):
            return False
        rank = self.values.of(facts, whole).rank
        if rank is not None and indices:
            return len(indices) >= rank
        loops = list(around(facts, node))
        varied = (any(_binds(loop, name) for loop in loops for name in names_in(index)) for index in indices)
        return True if len(indices) > 1 and all(varied) else None

    def _adds_numbers(self, facts: FileFacts, loop: ast.For, stmt: ast.AugAssign) -> bool:
        """Whether a statement adds one number of a tensor to a sum of all rounds: ``loss -= logp[i, a[i]]``."""
        if not isinstance(stmt.target, ast.Name) or not isinstance(stmt.op, (ast.Add, ast.Sub)):
            return False
        reads = (part for part in self._reads(facts, loop, stmt.value) if isinstance(part, ast.Subscript))
        return self._are_numbers(facts, (part for part in reads if self._is_element(facts, part)))

    def sums_up_rests(self, facts: FileFacts, loop: ast.ListComp) -> bool:
        """Return whether each round sums up what is left of a tensor: ``[(p[: n - t] * r[t:]).sum() for t in ...]``."""
        match loop:
            case ast.ListComp(
                elt=ast.Call(func=ast.Attribute(attr="sum")) as total,
                generators=[ast.comprehension(target=ast.Name(id=count), iter=over, ifs=[])],
            ):
                rests = [part.value for part in walk(total) if isinstance(part, ast.Subscript) and _begins(part, count)]
            case _:
                return False
        tensors = (rest for rest in rests if self.values.of(facts, rest).kind is Kind.TENSOR)
        return self.is_count(facts, over) and next(tensors, None) is not None

    def _sums_up_rest(self, facts: FileFacts, loop: ast.For) -> bool:
        """Whether each round sums up what is left of a tensor from its place on: ``x[:, t] = x[:, t:].sum(-1)``."""
        match loop:
            case ast.For(
                target=ast.Name(id=count),
                body=[ast.Assign(targets=[ast.Subscript() as place], value=ast.Call(func=ast.Attribute() as func))],
            ):
                index = column_of(place) or first_index(place)
                rest = func.value if isinstance(func.value, ast.Subscript) else None
            case _:
                return False
        if rest is None or func.attr not in _SUMMING or not (isinstance(index, ast.Name) and index.id == count):
            return False
        begins = [part.lower for part in walk(rest.slice) if isinstance(part, ast.Slice) and part.upper is None]
        from_here = any(isinstance(lower, ast.Name) and lower.id == count for lower in begins)
        return from_here and self.is_count(facts, loop.iter) and self.values.of(facts, rest.value).kind is Kind.TENSOR

    def _is_series(self, facts: FileFacts, loop: ast.For) -> bool:
        """Whether rounds keep a tensor and multiply it by one factor: ``found.append(g); g = g * gamma``."""
        added = [pair for stmt in loop.body if (pair := added_to_end(stmt)) is not None]
        scaled = [pair for stmt in loop.body if (pair := scaled_by(stmt)) is not None]
        if not (len(loop.body) == 2 and len(added) == len(scaled) == 1 and not loop.orelse):
            return False
        (_, value), (name, factor) = added[0], scaled[0]
        changed = {name.id, *names_in(loop.target)}
        if not isinstance(value, ast.Name) or value.id != name.id or changed & set(names_in(factor)):
            return False
        return self.values.of(facts, value).kind is Kind.TENSOR

    def _is_prepared(self, facts: FileFacts, node: ast.Subscript) -> bool:
        """Whether a tensor that a loop reads was added up from several others at once, before the loop.

        A mask that is multiplied with it prepares nothing.
        """
        if not isinstance(node.value, ast.Name):
            return False
        bindings = self.project.reaching(facts, node.value).bindings
        values = [binding.value for binding in bindings if isinstance(binding.value, ast.BinOp)]
        return any(
            len({part.id for part in walk(value) if isinstance(part, ast.Name) and self._may_be_tensor(facts, part)})
            > 1
            for value in values
            if any(isinstance(part, ast.BinOp) and isinstance(part.op, (ast.Add, ast.Sub)) for part in walk(value))
        )

    def _may_be_tensor(self, facts: FileFacts, node: ast.Name) -> bool:
        return self.values.of(facts, node).kind in (Kind.TENSOR, Kind.UNKNOWN)

    def _is_arithmetic(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a call computes with elements or keeps them: it runs no network and no code of the project."""
        name = self.project.qualified(facts, call.func)
        if name is not None and (name in _BUILTINS or name in _FUNCTIONS or name in _FILLING or name in HANDING):
            return True
        func = call.func
        return (
            isinstance(func, ast.Attribute) and func.attr in READING | _KEEPING and name not in self.project.functions
        )

    def _is_carried(self, facts: FileFacts, loop: ast.For, stmt: ast.stmt) -> bool:
        """Whether a statement computes what it sets from its own result of an earlier round and an element."""
        if (added := added_to_end(stmt)) is not None:
            grown, value = added  # ``returns.appendleft(rewards[i] + gamma * returns[0])``
            reads = list(self._reads(facts, loop, value))
            last = (part for part in reads if isinstance(part, ast.Subscript) and _is_end(part.slice))
            return any(map(alike, repeat(grown), (part.value for part in last))) and any(
                self._is_element(facts, part) for part in reads
            )
        if not isinstance(stmt, (ast.Assign, ast.AugAssign)) or not isinstance(stmt.value, (ast.BinOp, ast.IfExp)):
            return False
        targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
        places = [target for target in targets if isinstance(target, ast.Subscript)]
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        reads = list(self._reads(facts, loop, stmt.value))
        if not any(self._is_element(facts, part) for part in reads):
            return False
        for part in reads:
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                before = self.project.rounds(facts, part, loop).before
                if part.id in names and any(binding.stmt is stmt for binding in before):
                    return True
                if any(self._hands_on(facts, _bound_to(binding), stmt, places) for binding in before):
                    return True
            if isinstance(part, ast.Subscript) and any(_is_shifted(part, place) for place in places):
                return True
        return False

    def _hands_on(self, facts: FileFacts, value: ast.expr | None, stmt: ast.stmt, places: Sequence[ast.expr]) -> bool:
        """Whether a round gives the next one what a statement has set: ``last = found[i].clone()``, ``last = gae``."""
        if value is None:
            return False
        value = bare(value)
        if isinstance(value, ast.Name):
            binding = self.project.reaching(facts, value).only
            return binding is not None and binding.stmt is stmt
        return among(value, places) or any(among(whole, places) for whole in wholes(value))

    def _is_joined(self, facts: FileFacts, grown: ast.expr) -> bool:
        """Whether the function joins what a list holds into one tensor: ``torch.stack(tuple(returns))``."""
        calls = (call for call in facts.scope_of(grown).function.calls if call.args)
        joined = (call.args[0] for call in calls if self.project.qualified(facts, call.func) in _JOINING)
        return any(isinstance(part, ast.Name) and alike(part, grown) for each in joined for part in walk(each))

    def _is_element(self, facts: FileFacts, node: ast.AST) -> bool:
        return self._part(facts, node) is not None

    def _reads(self, facts: FileFacts, loop: ast.For, value: ast.expr) -> Iterator[ast.AST]:
        """The parts of an expression, and those of what names in it were set to earlier in the same round."""
        todo, seen = [value], set[ast.AST]()
        while todo:
            for part in walk(todo.pop()):
                if part in seen:
                    continue
                seen.add(part)
                yield part
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                    same = self.project.rounds(facts, part, loop).same
                    todo.extend(
                        binding.value for binding in same if binding.value is not None and binding.stmt is not loop
                    )

    def _is_filled(self, facts: FileFacts, stmt: ast.stmt) -> bool:
        """Whether a statement sets what a tensor holds at the place that the loop counts."""
        targets = stmt.targets if isinstance(stmt, ast.Assign) else ()
        return any(isinstance(target, ast.Subscript) and self.of(facts, target) is not None for target in targets)

    def _fills_number(self, facts: FileFacts, stmt: ast.stmt) -> bool:
        """Whether a statement sets one number of a tensor of one dimension, so that what it computes is one, too."""
        match stmt:
            case ast.Assign(targets=[ast.Subscript(value=whole, slice=ast.Name() as index)]):
                return self.counted(facts, whole, index) and self.values.of(facts, whole).rank == 1
        return False

    def _is_single(self, stmt: ast.stmt) -> bool:
        """Whether a statement sets one element, by arithmetic."""
        if not isinstance(stmt, ast.Assign) or not isinstance(stmt.targets[0], ast.Subscript):
            return False
        return isinstance(stmt.targets[0].slice, ast.Name) and isinstance(stmt.value, (ast.BinOp, ast.IfExp))


def _bound_to(binding: Binding) -> ast.expr | None:
    """What a name is set to, of a tuple the part of the name."""
    return None if binding.value is None else unpacked(binding.value, binding.path)


def _begins(node: ast.Subscript, count: str) -> bool:
    """Whether a slice of the first axis begins at a count and has no end: ``x[t:]``."""
    match first_index(node):
        case ast.Slice(lower=ast.Name(id=lower), upper=None, step=None):
            return lower == count
    return False


def _is_end(index: ast.expr) -> bool:
    """Whether an index means the first or the last element."""
    return is_number(index, 0) or (isinstance(index, ast.UnaryOp) and is_number(index.operand, 1))


def _is_read(node: ast.Name | ast.Subscript) -> bool:
    return isinstance(node.ctx, ast.Load)


def _kept(stmt: ast.stmt) -> Iterator[ast.Name]:
    """What a statement puts at the end of a list: ``found.append(x)``."""
    match stmt:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"), args=[ast.Name() as kept])):
            yield kept


def _is_shifted(read: ast.Subscript, written: ast.Subscript) -> bool:
    """Whether what is read was written in another round: ``x[t + 1]`` for ``x[t]``, or ``x[t]`` for ``x[t + 1]``."""
    if not alike(read.value, written.value):
        return False
    one, other = (column_of(part) or first_index(part) for part in (read, written))
    return ast.BinOp in (type(one), type(other)) and not alike(one, other)


def column_of(node: ast.Subscript) -> ast.expr | None:
    """Return the index behind the axes that a subscript leaves whole, ``t`` of ``x[:, t]``; none where it has none."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    rest = list(dropwhile(_is_whole, parts))
    return rest[0] if rest and len(rest) < len(parts) else None


def _behind_numbers(node: ast.Subscript) -> ast.expr | None:
    """The index behind those that are written out, ``i`` of ``x[0, i]``; none where it has none."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    rest = [part for part in parts if not isinstance(part, ast.Constant) or part.value is ...]
    return rest[0] if rest and len(rest) < len(parts) else None


def _is_whole(index: ast.expr) -> bool:
    if isinstance(index, ast.Constant):
        return index.value is ...
    return isinstance(index, ast.Slice) and index.lower is index.upper is index.step is None


def _binds(loop: LoopNode, name: str) -> bool:
    """Whether a loop binds a name itself."""
    if isinstance(loop, ast.While):
        return False
    targets = [loop.target] if isinstance(loop, (ast.For, ast.AsyncFor)) else [part.target for part in loop.generators]
    return any(isinstance(part, ast.Name) and part.id == name for target in targets for part in walk(target))

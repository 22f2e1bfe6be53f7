"""Clocks that are read around work on a device: whether anything waits for that work before the second reading."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace

from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.code.collect import dotted
from torchlint.facts.code.model import COMPREHENSIONS, FUNCTIONS, LOOPS, NESTED, FileFacts, Scope
from torchlint.facts.code.tree import children, walk
from torchlint.facts.hotness.conditions import is_debug_flag
from torchlint.facts.hotness.switches import Switches
from torchlint.late import dataclass
from torchlint.models import function_names, method_names
from torchlint.rule import Device, Frequency, Kind

CLOCKS = function_names(clock="wall")
_WAITING = method_names(waits=("reads", "queue"))
_QUEUING = frozenset({"backward", "copy_", "lerp_", "mul_", "add_", "sub_", "div_"})
_MAKING = function_names("torch", makes="data")
_MOVING = method_names(moves=True)
_NUMBERS = frozenset({"builtins.float", "builtins.int", "builtins.bool", "builtins.print", "builtins.str"})
_HARMLESS = ("builtins.", "time.", "math.", "random.", "os.", "collections.", "itertools.", "logging.", "tqdm.")
_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Tail:
    """What code does last with a device.

    ``work`` is the source of what it gives the device last, empty if it waits, or may wait, after that (``waits``).
    ``surely``: whether some of it is known to wait, ``heavy`` whether networks run or are differentiated after that,
    ``trains`` whether an optimizer steps.
    """

    work: str = ""
    heavy: bool = False
    waits: bool = False
    surely: bool = False
    trains: bool = False

    def after(self, earlier: Tail) -> Tail:
        """Return the tail of some code and of what runs before it."""
        if self.surely:
            return self
        work = self.work if self.waits else self.work or earlier.work
        heavy, trains = self.heavy or earlier.heavy, self.trains or earlier.trains
        return Tail(work, heavy, self.waits or earlier.waits, earlier.surely, trains)


_WAITS = Tail(waits=True, surely=True)
_MAY_WAIT = Tail(waits=True)
_NOTHING = Tail()


@dataclass(eq=False, slots=True)
class Clocks(Fact):
    """Answers what is timed between two readings of a clock."""

    autograd: Autograd
    switches: Switches
    _last: dict[Scope, Tail] = field(default_factory=dict)

    def unsynchronised(self, facts: FileFacts, call: ast.Call) -> str | None:
        """Return the device work that nothing waits for before the second reading of a clock, or ``None``.

        Both readings are in one round of the same loops, and their difference is taken. Where something waits between
        them, what comes after it is little, unless a network runs or is differentiated.
        """
        start = self._start(facts, call)
        if start is None or self._is_timing_many(facts, start, call):
            return None
        block, index = facts.places[start]
        stmt = facts.statement(call)
        tail = self._parts(facts, _header(stmt), 0, before=call) if stmt is not None else _NOTHING
        for around, place in facts.blocks(call):
            earlier = around[index + 1 if around is block else 0 : place]
            tail = tail.after(self._block(facts, earlier))
            if around is block or tail.surely:
                break
        return tail.work if tail.work and (tail.heavy or not tail.surely) else None

    def left_over(self, facts: FileFacts, block: ast.With) -> str | None:
        """Return the device work that nothing waits for at the end of a block, or ``None``.

        A network runs in it, is differentiated or trained; behind something that waits, a step alone is little.
        """
        tail = self._block(facts, block.body)
        large = tail.heavy or (tail.trains and not tail.surely)
        return tail.work if tail.work and large else None

    def warms_up(self, facts: FileFacts, call: ast.Call, compiled: frozenset[str]) -> str | None:
        """Return the compiled function or class that runs in a loop timed by a reading of a clock, or ``None``.

        The first reading is before the loop, the second one, ``call``, inside of it.
        """
        start = self._start(facts, call) if compiled else None
        if start is None or not self._compiles_anyway(facts):
            return None
        holding = [node for node in facts.ancestors(start) if isinstance(node, LOOPS)]
        loops = [node for node in facts.ancestors(call) if isinstance(node, LOOPS) and node not in holding]
        return self._compiled(facts, loops[-1], compiled) if loops else None

    def _compiles_anyway(self, facts: FileFacts) -> bool:
        """Whether the files that a file is connected with compile something whatever the settings say."""
        files = self.autograd.project.files
        return any(self.switches.compiles(files[path]) for path in self.autograd.graph.groups[facts.path])

    def _compiled(self, facts: FileFacts, loop: ast.AST, compiled: frozenset[str]) -> str | None:
        """Return something compiled that runs in a loop, also in what it calls, or ``None``."""
        graph, values = self.autograd.graph, self.autograd.values
        todo = [(facts, part) for part in walk(loop) if isinstance(part, ast.Call)]
        seen: set[Scope] = set()
        while todo:
            file, call = todo.pop(0)
            name = values.of(file, call.func).name
            if name in compiled:
                return name
            for target in graph.callees.get(call, ()):
                owner = target.owner.dotted if target.owner is not None else ""
                if target.dotted in compiled or (owner in compiled and target.name in ("forward", "__call__")):
                    return target.dotted
                if target not in seen:
                    seen.add(target)
                    todo.extend((target.file, inner) for inner in target.calls)
        return None

    # the two readings -----------------------------------------------------------------------------------------------

    def _start(self, facts: FileFacts, call: ast.Call) -> ast.stmt | None:
        """The statement that reads the clock first, where the difference of two readings is taken."""
        if (taken_off := self._taken_off(facts, call)) is not None:
            return taken_off
        for taken in self._differences(facts, call):
            first = self.autograd.project.reaching(facts, taken.right).value
            stmt = facts.statement(first) if first is not None and self._is_clock(facts, first) else None
            if stmt is not None and stmt in facts.places and facts.scope_of(stmt) is self._own(facts, call):
                return stmt
        return None

    def _taken_off(self, facts: FileFacts, call: ast.Call) -> ast.stmt | None:
        """The statement that takes the first reading off a sum to which the second one is added.

        ``seconds = -clock()`` or ``seconds -= clock()`` of ``seconds += clock()``.
        """
        match facts.parent.get(call):
            case ast.AugAssign(target=ast.Name() as total, op=ast.Add(), value=value) if value is call:
                only = self.autograd.project.reaching(facts, total).only
            case _:
                return None
        stmt = only.stmt if only is not None else None
        match stmt:
            case ast.Assign(value=ast.UnaryOp(op=ast.USub(), operand=first)):
                pass
            case ast.AugAssign(op=ast.Sub(), value=first):
                pass
            case _:
                return None
        own = stmt in facts.places and facts.scope_of(stmt) is self._own(facts, call)
        return stmt if own and self._is_clock(facts, first) else None

    def _own(self, facts: FileFacts, node: ast.AST) -> Scope:
        return facts.scope_of(node).function

    def _differences(self, facts: FileFacts, call: ast.Call) -> Iterator[ast.BinOp]:
        """``clock() - x``, and ``end - x`` where ``end = clock()`` is the one value of ``end``."""
        above = facts.parent.get(call)
        if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Sub) and above.left is call:
            yield above
        if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
            for part in walk(self._own(facts, call).node):
                if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub):
                    if self.autograd.project.reaching(facts, part.left).value is call:
                        yield part

    def _is_clock(self, facts: FileFacts, node: ast.expr | None) -> bool:
        return isinstance(node, ast.Call) and self.autograd.project.qualified(facts, node.func) in CLOCKS

    def _is_timing_many(self, facts: FileFacts, start: ast.stmt, call: ast.Call) -> bool:
        """Whether the second reading is not in the same round of the same loops, or not after the first."""
        block, index = facts.places[start]
        stmt = facts.statement(call)
        while isinstance(stmt, ast.stmt):
            around, place = facts.places.get(stmt, ([], 0))
            if around is block:
                return place <= index
            holder = facts.parent.get(stmt)
            if isinstance(holder, (*LOOPS, *NESTED)) or not isinstance(holder, ast.stmt):
                return True
            stmt = holder
        return True

    # what happens last ----------------------------------------------------------------------------------------------

    def _block(self, facts: FileFacts, block: Sequence[ast.stmt], depth: int = 0) -> Tail:
        """The tail of a block."""
        return _backwards(self._statement(facts, stmt, depth) for stmt in reversed(block))

    def _statement(self, facts: FileFacts, stmt: ast.stmt, depth: int) -> Tail:
        if isinstance(stmt, (*NESTED, ast.Import, ast.ImportFrom)):
            return _NOTHING
        blocks = [getattr(stmt, name, []) for name in ("body", "orelse", "finalbody", "handlers")]
        if not any(blocks):
            return self._parts(facts, [stmt], depth)
        if isinstance(stmt, ast.If):
            return self._branches(facts, stmt, depth)
        if isinstance(stmt, (*LOOPS, ast.With, ast.AsyncWith)):
            return self._block(facts, stmt.body, depth).after(self._parts(facts, _header(stmt), depth))
        return _MAY_WAIT  # try, match: not followed

    def _branches(self, facts: FileFacts, stmt: ast.If, depth: int) -> Tail:
        """An ``if``: branches that seldom run do not count; one that ends with waiting makes it wait."""
        blocks = [stmt.orelse] if is_debug_flag(stmt.test) else [stmt.body, stmt.orelse]
        often = [block for block in blocks if not block or not self._is_seldom(facts, block[0])]
        asked = self.autograd.values.of(facts, stmt.test)
        waits = asked.kind is Kind.TENSOR and asked.device is not Device.CPU
        test = _WAITS if waits else self._parts(facts, [stmt.test], depth)
        return _either([self._block(facts, block, depth) for block in often]).after(test)

    def _is_seldom(self, facts: FileFacts, stmt: ast.stmt) -> bool:
        return self.autograd.heat.frequency(facts, stmt) < Frequency.UPDATE

    def _parts(self, facts: FileFacts, nodes: Sequence[ast.AST], depth: int, before: ast.Call | None = None) -> Tail:
        """The tail of some expressions; of calls one inside another the outer is later.

        ``before``: only those count that have ended when this call begins.
        """
        calls = [part for node in nodes for part in _walk(node) if isinstance(part, ast.Call)]
        if before is not None:
            calls = [part for part in calls if _end(part) <= (before.lineno, before.col_offset)]
        return _backwards(self._call(facts, call, depth) for call in sorted(calls, key=_end, reverse=True))

    def _call(self, facts: FileFacts, call: ast.Call, depth: int) -> Tail:
        autograd, func = self.autograd, call.func
        method = func.attr if isinstance(func, ast.Attribute) else ""
        name = autograd.project.qualified(facts, func) or ""
        if method in _WAITING or name.endswith(".synchronize") or "waits" in autograd.values.row(facts, call):
            return _WAITS
        targets = autograd.graph.callees.get(call, ())
        if autograd.values.of(facts, func).kind is Kind.MODULE or (method == "backward" and not targets):
            return Tail(ast.unparse(call), heavy=True)
        if targets:
            return self._called(call, targets, depth)
        if method in _QUEUING or self.steps(facts, func):
            return Tail(ast.unparse(call), trains=method not in _QUEUING)
        if method == "step" and "sched" in dotted(func).lower():
            return _NOTHING  # of learning rates
        if name.startswith("torch.") or self._is_tensor(facts, func):
            return _WAITS if self._uploads(facts, call) else self._torch(facts, call)
        if name.startswith(_HARMLESS):
            return self._harmless(facts, call, name)
        if method in ("zero_grad", "append", "train", "eval", "parameters", "sample", "extend", "add", "get"):
            return _NOTHING
        return _MAY_WAIT

    def steps(self, facts: FileFacts, func: ast.expr) -> bool:
        """Return whether what is called is the step of an optimizer."""
        if not isinstance(func, ast.Attribute) or func.attr != "step":
            return False
        kind = self.autograd.values.of(facts, func.value).kind
        if kind is Kind.OPTIMIZER or (kind is Kind.UNKNOWN and "optim" in dotted(func.value).lower()):
            return True
        return kind in (Kind.UNKNOWN, Kind.MODULE) and self._is_engine(facts, func.value)

    def _is_engine(self, facts: FileFacts, receiver: ast.expr) -> bool:
        """Whether an object runs the backward pass of a loss that it is given: its step is that of an optimizer."""
        engine, calls = dotted(receiver), self._own(facts, receiver).calls
        backward = (call.func for call in calls if call.args and isinstance(call.func, ast.Attribute))
        return bool(engine) and any(func.attr == "backward" and dotted(func.value) == engine for func in backward)

    def _is_tensor(self, facts: FileFacts, func: ast.expr) -> bool:
        return isinstance(func, ast.Attribute) and self.autograd.values.of(facts, func.value).kind is Kind.TENSOR

    def _torch(self, facts: FileFacts, call: ast.Call) -> Tail:
        """A function of torch: arithmetic gives work where it is given tensors that may lie on a device."""
        values = self.autograd.values
        given = [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
        tensors = [values.of(facts, node) for node in given]
        queued = any(value.kind is Kind.TENSOR and value.device is not Device.CPU for value in tensors)
        return Tail(ast.unparse(call)) if queued else _NOTHING

    def _uploads(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether data of the host are copied to a device, which waits for what the device was given before."""
        values, func = self.autograd.values, call.func
        if values.of(facts, call).device is Device.CPU or any(word.arg == "non_blocking" for word in call.keywords):
            return False
        if self.autograd.project.qualified(facts, func) in _MAKING:
            placed = any(word.arg == "device" for word in call.keywords)
            return placed and bool(call.args) and values.of(facts, call.args[0]).is_data
        if not isinstance(func, ast.Attribute) or func.attr not in _MOVING:
            return False
        return values.of(facts, func.value).device is Device.CPU

    def _harmless(self, facts: FileFacts, call: ast.Call, name: str) -> Tail:
        """A function of Python: it waits where it reads a tensor."""
        kinds = {self.autograd.values.of(facts, part).kind for part in call.args} if name in _NUMBERS else set()
        if Kind.TENSOR in kinds:
            return _WAITS
        return _MAY_WAIT if Kind.UNKNOWN in kinds else _NOTHING

    def _called(self, call: ast.Call, targets: Sequence[Scope], depth: int) -> Tail:
        """The tail of the project functions that a call may run, in words of the call."""
        if depth >= _DEPTH or call in self.autograd.graph.weak:
            return _MAY_WAIT
        ends = [self._function(target, depth + 1) for target in targets]
        tail = _either(ends)
        return replace(tail, work=ast.unparse(call)) if tail.work else tail

    def _function(self, scope: Scope, depth: int) -> Tail:
        if scope not in self._last:
            self._last[scope] = _MAY_WAIT  # while it is being asked: a function that calls itself
            body = scope.node.body if isinstance(scope.node, FUNCTIONS) else None
            waits = body is None or bool(scope.yields)
            self._last[scope] = _MAY_WAIT if waits or body is None else self._block(scope.file, body, depth)
        return self._last[scope]


def _backwards(tails: Iterable[Tail]) -> Tail:
    """The tail of several steps of code, from the last to the first; those before a wait are not looked at."""
    found = _NOTHING
    for tail in tails:
        found = found.after(tail)
        if found.surely:
            break
    return found


def _either(ends: Sequence[Tail]) -> Tail:
    """The tail of code of which one of several parts runs; where one ends with waiting, all may."""
    work = next((end.work for end in ends if end.work), "")
    waiting = any(end.waits and not end.work for end in ends)
    heavy, waits = any(end.heavy for end in ends), any(end.waits for end in ends)
    surely, trains = bool(ends) and all(end.surely for end in ends), any(end.trains for end in ends)
    return Tail("" if waiting else work, heavy, waits, surely, trains)


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0


def _header(stmt: ast.AST) -> list[ast.AST]:
    """The parts of a statement that are not statements themselves: of a compound one what is in its header."""
    return [part for part in children(stmt) if not isinstance(part, ast.stmt)]


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """An expression's parts, without functions that it defines; comprehensions run."""
    todo = [node]
    while todo:
        part = todo.pop()
        yield part
        if not isinstance(part, NESTED) or isinstance(part, COMPREHENSIONS):
            todo.extend(children(part))

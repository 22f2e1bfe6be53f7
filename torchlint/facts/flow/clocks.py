"""Clocks that are read around work on a device: whether anything waits for that work before the second reading."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.code.collect import dotted
from torchlint.facts.code.model import COMPREHENSIONS, FUNCTIONS, LOOPS, NESTED, FileFacts, Scope, decorators
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

WAITS = "waits"
"""Last of all, code waits for the device, or may wait."""
NOTHING = ""
"""Code neither waits for the device nor gives it work; any other answer is the source of the last work it gives."""


@dataclass(eq=False, slots=True)
class Clocks(Fact):
    """Answers what is timed between two readings of a clock."""

    autograd: Autograd
    switches: Switches
    _last: dict[Scope, str] = field(default_factory=dict)

    def unsynchronised(self, facts: FileFacts, call: ast.Call) -> str | None:
        """Return the device work that nothing waits for before the second reading of a clock, or ``None``.

        Both readings are in one round of the same loops, and their difference is taken.
        """
        start = self._start(facts, call)
        if start is None or self._is_timing_many(facts, start, call):
            return None
        block, index = facts.places[start]
        stmt = facts.statement(call)
        last = self._parts(facts, _header(stmt), 0, before=call) if stmt is not None else NOTHING
        for around, place in facts.blocks(call):
            last = last or self._block(facts, around[index + 1 if around is block else 0 : place])
            if last or around is block:
                break
        return None if last in (WAITS, NOTHING) else last

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
        project = self.autograd.project
        for path in self.autograd.graph.groups[facts.path]:
            file = project.files[path]
            for scope in file.scopes if b"compile" in file.source.utf8 else ():
                if any(project.qualified(file, node) == "torch.compile" for node in decorators(scope.node)):
                    return True
                for call in scope.calls:
                    if project.qualified(file, call.func) == "torch.compile" and self.switches.runs_anyway(file, call):
                        return True
        return False

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

    def _block(self, facts: FileFacts, block: Sequence[ast.stmt], depth: int = 0) -> str:
        """What a block does last on the device: the source of work it queues, ``WAITS``, or ``NOTHING``."""
        for stmt in reversed(block):
            found = self._statement(facts, stmt, depth)
            if found:
                return found
        return NOTHING

    def _statement(self, facts: FileFacts, stmt: ast.stmt, depth: int) -> str:
        if isinstance(stmt, (*NESTED, ast.Import, ast.ImportFrom)):
            return NOTHING
        blocks = [getattr(stmt, name, []) for name in ("body", "orelse", "finalbody", "handlers")]
        if not any(blocks):
            return self._parts(facts, [stmt], depth)
        if isinstance(stmt, ast.If):
            return self._branches(facts, stmt, depth)
        if isinstance(stmt, (*LOOPS, ast.With, ast.AsyncWith)):
            return self._block(facts, stmt.body, depth) or self._parts(facts, _header(stmt), depth)
        return WAITS  # try, match: not followed

    def _branches(self, facts: FileFacts, stmt: ast.If, depth: int) -> str:
        """An ``if``: branches that seldom run do not count; one that waits makes it wait."""
        ends = [
            self._block(facts, block, depth)
            for block in (stmt.body, stmt.orelse)
            if block and not self._is_seldom(facts, block[0])
        ]
        if is_debug_flag(stmt.test):
            ends = ends[1:]
        if WAITS in ends:
            return WAITS
        asked = self.autograd.values.of(facts, stmt.test)
        waits = asked.kind is Kind.TENSOR and asked.device is not Device.CPU
        test = WAITS if waits else self._parts(facts, [stmt.test], depth)
        return next((end for end in ends if end), test)

    def _is_seldom(self, facts: FileFacts, stmt: ast.stmt) -> bool:
        return self.autograd.heat.frequency(facts, stmt) < Frequency.UPDATE

    def _parts(self, facts: FileFacts, nodes: Sequence[ast.AST], depth: int, before: ast.Call | None = None) -> str:
        """The last call among some expressions that waits or gives work; of one inside another the outer is later.

        ``before``: only those count that have ended when this call begins.
        """
        calls = [part for node in nodes for part in _walk(node) if isinstance(part, ast.Call)]
        if before is not None:
            calls = [part for part in calls if _end(part) <= (before.lineno, before.col_offset)]
        for call in sorted(calls, key=_end, reverse=True):
            found = self._call(facts, call, depth)
            if found:
                return found
        return NOTHING

    def _call(self, facts: FileFacts, call: ast.Call, depth: int) -> str:
        autograd, func = self.autograd, call.func
        method = func.attr if isinstance(func, ast.Attribute) else ""
        name = autograd.project.qualified(facts, func) or ""
        if method in _WAITING or name.endswith(".synchronize") or "waits" in autograd.values.row(facts, call):
            return WAITS
        targets = autograd.graph.callees.get(call, ())
        if autograd.values.of(facts, func).kind is Kind.MODULE:
            return ast.unparse(call)
        if targets:
            return self._called(call, targets, depth)
        if method in _QUEUING or self._steps(facts, func):
            return ast.unparse(call)
        if method == "step" and "sched" in dotted(func).lower():
            return NOTHING  # of learning rates
        if name.startswith("torch.") or self._is_tensor(facts, func):
            return WAITS if self._uploads(facts, call) else self._torch(facts, call)
        if name.startswith(_HARMLESS):
            return self._harmless(facts, call, name)
        if method in ("zero_grad", "append", "train", "eval", "parameters", "sample", "extend", "add", "get"):
            return NOTHING
        return WAITS

    def _steps(self, facts: FileFacts, func: ast.expr) -> bool:
        """Whether an optimizer steps."""
        if not isinstance(func, ast.Attribute) or func.attr != "step":
            return False
        kind = self.autograd.values.of(facts, func.value).kind
        return kind is Kind.OPTIMIZER or (kind is Kind.UNKNOWN and "optim" in dotted(func.value).lower())

    def _is_tensor(self, facts: FileFacts, func: ast.expr) -> bool:
        return isinstance(func, ast.Attribute) and self.autograd.values.of(facts, func.value).kind is Kind.TENSOR

    def _torch(self, facts: FileFacts, call: ast.Call) -> str:
        """A function of torch: arithmetic gives work where it is given tensors that may lie on a device."""
        values = self.autograd.values
        given = [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
        tensors = [values.of(facts, node) for node in given]
        queued = any(value.kind is Kind.TENSOR and value.device is not Device.CPU for value in tensors)
        return ast.unparse(call) if queued else NOTHING

    def _uploads(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether data of the host are copied to a device, which waits for what the device was given before."""
        values, func = self.autograd.values, call.func
        if values.of(facts, call).device is Device.CPU or any(word.arg == "non_blocking" for word in call.keywords):
            return False
        if self.autograd.project.qualified(facts, func) in _MAKING:
            told = any(word.arg == "device" for word in call.keywords)
            return told and bool(call.args) and values.of(facts, call.args[0]).is_data
        if not isinstance(func, ast.Attribute) or func.attr not in _MOVING:
            return False
        return values.of(facts, func.value).device is Device.CPU

    def _harmless(self, facts: FileFacts, call: ast.Call, name: str) -> str:
        """A function of Python: it waits where it reads a tensor."""
        reads = name in _NUMBERS and any(
            self.autograd.values.of(facts, part).kind in (Kind.TENSOR, Kind.UNKNOWN) for part in call.args
        )
        return WAITS if reads else NOTHING

    def _called(self, call: ast.Call, targets: Sequence[Scope], depth: int) -> str:
        """What the last of a project function's statements does, in words of the call."""
        if depth >= _DEPTH or call in self.autograd.graph.weak:
            return WAITS
        ends = {self._function(target, depth + 1) for target in targets}
        if WAITS in ends:
            return WAITS
        return ast.unparse(call) if any(ends) else NOTHING

    def _function(self, scope: Scope, depth: int) -> str:
        if scope not in self._last:
            self._last[scope] = WAITS  # while it is being asked: a function that calls itself
            body = scope.node.body if isinstance(scope.node, FUNCTIONS) else None
            waits = body is None or bool(scope.yields)
            self._last[scope] = WAITS if waits or body is None else self._block(scope.file, body, depth)
        return self._last[scope]


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

"""What becomes of a value as data: of a number, an array or a tensor that is followed for what is done with it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from torchlint.facts.code.alike import alike
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.tree import walk
from torchlint.facts.dataflow.spots import Spot
from torchlint.facts.flow.carriers import Next
from torchlint.facts.flow.statistics import statistics_of
from torchlint.facts.flow.store import Ground
from torchlint.facts.values.dtypes import is_inexact
from torchlint.facts.values.operators import gathers
from torchlint.facts.values.signatures import argument
from torchlint.late import dataclass
from torchlint.models import function_names, last_names, method_names
from torchlint.rule import Device, Kind, Use

Seldom = Callable[[FileFacts, ast.AST], bool]
"""Whether a node runs less often than once per gradient update."""

_READS = method_names(waits="reads", returns=("number", "array", "list"))
_VIEWS = method_names("torch.Tensor torch", elements="all")
_ABOUT = last_names("Tensor torch", about=True)
_ARRAY_SAME = frozenset(
    (
        *("item", "tolist", "copy", "astype", "flatten", "ravel", "reshape", "squeeze", "mean", "sum", "min", "max"),
        *("std", "var", "transpose", "round", "is_integer", "hex", "conjugate"),
    )
)
_SHAPING = frozenset(
    (
        *("view", "reshape", "expand", "repeat", "unsqueeze", "squeeze", "narrow", "split", "chunk", "new_zeros"),
        *("new_ones", "new_full", "new_empty", "topk", "flatten", "permute", "transpose", "tile"),
    )
)
_VALUED = last_names("torch", value=1)
_SIZED = last_names("torch numpy", makes=("filled", "pattern", "random"))
_REDUCING = last_names(reduces=True)
_JOINED = last_names("numpy", joins="parts")
_ARRAYS = frozenset(
    (
        *("array", "asarray", "asanyarray", "ascontiguousarray", "atleast_1d", "float32", "float64"),
        *("squeeze", "ravel", "copy"),
    )
)
_HOST = (
    *("numpy.", "scipy.", "sklearn.", "heapq.", "bisect.", "random.", "numba.", "pandas.", "cv2.", "time.", "jax."),
    *("itertools.", "optuna."),
)
_TABLES = frozenset({"pandas.DataFrame", "pandas.DataFrame.from_records", "pandas.Series"})
_FILES = ("pickle.", "torch.save", "numpy.save", "joblib.dump", "dill.")
_FILING = method_names(files=True)
_EXCHANGING = last_names("torch.distributed", exchanges="objects")
_OF_ALL_PROCESSES = method_names(exchanges="values")
_MAKES = frozenset({"tensor", "as_tensor", "Tensor", "FloatTensor", "DoubleTensor"})
_COPIES = function_names("copy collections", elements="all") | function_names("accelerate.utils", exchanges="values")
_SAME = last_names("builtins", elements="all", compares=False)
_FOLDED = last_names("builtins", folds=True)
_NOTHING = last_names("builtins", about=True)
_TEXT = last_names("builtins", text=True)
_MOVING = method_names(moves=("device", "given"))
_FINDING = last_names(finds=True)
_TESTING = method_names(tests=("finite", "nonfinite"))


_REPEATED = frozenset({Kind.LIST, Kind.TUPLE})


@dataclass(frozen=True, slots=True)
class Data:
    """Follows data: arithmetic goes on until a tensor or an array comes of it."""

    ground: Ground
    seldom: Seldom
    text: Use = Use.LOGGED

    def _kind(self, spot: Spot, node: ast.expr) -> Kind:
        return self.ground.values.of(spot.facts, node).kind

    def quiet(self, _spot: Spot, _call: ast.Call) -> bool:
        """Return ``False``: data does not depend on autograd."""
        return False

    def branch(self, spot: Spot) -> Next:
        """Follow the value into a condition, of which it is the sink.

        A decision that is seldom taken needs the value as seldom, like a log; one of how a text reads is a
        text; one of whether the value is recorded needs it where the record does; one of whether it is the largest
        until now needs it where that is read.
        """
        if _formats(spot.facts.scope_of(spot.node).function) or _chooses_text(spot):
            yield self.text
        elif recorded := _recorded(spot) or _held_beside(spot):
            yield from map(spot.at, recorded)
        elif not _replaces(spot):
            yield Use.LOGGED if self.seldom(spot.facts, spot.node) else Use.CONDITION

    def index(self, spot: Spot) -> Use:
        """Return an index; one that is seldom used needs the value as seldom, like a log."""
        return Use.LOGGED if self.seldom(spot.facts, spot.node) else Use.INDEX

    def operation(self, spot: Spot, node: ast.expr) -> Next:
        """Follow the value through arithmetic and comparisons of numbers; with arrays it is work on the host."""
        kind = self._kind(spot, node)
        if kind is Kind.TENSOR:
            yield Use.HOST if self._places_on_host(spot, node) else Use.TENSOR
        elif kind is Kind.STRING:
            yield self.text
        elif kind is Kind.NDARRAY:
            yield Use.HOST
        elif kind in _REPEATED and not spot.path and self._kind(spot, spot.node) not in _REPEATED:
            yield Use.SIZE  # as many elements: `[0] * number`
        elif isinstance(node, ast.Compare) and self._kind(spot, spot.node) is not Kind.TENSOR:
            yield from self.branch(spot)  # Python compares it there and then
        else:
            yield spot.at(node)

    def _places_on_host(self, spot: Spot, node: ast.expr) -> bool:
        """Whether a number is computed with indices on the host, beside which a tensor of another device raises."""
        if not isinstance(node, ast.BinOp) or self._kind(spot, spot.node) is not Kind.NUMBER:
            return False
        beside = self.ground.values.of(spot.facts, node.right if node.left is spot.node else node.left)
        return beside.device is Device.CPU and beside.rank != 0 and not is_inexact(beside)

    def attribute(self, spot: Spot, node: ast.Attribute) -> Next:
        """Follow the value to an attribute; what is about it, like its shape, is not a use of it."""
        if node.attr in ("data", "T", "real", "mT"):
            yield spot.same(node)
        elif node.attr not in _ABOUT:
            yield Use.PASSED

    def method(self, spot: Spot, call: ast.Call, name: str) -> Next:
        """Follow the value through a method of the number, array or tensor."""
        if name in _ABOUT:
            return
        kind = self._kind(spot, spot.node)
        if kind is Kind.TENSOR:
            yield from self._tensor_method(spot, call, name)
        elif name in _ARRAY_SAME:
            yield spot.same(call)
        elif kind is Kind.NDARRAY:
            yield Use.HOST
        elif name == "backward":
            yield Use.BACKWARD
        elif name in _READS:
            yield Use.READ
        elif self._kind(spot, call) is Kind.TENSOR or name in _VIEWS:
            yield Use.TENSOR
        else:
            yield Use.PASSED

    def _tensor_method(self, spot: Spot, call: ast.Call, name: str) -> Next:
        if name in _READS and self._is_copy(spot) and self._kind(spot, call) is Kind.NUMBER:
            yield spot.at(call)  # the copy was the read
        elif name in _READS:
            yield Use.READ
        elif name == "backward":
            yield Use.BACKWARD
        elif name in _VIEWS:
            yield spot.same(call)
        elif name in _REDUCING and self._is_copy(spot):
            yield spot.at(call)
        else:
            yield Use.TENSOR

    def _is_copy(self, spot: Spot) -> bool:
        """Whether the value is a tensor that lies on the host."""
        value = self.ground.values.of(spot.facts, spot.node)
        return value.kind is Kind.TENSOR and value.device is Device.CPU

    def given(self, spot: Spot, call: ast.Call, method: str) -> Next | None:
        """Follow the value as an argument: tensors are made with it or shaped by it, arrays compute with it."""
        assert isinstance(call.func, ast.Attribute)
        kind = self._kind(spot, call.func.value)
        if kind is Kind.TENSOR:
            return iter((Use.SIZE if method in _SHAPING else Use.TENSOR,))
        if kind is Kind.DISTRIBUTION:
            return iter((Use.TENSOR,))
        if kind in (Kind.NDARRAY, Kind.SCALAR) or method in _FILING:
            return iter((Use.HOST,))
        return iter((spot.same(call),)) if method in _OF_ALL_PROCESSES or gathers(method, call) else None

    def stepped(self, _spot: Spot, _call: ast.Call) -> Next:
        """Return nothing: what an environment gives is other data."""
        return iter(())

    def summary(self, spot: Spot, call: ast.Call, function: Scope) -> Next | None:
        """Follow the value through a function that reduces it over all processes: the result has the same keys."""
        return iter((spot.same(call),)) if self.ground.reduces(function) else None

    def handed_back(self, _function: Scope, calls: Next) -> Next:
        """Follow the value to the calls that run often, if there are any: a seldom one needs its own result alone."""
        every = list(calls)
        often = [each for each in every if isinstance(each, Use) or not self.seldom(each.facts, each.node)]
        return iter(often if any(isinstance(each, Spot) for each in often) else every)

    def stored(self, spot: Spot, target: ast.Subscript) -> Next | None:
        """Follow the value into a tensor, or into an array on the host, of which there may be statistics alone."""
        kind = self._kind(spot, target.value)
        if kind is Kind.TENSOR:
            return iter((Use.TENSOR,))
        if isinstance(target.slice, ast.Constant) and target.slice.value == "lr":
            return iter((Use.HOST,))  # an optimizer computes its step with it
        if kind is not Kind.NDARRAY:
            return None
        statistics = statistics_of(self.ground, spot, target)
        return map(spot.at, statistics) if statistics else iter((Use.HOST,))

    def library(self, spot: Spot, call: ast.Call, name: str) -> Next | None:
        """Follow the value as an argument of a library function."""
        head, _, last = name.partition(".")
        if head == "builtins":
            return self._builtin(spot, call, last)
        last = name.rpartition(".")[2]
        if name in _COPIES:
            return iter((spot.same(call),))
        if (elements := drawn(spot, call, name)) is not None:
            return elements
        if name in _TABLES and any(isinstance(key, str) for key in spot.path):
            return iter((self.text,))  # records of named numbers, which someone looks at
        if name.startswith(_FILES):
            return iter((self.text if self.seldom(spot.facts, call) else Use.HOST,))
        if head == "torch":
            return self._torch(spot, call, last)
        if head == "flash_attn" and self._kind(spot, spot.node) is not Kind.TENSOR:
            return iter((Use.SIZE,))  # its kernels take numbers of Python
        if head in ("math", "statistics", "cmath"):
            return self.operation(spot, call)
        if head == "numpy" and not name.startswith("numpy.random."):
            return self._numpy(spot, call, last)
        return iter((Use.HOST,)) if name.startswith(_HOST) else None

    def _builtin(self, spot: Spot, call: ast.Call, last: str) -> Next | None:
        if last in _NOTHING:
            return iter(())
        if last in _TEXT or last.endswith(("Error", "Exception", "Warning")):
            return iter((self.text,))
        if (last == "sorted" or last in _SAME) and last != "dict" and spot.path and self.ground.is_dict(spot):
            return iter(())  # of a dict it takes the keys
        if last == "sorted":
            # Pairs are sorted by what stands first in them: ``sorted(d.items())``.
            behind = spot.path[1:2] and isinstance(spot.path[1], int) and spot.path[1] > 0 and not call.keywords
            return iter((spot.same(call) if behind else Use.HOST,))
        if last == "range":
            return iter((Use.SIZE,))
        if last == "slice":
            return iter((Use.INDEX,))
        if last in _SAME:
            return iter((spot.same(call),))
        if last in _FOLDED:
            if self._kind(spot, spot.node) is Kind.TENSOR and last in ("float", "int", "bool", "complex"):
                return iter((Use.READ,))
            if last in ("max", "min") and len(call.args) > 1 and not spot.path:
                return self._chosen(spot, call)
            if last == "bool" and spot.path:
                return iter(())  # whether a container is empty does not depend on what it holds
            return self._reduced(spot, call)
        return folded(spot, call, last)

    def _chosen(self, spot: Spot, call: ast.Call) -> Next:
        """Python takes the greater of two numbers, and has to know both."""
        if self._kind(spot, spot.node) is Kind.TENSOR:
            return self.operation(spot, call)
        return iter((self.text if self.seldom(spot.facts, call) else Use.HOST,))

    def _reduced(self, spot: Spot, call: ast.Call) -> Next:
        """One number of many, or of one."""
        if spot.path:
            return iter((spot.at(call, *spot.path[1:]),)) if not isinstance(spot.path[0], str) else iter(())
        return self.operation(spot, call)

    def _torch(self, spot: Spot, call: ast.Call, last: str) -> Next:
        """A size, a new tensor; numbers that were collected first are no mere operand, unless it is their mean."""
        if last in _EXCHANGING:
            yield from _exchanged(spot, call)
            return
        if last in _MAKES and (number := _read_back(spot.facts, call)) is not None:
            yield spot.at(number)
            return
        if last in ("is_tensor", "is_floating_point", "numel"):
            return
        if last in ("manual_seed", "set_num_threads"):
            yield Use.PASSED
            return
        if last in _SIZED and self._kind(spot, spot.node) is not Kind.TENSOR:
            fills = last in _VALUED and argument(call, 1, "fill_value") is spot.node
            yield Use.TENSOR if fills else Use.SIZE
            return
        if last in _MAKES and isinstance(spot.node, (ast.List, ast.Tuple)):
            # Numbers that the call itself lists are operands, and where they become a tensor on the host, that is one.
            yield Use.TENSOR if is_placed(spot.facts, call) else spot.at(call)
            return
        if last in _REDUCING and not spot.path and self._is_copy(spot):
            yield spot.at(call)  # one number of a tensor on the host, as a log wants it
            return
        yield Use.TENSOR
        if spot.path and self._kind(spot, spot.node) is not Kind.TENSOR and not self.seldom(spot.facts, call):
            yield Use.COLLECTED

    def _numpy(self, spot: Spot, call: ast.Call, last: str) -> Next:
        """Statistics and conversions of numbers go on, other work on arrays is the host's."""
        axis = argument(call, 1, "axis")
        many = bool(spot.path) or self._kind(spot, spot.node) is Kind.NDARRAY
        statistic = axis is None or (many and isinstance(axis, ast.Constant) and isinstance(axis.value, int))
        if last in _SIZED:
            yield Use.SIZE
        elif last in _FINDING:
            yield Use.HOST  # how many places it finds depends on the data
        elif isinstance(spot.facts.parent.get(call), ast.Expr):
            yield Use.HOST  # it writes into an array: ``np.copyto(self.rewards[i], reward)``
        elif last in _ARRAYS or last in _JOINED or (last in _REDUCING and statistic):
            yield spot.at(call)  # all levels of a list of tuples are one array
        elif self._kind(spot, call) is Kind.NDARRAY or (spot.path and last not in ("isnan", "isfinite", "isinf")):
            yield Use.HOST
        else:
            yield spot.at(call)


def _formats(function: Scope) -> bool:
    """Whether all that a function returns are texts that it puts together of values: ``f"{x:.3f}"``, ``str(x)``."""
    given = [each.value for each in function.returns]
    return bool(given) and all(
        isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("str", "repr"))
        for node in given
    )


def _chooses_text(spot: Spot) -> bool:
    """Whether a value decides between two texts: ``f"{x:.4f}" if x > 0.01 else f"{x:.6f}"``."""
    child: ast.AST = spot.node
    parent = spot.facts.parent.get(child)
    while isinstance(parent, (ast.Compare, ast.UnaryOp, ast.BoolOp)):
        child, parent = parent, spot.facts.parent.get(parent)
    if not isinstance(parent, ast.IfExp) or parent.test is not child:
        return False
    return all(
        isinstance(arm, ast.JoinedStr) or (isinstance(arm, ast.Constant) and isinstance(arm.value, str))
        for arm in (parent.body, parent.orelse)
    )


def _recorded(spot: Spot) -> list[ast.expr]:
    """What a test for finite numbers lets into records, where it decides nothing else; else an empty list.

    ``losses.append(x.item())`` of ``if math.isfinite(x.item()): losses.append(x.item())``.
    """
    call = spot.node
    test, parent = next(pair for pair in spot.facts.climb(call) if not isinstance(pair[1], ast.UnaryOp))
    if not isinstance(parent, ast.If) or parent.test is not test or parent.orelse:
        return []
    if not isinstance(call, ast.Call) or last_name(call.func) not in _TESTING or len(call.args) != 1:
        return []
    added = [_added(stmt) for stmt in parent.body]
    return [each for each in added if each is not None] if all(alike(call.args[0], each) for each in added) else []


def _held_beside(spot: Spot) -> list[ast.expr]:
    """What is kept where a value is the largest or smallest until now, with that value; else an empty list.

    ``x`` and ``step`` of ``if x > self.most: self.most, self.at = x, step`` in two statements: `max` with its place.
    """
    parent = spot.facts.parent
    compare = spot.node if isinstance(spot.node, ast.Compare) else parent.get(spot.node)
    match compare, parent.get(compare) if compare is not None else None:
        case (
            ast.Compare(left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], comparators=[right]),
            ast.If(test=test, body=body, orelse=[]),
        ) if test is compare:
            kept = [stmt for stmt in body if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1]
            sides = [(kept_as, value) for kept_as, value in ((left, right), (right, left))]
            extreme = any(alike(s.targets[0], at) and alike(s.value, value) for s in kept for at, value in sides)
            plain = len(kept) == len(body) and all(isinstance(s.targets[0], (ast.Name, ast.Attribute)) for s in kept)
            calls = any(isinstance(node, ast.Call) for s in kept for node in walk(s.value))
            return [s.value for s in kept] if extreme and plain and not calls else []
    return []


def _replaces(spot: Spot) -> bool:
    """Whether a test for finite numbers puts a literal in the place of others: ``x if math.isfinite(x) else 0.0``.

    That is an operation on the value, as ``nan_to_num`` is, and the choice itself is followed.
    """
    call = spot.node
    test, parent = next(pair for pair in spot.facts.climb(call) if not isinstance(pair[1], ast.UnaryOp))
    if not isinstance(parent, ast.IfExp) or parent.test is not test:
        return False
    if not isinstance(call, ast.Call) or last_name(call.func) not in _TESTING or len(call.args) != 1:
        return False
    literals = [isinstance(arm, ast.Constant) for arm in (parent.body, parent.orelse)]
    return any(literals) and any(alike(call.args[0], arm) for arm in (parent.body, parent.orelse))


def _added(stmt: ast.stmt) -> ast.expr | None:
    """What a statement adds to a list or a sum."""
    match stmt:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"), args=[value], keywords=[])):
            return value
        case ast.AugAssign(op=ast.Add(), value=value):
            return value
    return None


def _exchanged(spot: Spot, call: ast.Call) -> Next:
    """An object that is sent to other processes comes to the list that the call fills, beside it or the same."""
    lists = [node for node in call.args[:2] if node is not spot.node and isinstance(node, (ast.Name, ast.Attribute))]
    return (spot.inside(node, None, *spot.path) for node in lists)


def is_placed(facts: FileFacts, call: ast.Call) -> bool:
    """Return whether a call that makes a tensor, or a method on top of it, says where the tensor lies."""
    if any(keyword.arg == "device" for keyword in call.keywords):
        return True
    while isinstance(above := _applied(facts, call), ast.Call) and isinstance(above.func, ast.Attribute):
        if above.func.attr in _MOVING:
            return True
        call = above
    return False


def _read_back(facts: FileFacts, call: ast.Call) -> ast.Call | None:
    """The call that makes one number of what a call gives: ``torch.tensor(losses).mean().item()``.

    Or one tensor with a single number: ``torch.mean(torch.tensor(losses))``.
    """
    reduced: ast.Call | None = None
    while (outer := _applied(facts, call)) is not None:
        name = outer.func.attr if isinstance(outer.func, ast.Attribute) else ""
        if name == "item":
            return outer
        if isinstance(outer.func, ast.Name) and not outer.keywords:
            call = outer
            continue  # a function that is chosen before: ``reduce = torch.max if ... else torch.mean``
        if name not in _REDUCING and name not in _VIEWS and name not in _TESTING:
            break
        if name in _REDUCING and not outer.keywords:
            reduced = outer
        call = outer
    return reduced


def _applied(facts: FileFacts, call: ast.Call) -> ast.Call | None:
    """The call of a method of what a call gives, or of a function with it as the only positional argument."""
    parent = facts.parent.get(call)
    if isinstance(parent, ast.Attribute):
        outer = facts.parent.get(parent)
        return outer if isinstance(outer, ast.Call) and outer.func is parent else None
    return parent if isinstance(parent, ast.Call) and parent.args == [call] else None


def folded(spot: Spot, call: ast.Call, last: str) -> Next | None:
    """Follow the value through a builtin that forwards its arguments: ``zip``, ``enumerate``, ``next``, ``map``."""
    path = spot.path
    if path and isinstance(path[0], str):
        return iter(()) if last in ("zip", "enumerate", "next", "map") else None
    rest = path[1:]
    if last == "zip":
        if spot.node not in call.args:  # the rows of a starred list become columns
            return iter((spot.at(call, None, path[0] if path else None, *path[2:]),))
        return iter((spot.at(call, None, call.args.index(spot.node), *rest),))
    if last == "enumerate":
        return iter((spot.at(call, None, 1, *rest),))
    if last == "next":
        return iter((replace(spot.same(call), path=rest),))
    if last == "map" and isinstance(call.args[0], ast.Name) and call.args[0].id in ("float", "int", "str"):
        return iter((spot.at(call, None, *rest),))
    return None


def drawn(spot: Spot, call: ast.Call, name: str) -> Next | None:
    """Follow what ``random`` draws from a list: the elements themselves, not copies of them."""
    if not call.args or call.args[0] is not spot.node or not spot.path or isinstance(spot.path[0], str):
        return None
    if name in ("random.sample", "random.choices"):
        return iter((spot.same(call),))
    if name == "random.choice":
        return iter((spot.at(call, *spot.path[1:]),))
    return iter(()) if name == "random.shuffle" else None

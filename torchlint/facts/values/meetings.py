"""What meets a tensor that was made on the host: an operation takes tensors of one device, or it raises."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from itertools import chain

from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.code.naming import last_name, mentions_of
from torchlint.facts.code.nesting import OUTSIDE
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import is_none, receiver_of, walk
from torchlint.facts.values.operators import is_slice
from torchlint.facts.values.signatures import keyword, rules, starred, table
from torchlint.facts.values.tested import arms, left_before
from torchlint.late import dataclass, regex
from torchlint.rule import Kind, Value

# With one of these in a connected file, tensors are made on another device than the host.
_DEFAULTS = (b"set_default_device", b"set_default_tensor_type", b"with torch.device(")
_CHOOSING = regex(r"cuda|cpu|gpu|device|accelerator|mps|xpu|isinstance|is_tensor|hasattr")
_ALONG = frozenset({"arange", "range", "linspace", "logspace", "eye", "randperm", "tril_indices", "triu_indices"})
_OF_SIZES = frozenset({"zeros", "ones", "empty", "rand", "randn", "full", "randint"})
_DISPLAYS = (ast.List, ast.Tuple, ast.ListComp)
_TOGETHER = frozenset({"binary", "bool", "divide"})
_COMPARING = frozenset({"equal", "allclose"})
# Methods whose result lies where the tensor does, and has a dimension where the tensor has one.
_SAME = frozenset({"flatten", "float", "move", "reshape", "unary", "unsqueeze"})
_PARTS = frozenset({"data", "T", "mT"})
_MOVES = frozenset({"to", "cuda", "cpu"})
_DEEPEST = 3


@dataclass(eq=False, slots=True)
class Meetings:
    """Answers which tensors a function joins, compares or computes with tensors that it makes on the host.

    A tensor that is made without a device lies on the host. Where it has a dimension, or is joined with others, each
    tensor that it meets lies there, too: a program that puts the other one on an accelerator raises. So does one that
    is asked for the memory of a tensor by ``numpy()``. A store into a part of a tensor is no such meeting, and neither
    is one that a test for a device, or for a type, chooses.
    ``value``: what is known of an expression.
    """

    project: Project
    value: Callable[[FileFacts, ast.expr], Value | None]
    _met: dict[Scope, Sequence[ast.expr]] = field(default_factory=dict)
    _names: dict[Scope, dict[str, list[ast.Name]]] = field(default_factory=dict)
    _made_here: dict[Scope, set[Binding]] = field(default_factory=dict)
    _moved: dict[frozenset[str], bool] = field(default_factory=dict)

    def on_host(self, facts: FileFacts, node: ast.Name, value: Value) -> bool:
        """Return whether a name, as it is bound where it is read, meets what its function makes on the host."""
        function = facts.scope_of(node).function
        if function.kind != "function":
            return False
        if function not in self._names:
            names = self._names[function] = dict[str, list[ast.Name]]()
            for each in self.of(function):
                stem = stem_of(each)
                if isinstance(stem, ast.Name):
                    names.setdefault(stem.id, []).append(stem)
        places = self._names[function].get(node.id, ())
        if not places:
            return False
        wide = value.dtype == "bool" or value.has_axes
        met = [self.project.bound_to(facts, place) for place in places if wide or not _is_index(facts, place)]
        stays = (each for each in met if not any(map(_is_move, each)))
        return self.project.bound_to(facts, node) <= self._made_here[function].union(*stays)

    def of(self, function: Scope) -> Sequence[ast.expr]:
        """Return the operands that meet in a function what it makes on the host."""
        found = self._met.get(function)
        if found is None:
            self._met[function], self._made_here[function] = (), set()
            every = self._meeting(function)
            found = self._met[function] = [each for each in every if not _is_chosen(function.file, each)]
        return found

    def _meeting(self, function: Scope) -> Iterator[ast.expr]:
        facts = function.file
        yield from (held for call in function.calls if (held := _read_out(call)) is not None)
        todo = [(call, wide) for call in function.calls if (wide := self._made(facts, call)) is not None]
        if not todo or self._is_moved(facts):
            return
        seen: set[ast.expr] = set()
        bound: dict[Binding, bool] = {}
        reads: dict[str, dict[Binding, list[tuple[ast.Name, frozenset[Binding]]]]] = {}
        waiting = list[tuple[ast.expr, bool]](todo)
        while waiting:
            node, wide = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            others, whole, stays = self._beside(facts, node)
            if wide or stays:
                yield from others
            if whole is not None:
                waiting.append((whole, wide or stays))
            name, binding = _binds(function, node)
            if binding is not None:
                bound[binding] = wide
                self._made_here[function].add(binding)
                if name not in reads:
                    reads[name] = self._reads(function, name)
                for read, reach in reads[name].get(binding, ()):
                    if all(each in bound for each in reach):
                        waiting.append((read, all(bound[each] for each in reach)))

    def _reads(self, function: Scope, name: str) -> dict[Binding, list[tuple[ast.Name, frozenset[Binding]]]]:
        """The reads of a name by each binding that reaches them, each with all that do."""
        found: dict[Binding, list[tuple[ast.Name, frozenset[Binding]]]] = {}
        for read in mentions_of(function.file, function.node, name):
            reach = self.project.bound_to(function.file, read)
            for binding in reach:
                found.setdefault(binding, []).append((read, reach))
        return found

    def _beside(self, facts: FileFacts, node: ast.expr) -> tuple[Sequence[ast.expr], ast.expr | None, bool]:
        """What meets an operand, the result where it lies, and whether they lie together in any shape."""
        parent = facts.parent.get(node)
        match parent:
            case ast.UnaryOp():
                return (), parent, False
            case ast.BinOp(left=left, right=right):
                return (right if left is node else left,), parent, False
            case ast.Compare(left=left, comparators=others):
                every = [each for each in (left, *others) if each is not node]
                alike = not any(isinstance(op, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for op in parent.ops)
                return (every, parent, False) if alike else ((), None, False)
            case ast.AugAssign(target=ast.Name() as target, value=value):
                return (target if value is node else value,), None, False
            case ast.Subscript(value=value, slice=index) if value is node:
                parts = index.elts if isinstance(index, ast.Tuple) else [index]
                if all(is_slice(part) or is_none(part) for part in parts):
                    return (), parent, False
                return [part for part in parts if isinstance(part, ast.Name)], None, False
            case ast.Attribute(attr=name) if isinstance(call := facts.parent.get(parent), ast.Call):
                if call.func is not parent:
                    return (), None, False
                rule = rules("operations").get(name)
                if rule in _SAME or name in table()["tensor_methods"]["cast"]:
                    return (), call, False
                together = rule in _TOGETHER or name in _COMPARING
                return (call.args, call, False) if together else ((), None, False)
            case ast.Call():
                return self._given(facts, parent, node)
            case ast.List() | ast.Tuple() if isinstance(call := facts.parent.get(parent), ast.Call):
                if call.args[:1] == [parent] and self._rule(facts, call) == "join":
                    return [each for each in parent.elts if each is not node], call, True
        return (), None, False

    def _given(
        self, facts: FileFacts, call: ast.Call, node: ast.expr
    ) -> tuple[Sequence[ast.expr], ast.expr | None, bool]:
        rule = self._rule(facts, call)
        if node not in call.args or starred(call):
            return (), None, False
        if not rule and isinstance(call.func, ast.Attribute) and not self.project.qualified(facts, call.func):
            together = rules("operations").get(call.func.attr.rstrip("_")) in _TOGETHER or call.func.attr in _COMPARING
            return ((call.func.value,), call, False) if together else ((), None, False)
        if rule in _TOGETHER or rule == "where":
            return [each for each in call.args if each is not node], call, False
        if rule == "loss":
            return [each for each in call.args[:2] if each is not node], None, False
        return (), None, False

    def _rule(self, facts: FileFacts, call: ast.Call) -> str:
        """What a function of torch does with tensors, as the tables say it."""
        module, _, last = (self.project.qualified(facts, call.func) or "").rpartition(".")
        if module == "torch.nn.functional":
            return "loss" if last in table()["functional"]["loss"] else ""
        if module != "torch":
            return ""
        return "bool" if last in _COMPARING else rules("torch").get(last) or rules("operations").get(last, "")

    def _made(self, facts: FileFacts, call: ast.Call) -> bool | None:
        """Whether a tensor of the host has a dimension for sure, ``None`` of what is not made on the host."""
        if isinstance(call.func, ast.Attribute) and call.func.attr == "cpu" and not call.args:
            return False
        module, _, last = (self.project.qualified(facts, call.func) or "").rpartition(".")
        if module != "torch" or starred(call) or any(keyword(call, each) is not None for each in ("device", "out")):
            return None
        given = call.args or [word.value for word in call.keywords if word.arg in ("size", "data")]
        if last in _ALONG or (last == "from_numpy" and given):
            return True
        if last in ("tensor", "as_tensor") or last in table()["legacy"]:
            return True if given and isinstance(given[0], _DISPLAYS) else None
        if last not in _OF_SIZES or not given:
            return None
        if last in ("full", "randint"):
            return True if any(isinstance(each, (ast.Tuple, ast.List)) and each.elts for each in given) else None
        if len(given) > 1 or (isinstance(given[0], (ast.Tuple, ast.List)) and given[0].elts):
            return True
        return True if self._counts(facts, given[0]) else None

    def _counts(self, facts: FileFacts, node: ast.expr, depth: int = 0) -> bool:
        """Whether an expression is a number: a length, a part of a shape, and what is computed from these."""
        match node:
            case ast.Constant(value=int()) | ast.Call(func=ast.Name(id="len" | "int")):
                return True
            case ast.Subscript(value=ast.Attribute(attr="shape"), slice=index):
                return not isinstance(index, ast.Slice)
            case ast.Call(func=ast.Attribute(attr="size" | "numel")):
                return bool(node.args) or last_name(node.func) == "numel"
            case ast.BinOp(left=left, right=right):
                return self._counts(facts, left, depth) and self._counts(facts, right, depth)
            case ast.Name():
                values = self.project.reaching(facts, node).values
                if depth < _DEEPEST and values:
                    return all(self._counts(facts, each, depth + 1) for each in values)
            case ast.Attribute():
                pass
            case _:
                return False
        found = self.value(facts, node)
        return found is not None and found.kind is Kind.NUMBER

    def _is_moved(self, facts: FileFacts) -> bool:
        """Whether a connected file may say where new tensors lie."""
        group = self.project.groups[facts.path]
        if group not in self._moved:
            texts = [self.project.files[path].source.utf8 for path in group if path in self.project.files]
            self._moved[group] = any(word in text for text in texts for word in _DEFAULTS)
        return self._moved[group]

    def device_of(self, facts: FileFacts, node: ast.expr, depth: int = 0) -> ast.expr | None:
        """Return the expression of the device on which code makes a tensor, or to which it moves one."""
        stem = stem_of(node)
        if isinstance(stem, ast.Name) and depth < _DEEPEST:
            value = self.project.reaching(facts, stem).value
            return self.device_of(facts, value, depth + 1) if value is not None else None
        if not isinstance(stem, ast.Call):
            return None
        given = keyword(stem, "device")
        moved = isinstance(stem.func, ast.Attribute) and stem.func.attr in _MOVES and stem.args
        found = self.value(facts, stem)
        return given or (stem.args[0] if moved else None) if found is not None and found.kind is Kind.TENSOR else None


def stem_of(node: ast.expr) -> ast.expr:
    """Return the tensor of which an expression is a part or a view, or what it is computed from alone."""
    while True:
        match node:
            case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner):
                node = inner
            case ast.Attribute(value=inner, attr=name) if name in _PARTS:
                node = inner
            case _:
                inner = receiver_of(node, chain_of_methods())
                if inner is node:
                    return node
                node = inner


def chain_of_methods() -> frozenset[str]:
    """Return the methods of tensors whose result lies where the tensor does."""
    return frozenset(chain(rules("operations"), table()["tensor_methods"]["cast"]))


def _read_out(call: ast.Call) -> ast.expr | None:
    """The tensor whose memory a call of ``numpy()`` shares, which raises for one of an accelerator."""
    match call:
        case ast.Call(func=ast.Attribute(value=held, attr="numpy"), args=[], keywords=[]):
            return held
    return None


def is_read_out(facts: FileFacts, node: ast.expr) -> bool:
    """Return whether an array shares the memory of a tensor: ``x`` of ``x.numpy()``."""
    method = facts.parent.get(node)
    call = facts.parent.get(method) if isinstance(method, ast.Attribute) else None
    return isinstance(call, ast.Call) and _read_out(call) is node


def _is_move(binding: Binding) -> bool:
    """Whether a name is bound to something moved: ``if x.is_cuda: x = x.cpu()``."""
    value = binding.value
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVES


def _is_index(facts: FileFacts, node: ast.expr) -> bool:
    """Whether an expression is an index, or one of several; of one without a dimension its number is read."""
    above = facts.parent.get(node)
    whole, index = (facts.parent.get(above), above) if isinstance(above, ast.Tuple) else (above, node)
    return isinstance(whole, ast.Subscript) and whole.slice is index


def _binds(function: Scope, node: ast.expr) -> tuple[str, Binding | None]:
    """The name that gets the value of an expression, and its binding."""
    stmt = function.file.parent.get(node)
    match stmt:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is node:
            found = (each for each in function.bindings.get(name, ()) if each.stmt is stmt)
            return name, next((each for each in found if each.how is Bind.ASSIGN), None)
    return "", None


def _is_chosen(facts: FileFacts, node: ast.expr) -> bool:
    """Whether a test for a device or a type, or an operation that failed, decides whether a tensor is met."""
    conditions = (test for test, _ in (*arms(facts, node), *left_before(facts, node)))
    tested = any(_chooses(part) for test in conditions for part in walk(test))
    return tested or any(isinstance(above, ast.Try) for _, above in facts.climb(node, *OUTSIDE))


def _chooses(node: ast.AST) -> bool:
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else last_name(node)
    return bool(_CHOOSING.search(text.lower()))

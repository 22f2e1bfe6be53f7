"""What the branch around a name says of its type: ``if isinstance(x, int): ...``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchlint.facts.code.jumps import leaves
from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.code.nesting import OUTSIDE
from torchlint.facts.code.project import Project
from torchlint.facts.code.reach import MOST_BINDINGS
from torchlint.facts.code.tree import conjuncts
from torchlint.facts.values.join import FLOAT, INT, NUMBER, STRING, TENSOR
from torchlint.rule import UNKNOWN, Kind, Value

if TYPE_CHECKING:
    from torchlint.facts.values.asking import Ask

_OTHERS = frozenset(
    {Kind.UNKNOWN, Kind.NDARRAY, Kind.TENSOR, Kind.LIST, Kind.TUPLE, Kind.DICT, Kind.NUMBER, Kind.STRING}
)
_TYPES = {
    "builtins.int": INT,
    "builtins.float": FLOAT,
    "builtins.bool": NUMBER,
    "builtins.str": STRING,
    "builtins.list": Value(Kind.LIST),
    "builtins.tuple": Value(Kind.TUPLE),
    "builtins.dict": Value(Kind.DICT),
    "numpy.ndarray": Value(Kind.NDARRAY),
    "torch.Tensor": TENSOR,
}
"""What a value of a type is."""
_TESTED = frozenset(value.kind for value in _TYPES.values())
_TENSORS = frozenset({"torch.Tensor", "torch.autograd.Variable", "torch.autograd.variable.Variable"})
_SEQUENCES = frozenset({"builtins.list", "builtins.tuple"})
_ASKING = frozenset({"isinstance", "is_tensor"})


def within_test(project: Project, facts: FileFacts, node: ast.Name, value: Value) -> Value:
    """Return the value of a name where it is read, given what its bindings make it.

    In a branch for numbers, texts or arrays a name is one, even where all that the project is known to bind it to is
    not: what comes there is from callers that are not known. In a branch for tensors a name of unknown kind is a
    tensor, in one for lists, or for lists and tuples, a list.
    """
    if value.kind not in _OTHERS:
        return value
    for test, truth in arms(facts, node):
        found = said(project, facts, test, node) if truth else None
        if found is not None and found.kind is not value.kind:
            return found
        if truth and not value.known and _asks_for_tensor(project, facts, test, node, alone=True):
            return TENSOR
        if truth and not value.known and _asks_for_sequence(project, facts, test, node):
            return _TYPES["builtins.list"]
    return value


def is_no_tensor(project: Project, facts: FileFacts, node: ast.Name) -> bool:
    """Return whether a test before a read proves that a name is not a tensor: ``if is_tensor(x): return ...``."""
    conditions = (*arms(facts, node), *left_before(facts, node))
    return any(not truth and _asks_for_tensor(project, facts, test, node) for test, truth in conditions)


def is_tensor(project: Project, facts: FileFacts, node: ast.Name) -> bool:
    """Return whether a name is read in a branch for tensors: ``if isinstance(x, torch.Tensor): x = x.item()``."""
    return any(truth and _asks_for_tensor(project, facts, test, node) for test, truth in arms(facts, node))


def never_comes(project: Project, facts: FileFacts, node: ast.Name, kind: Kind) -> bool:
    """Return whether a value of a kind does not come to a read of a name, in a branch for other types.

    Numbers of Python are no object of a class of the project.
    """
    for test, truth in arms(facts, node):
        asked = _asked(project, facts, test)
        if asked is None or asked.name.id != node.id or not asked.types:
            continue
        known = [_TYPES[each].kind if each in _TYPES else None for each in asked.types]
        others = all(each in _TYPES or (kind is Kind.NUMBER and each in project.classes) for each in asked.types)
        if others and truth is not asked.negated and kind not in known:
            return True
    return False


def possible(
    project: Project,
    facts: FileFacts,
    node: ast.Name,
    bindings: Sequence[Binding],
    value_of: Callable[[Binding], Value | None],
) -> Sequence[Binding]:
    """Return the bindings that a read may see, without those whose values no test of the type lets pass on the way.

    ``if not isinstance(x, list): x = [x]`` binds the name again for all that is no list: behind it an older binding
    that makes an array does not count. A test that asks for a type of no known kind says nothing.
    """
    out: set[Binding] = set()
    for binding in bindings if 1 < len(bindings) <= MOST_BINDINGS else ():
        around = facts.parent.get(binding.stmt) if binding.how is Bind.ASSIGN else None
        if not isinstance(around, ast.If) or not comes_by(facts, around, node):
            continue
        for test, truth in conjuncts(around.test, binding.stmt in around.body):
            asked = _kinds_asked(project, facts, test, node.id)
            if asked is not None and not _needs_more(around.test, test):
                older = (each for each in bindings if is_before(each, around))
                out.update(each for each in older if not _may_pass(value_of(each), asked[0], truth is asked[1]))
    return [binding for binding in bindings if binding not in out] if out else bindings


def is_never_chosen(ask: Ask, facts: FileFacts, node: ast.expr, value: Value | None) -> bool:
    """Return whether ``x if isinstance(x, list) else [x]`` never gives ``x``, as its kind does not pass the test.

    Also ``"cuda"`` of ``"cuda" if gpu else "cpu"`` where the flag is always false.
    """
    choice = facts.parent.get(node)
    if not isinstance(choice, ast.IfExp):
        return False
    tests = conjuncts(choice.test, choice.body is node)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and any(truth and ask.is_off(facts, test) for test, truth in tests)
    for test, truth in tests if isinstance(node, ast.Name) else ():
        assert isinstance(node, ast.Name)
        asked = _kinds_asked(ask.project, facts, test, node.id)
        if asked is not None and not _may_pass(value, asked[0], truth is not asked[1]):
            return True
    return False


def behind_flags(node: ast.expr, known: Callable[[ast.expr], Value]) -> Value:
    """Return the truth of a tensor that ``and`` gives where all before it holds, else unknown."""
    truth = known(node.values[-1]) if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) else UNKNOWN
    return truth if truth.kind is Kind.TENSOR and truth.dtype == "bool" else UNKNOWN


def comes_by(facts: FileFacts, stmt: ast.stmt, node: ast.AST) -> bool:
    """Return whether all that comes to a node has come by a statement: it stands before, in a block around the node."""
    where, at = facts.places[stmt]
    return any(block is where and place > at for block, place in facts.blocks(node))


def _needs_more(whole: ast.expr, part: ast.expr) -> bool:
    """Whether a condition may fail although a part of it has the value that it needs."""
    while isinstance(whole, ast.UnaryOp) and isinstance(whole.op, ast.Not):
        whole = whole.operand
    return whole is not part


def is_before(binding: Binding, stmt: ast.stmt) -> bool:
    """Return whether a binding stands before a statement, or is that of a parameter."""
    return binding.how is Bind.PARAM or getattr(binding.stmt, "lineno", stmt.lineno) < stmt.lineno


def _may_pass(value: Value | None, kinds: frozenset[Kind], truth: bool) -> bool:
    """Whether a value may pass a test for kinds that gives ``truth``."""
    return value is None or value.kind not in _TESTED or (value.kind in kinds) is truth


class _TypeTest(NamedTuple):
    """A test of the type of a name: the types by qualified name, and whether it asks for any other type."""

    name: ast.Name
    types: Sequence[str]
    negated: bool


def _asked(project: Project, facts: FileFacts, test: ast.expr) -> _TypeTest | None:
    """What a test asks of the type of a name: ``isinstance(x, (int, str))``, ``type(x) is not list``."""
    match test:
        case ast.Call(func=func, args=[ast.Name() as read, named], keywords=[]):
            wanted, negated = "builtins.isinstance", False
        case ast.Compare(
            left=ast.Call(func=func, args=[ast.Name() as read], keywords=[]),
            ops=[ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq() as op],
            comparators=[named],
        ):
            wanted, negated = "builtins.type", isinstance(op, (ast.IsNot, ast.NotEq))
        case _:
            return None
    if project.qualified(facts, func) != wanted:
        return None
    return _TypeTest(read, [project.qualified(facts, each) or "" for each in _each(named)], negated)


def _kinds_asked(project: Project, facts: FileFacts, test: ast.expr, name: str) -> tuple[frozenset[Kind], bool] | None:
    """The kinds that a test of a name asks for, and whether it asks for others than these.

    ``None`` for another test, or where one of its types is of no known kind. Truth values are numbers of Python, which
    no test for them tells from the others.
    """
    asked = _asked(project, facts, test)
    if asked is None or asked.name.id != name or not asked.types:
        return None
    if any(each not in _TYPES or each == "builtins.bool" for each in asked.types):
        return None
    return frozenset(_TYPES[each].kind for each in asked.types), asked.negated


def names_asked(function: Scope) -> frozenset[str]:
    """Return the names of a function of which a call may ask whether they are tensors."""
    asking = (call for call in function.calls if getattr(call.func, "id", getattr(call.func, "attr", "")) in _ASKING)
    firsts = (call.args[0] for call in asking if call.args)
    return frozenset(first.id for first in firsts if isinstance(first, ast.Name))


def arms(facts: FileFacts, node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the conditions around a node in its function, with their truth values there."""
    for child, parent in facts.climb(node, *OUTSIDE):
        if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test:
            body = parent.body if isinstance(parent.body, list) else [parent.body]
            yield from conjuncts(parent.test, child in body)


def left_before(facts: FileFacts, node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the conditions under which statements before a node leave the function or the loop: false behind them."""
    for _, around in facts.climb(node, *OUTSIDE):
        yield from _left(facts, around)


def _left(facts: FileFacts, child: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """The conditions under which earlier statements of a block leave it: they are false behind them."""
    block, place = facts.places.get(child, ((), 0)) if isinstance(child, ast.stmt) else ((), 0)
    for stmt in block[:place]:
        if isinstance(stmt, ast.If) and leaves(stmt.body):
            yield from conjuncts(stmt.test, truth=False)


def _asks_for_tensor(
    project: Project, facts: FileFacts, test: ast.expr, node: ast.Name, *, alone: bool = False
) -> bool:
    """Whether a test asks whether a name is a tensor (``alone``: and nothing else), bound as where it is read."""
    match test:
        case ast.Call(func=asked, args=[ast.Name(id=node.id) as name, *types], keywords=[]):
            function = project.qualified(facts, asked)
            of_type = [project.qualified(facts, each) for kind in types for each in _each(kind)]
            tensors = function == "builtins.isinstance" and (all if alone else any)(
                each in _TENSORS for each in of_type
            )
            return (tensors or function == "torch.is_tensor") and is_same(project, facts, name, node)
    return False


def _asks_for_sequence(project: Project, facts: FileFacts, test: ast.expr, node: ast.Name) -> bool:
    """Whether a test asks whether a name is a list, or one or a tuple, bound as where it is read."""
    asked = _asked(project, facts, test)
    if asked is None or asked.negated or asked.name.id != node.id or "builtins.list" not in asked.types:
        return False
    return _SEQUENCES.issuperset(asked.types) and is_same(project, facts, asked.name, node)


def _each(kind: ast.expr) -> list[ast.expr]:
    return kind.elts if isinstance(kind, ast.Tuple) else [kind]


def is_same(project: Project, facts: FileFacts, one: ast.Name, other: ast.Name) -> bool:
    """Return whether two readings of a name have the same bindings."""
    return set(project.reaching(facts, one).bindings) == set(project.reaching(facts, other).bindings)


def said(project: Project, facts: FileFacts, test: ast.expr, node: ast.Name) -> Value | None:
    """Return the number, text or array that a test says a name is, as long as nothing binds the name between.

    ``None`` for another test.
    """
    asked = _asked(project, facts, test)
    if asked is None or asked.negated or asked.name.id != node.id or len(asked.types) != 1:
        return None
    found = _TYPES.get(asked.types[0])
    plain = found is not None and found.kind in (Kind.NUMBER, Kind.STRING, Kind.NDARRAY)
    return found if plain and is_same(project, facts, asked.name, node) else None

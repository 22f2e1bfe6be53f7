"""Dicts that a loop over their keys gives new values: ``for key in batch: batch[key] = torch.tensor(batch[key])``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.nesting import nodes_of
from torchlint.facts.values.asking import Ask
from torchlint.facts.values.join import dict_of, join
from torchlint.rule import UNKNOWN, Value

_LEAVING = (ast.Break, ast.Continue, ast.Return)
_COPYING = frozenset({"list", "tuple", "sorted"})


def rewritten(ask: Ask, facts: FileFacts, node: ast.Name, value: Value | None) -> Value | None:
    """Return the dict that a name holds behind a loop that gives each of its keys a new value; else ``value``.

    It is a suggestion only, because a function that is called in between may put something else into it.
    """
    function = facts.scope_of(node).function
    if value is None or (function, node.id) not in _names(ask, facts):
        return value
    added = function.appends.get(node.id, ())
    loop = next(_loops_before(facts, node), None)
    if loop is None or ask.project.bound_to(facts, node) != ask.project.bound_to(facts, loop.over):
        return value
    inside = set(nodes_of(loop.stmt.body))
    put = [each for _, each in added if each in inside]
    if any(each.lineno > loop.stmt.lineno for _, each in added if each not in inside):
        return value
    element = join(ask.value(facts, each) for each in put)
    if element is None:
        return None
    return ask.rather(dict_of(element), value) if element != UNKNOWN else value


def _names(ask: Ask, facts: FileFacts) -> frozenset[tuple[Scope, str]]:
    """The names of dicts that a file has such loops over, each with the function of the loop."""
    found = ask.rewriting.get(facts)
    if found is None:
        loops = ((stmt, _over_keys(stmt)) for stmt in facts.nodes(ast.For))
        held = ((facts.scope_of(stmt).function, loop.over.id) for stmt, loop in loops if loop is not None)
        found = ask.rewriting[facts] = frozenset(held)
    return found


class _Rewriting:
    """A loop over the keys of a dict, with the name of the dict."""

    def __init__(self, stmt: ast.For, over: ast.Name, key: str) -> None:
        self.stmt = stmt
        self.over = over
        self.key = key

    def is_whole(self, block: list[ast.stmt]) -> bool:
        """Return whether each way through a block gives the key a new value."""
        for stmt in block:
            match stmt:
                case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=ast.Name(id=key))]):
                    if name == self.over.id and key == self.key:
                        return True
                case ast.If() if self.is_whole(stmt.body) and self.is_whole(stmt.orelse):
                    return True
        return False


def _loops_before(facts: FileFacts, node: ast.Name) -> Iterator[_Rewriting]:
    """Loops over the keys of what a name holds that ran before it is read, the last one first."""
    for block, place in facts.blocks(node):
        for stmt in reversed(block[:place]):
            loop = _over_keys(stmt) if isinstance(stmt, ast.For) else None
            if loop is not None and loop.over.id == node.id and loop.is_whole(loop.stmt.body):
                if not any(isinstance(part, _LEAVING) for part in nodes_of(loop.stmt.body)):
                    yield loop


def _over_keys(loop: ast.For) -> _Rewriting | None:
    """The dict of ``for key in d``, ``for key in list(d.keys())`` and ``for key, value in d.items()``."""
    over = loop.iter
    match over:
        case ast.Call(func=ast.Name(id=copying), args=[inner], keywords=[]) if copying in _COPYING:
            over = inner
    target = loop.target
    match over:
        case ast.Call(func=ast.Attribute(value=inner, attr="keys")):
            over = inner
        case ast.Call(func=ast.Attribute(value=inner, attr="items")) if isinstance(target, ast.Tuple):
            over, target = inner, target.elts[0]
    return _Rewriting(loop, over, target.id) if isinstance(over, ast.Name) and isinstance(target, ast.Name) else None

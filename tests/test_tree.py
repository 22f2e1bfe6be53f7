"""The fast walk over syntax trees gives what ``ast.walk`` gives, but for tokens."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchlint.facts.code.tree import children, walk

pytestmark = pytest.mark.versions

ROOT = Path(__file__).resolve().parent.parent
SYNTAX = """
global a, b
import os as o, sys
def f(x: int = 1, *args, y, z=2, **kw) -> None:
    nonlocal q
    match x:
        case {"k": 1, **rest} | C(1, k=2) as whole: pass
        case [1, *tail] | None: pass
    with a as b, c: yield from d
    return {**m, "k": 1}, [*l], f"{x!r:>{w}}", lambda u, v=1: u if v else -u, not a, a < b <= c
class D(B, metaclass=M):
    p: int
    q: int = 1
async def g():
    async for i in x: await i
    return [i async for i in x if i]
try: pass
except (A, B) as e: raise e from None
finally: del a[1:2:3], b.c
"""


def modules() -> Iterator[Path]:
    """Some of torchlint's own files, and one of every construct."""
    yield from sorted((ROOT / "torchlint" / "facts").rglob("*.py"))
    yield from sorted((ROOT / "tests" / "fixtures").rglob("*.py"))[::40]


def check(tree: ast.AST) -> None:
    """Compare both walks."""
    tokens = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
    assert list(walk(tree)) == [node for node in ast.walk(tree) if not isinstance(node, tokens)]
    for node in walk(tree):
        assert children(node) == [part for part in ast.iter_child_nodes(node) if not isinstance(part, tokens)]


def test_every_construct() -> None:
    check(ast.parse(SYNTAX))


@pytest.mark.parametrize("path", list(modules()), ids=lambda path: path.name)
def test_files(path: Path) -> None:
    check(ast.parse(path.read_bytes()))

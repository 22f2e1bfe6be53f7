"""What the tests of pairing share: files to read, and an oracle for twins."""

from __future__ import annotations

import ast
import random
import sysconfig
import warnings
from pathlib import Path

import libcst as cst

from torchlint.engine.pair import Pairs
from torchlint.sources.text import Source

_AROUND = {
    ast.Starred: ("[", "\n]"),
    ast.Slice: ("_[", "\n]"),
    ast.keyword: ("_(", "\n)"),
}


def source_of(text: str, name: str = "file.py") -> Source:
    return Source(Path(name), name, text, text.encode("utf-8"))


def read_source(path: Path) -> tuple[Source, ast.Module] | None:
    """A file and its tree; ``None`` for files that are no Python or not UTF-8 (some exist to test parsers)."""
    try:
        source = source_of(path.read_bytes().decode("utf-8-sig"), path.as_posix())
        return source, parse(source.text)
    except (SyntaxError, ValueError):
        return None


def parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def stdlib_files(count: int) -> list[Path]:
    """Files of the standard library of moderate size, the same ones each time."""
    root = Path(sysconfig.get_path("stdlib"))
    files = sorted(
        path
        for path in root.rglob("*.py")
        if not {"site-packages", "dist-packages", "lib2to3", "pydoc_data"}.intersection(path.parts)
        and 500 < path.stat().st_size < 25_000
    )
    random.Random(7).shuffle(files)
    return files[:count]


def unpaired(pairs: Pairs, tree: ast.AST) -> list[str]:
    """The expressions that have no LibCST node though LibCST has one for them."""
    exempt = _without_node(tree)
    return [
        f"{ast.unparse(node)} at {node.lineno}:{node.col_offset}"
        for node in ast.walk(tree)
        if isinstance(node, ast.expr) and id(node) not in exempt and pairs.cst_of(node) is None
    ]


def _without_node(tree: ast.AST) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            found.add(id(node.slice))
        elif isinstance(node, ast.JoinedStr):
            found.update(id(value) for value in node.values if isinstance(value, ast.Constant | ast.JoinedStr))
        elif isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            found.add(id(node.format_spec))
        elif isinstance(getattr(node, "default_value", None), ast.Starred):
            found.add(id(node.default_value))
        elif isinstance(node, ast.pattern):
            found.update(map(id, ast.walk(node)))
    return found


def wrong_twins(pairs: Pairs, tree: ast.AST) -> list[str]:
    """Pairs whose LibCST node, parsed from its own code, is not the ``ast`` node it was paired with."""
    module = pairs.root if isinstance(pairs.root, cst.Module) else cst.Module(body=())
    wrong = []
    for node, twin in pairs:
        if not isinstance(twin, ast.expr | ast.keyword) or isinstance(twin, ast.FormattedValue):
            continue
        code = module.code_for_node(_bare(node))
        before, after = _AROUND.get(type(twin), ("(", "\n)"))
        parsed = _inner(ast.parse(f"{before}{code}{after}", mode="eval").body, twin)
        if dump(parsed) != dump(twin):
            wrong.append(f"{code} is not {ast.unparse(twin)}")
    return wrong


def _bare(node: cst.CSTNode) -> cst.CSTNode:
    if isinstance(node, cst.Arg | cst.StarredElement):
        return node.with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return node


def _inner(parsed: ast.expr, twin: ast.AST) -> ast.AST:
    if isinstance(twin, ast.Starred) and isinstance(parsed, ast.List):
        return parsed.elts[0]
    if isinstance(twin, ast.Slice) and isinstance(parsed, ast.Subscript):
        return parsed.slice
    if isinstance(twin, ast.keyword) and isinstance(parsed, ast.Call):
        return parsed.keywords[0]
    return parsed


def dump(node: ast.AST) -> str:
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()").replace("ctx=Del()", "ctx=Load()")

"""What must hold of every program. None of it is checked with the code that torchlint checks itself with."""

from __future__ import annotations

import ast
import builtins
import io
import re
import tokenize
import warnings
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from torchlint.engine.result import FixedFile, Result
from torchlint.engine.run import check
from torchlint.settings.model import Settings
from torchlint.sources.decode import UndecodableError, decode

_ROOT = Path("/nowhere")
NAME = "program.py"
_WORD = "torch"
"""A file that nowhere mentions it is not even parsed."""
_HEADER = re.compile(rb"\s*(with \w+\.(no_grad|inference_mode)\(\)|if _DEBUG_CHECKS):")
"""How a block begins that becomes one with the block above it where both have the same header."""
_SETTINGS = Settings(root=_ROOT, isolated=True, fix=True, no_context=True)


def complaints(text: str, unsafe: bool) -> list[str]:
    """What is wrong with how a program is linted and fixed; empty when nothing is."""
    result = linted(text, unsafe)
    wrong = [problem.message for problem in result.problems]
    broken = tree_of(text) is None and _WORD in text
    if broken != ([finding.code for finding in result.findings] == ["TL000"]):
        wrong.append("Python reads it, torchlint does not" if not broken else "torchlint reads what Python does not")
    fixed = result.fixed.get(NAME)
    return wrong if fixed is None else [*wrong, *wrong_with(text, fixed, unsafe)]


def linted(text: str, unsafe: bool, **settings: Any) -> Result:
    """What the engine makes of a program, all of it in memory; ``settings`` are fields of ``Settings``."""
    asked = replace(_SETTINGS, unsafe_fixes=unsafe, **settings)
    try:
        return check([], asked, decode(text.encode(), _ROOT / NAME, NAME))
    except UndecodableError as error:
        raise AssertionError(f"a text of characters cannot be read: {error}") from error


def wrong_with(text: str, fixed: FixedFile, unsafe: bool) -> list[str]:
    """What is wrong with a fixed program."""
    after = fixed.after.text
    before_tree, after_tree = tree_of(text), tree_of(after)
    if before_tree is None or after_tree is None:
        return ["the fixed program does not parse"]
    wrong = []
    lost = comments(text) - comments(after)
    if lost:
        wrong.append(f"comments lost: {sorted(lost)}")
    undefined = loose_names(after_tree) - loose_names(before_tree)
    if undefined:
        wrong.append(f"new undefined names: {sorted(undefined)}")
    if not _is_edited(text, fixed):
        wrong.append("more than the edits changed")
    again = linted(after, unsafe)
    if again.fixed:
        wrong.append("a second run changes it again")
    return [*wrong, *(f"second run: {problem.message}" for problem in again.problems)]


def tree_of(text: str) -> ast.Module | None:
    """The program, ``None`` when it is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def comments(text: str) -> Counter[str]:
    """The comments of a program and how often each stands there."""
    rows = io.StringIO(text, newline=None)
    tokens = tokenize.generate_tokens(rows.readline)
    return Counter(token.string.rstrip() for token in tokens if token.type == tokenize.COMMENT)


def loose_names(tree: ast.Module) -> frozenset[str]:
    """Names that are read somewhere and bound nowhere in the file."""
    bound, read = set(dir(builtins)) | {"__file__"}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add(node.asname or node.name.partition(".")[0])
        elif (isinstance(node, ast.ExceptHandler) and node.name) or (
            isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name
        ):
            bound.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            bound.add(node.rest)
    return frozenset(read - bound)


def _is_edited(text: str, fixed: FixedFile) -> bool:
    """Whether the fixed text is the old one with the edits of the fixes made, less some imports.

    Told of files that one round settled: edits of a later round point into a text that no one has any more.
    """
    raw = text.encode()
    edits = sorted({edit for finding in fixed.applied if finding.fix for edit in finding.fix.edits})
    if any(one.end > other.start for one, other in pairwise(edits)) or any(edit.end > len(raw) for edit in edits):
        return True
    if [finding.order for finding in fixed.applied] != sorted(finding.order for finding in fixed.applied):
        return True
    pieces, done = [], 0
    for edit in edits:
        pieces += [raw[done : edit.start], edit.text.encode()]
        done = edit.end
    expected = b"".join(map(_plain, [*pieces, raw[done:]])).split(b"\n")
    found = _plain(fixed.after.utf8).split(b"\n")
    kept = [[row for row in rows if b"import" not in row] for rows in (expected, found)]
    return kept[0] == kept[1] or _is_joined(*kept) or _many_rounds(fixed)


def _is_joined(expected: list[bytes], found: list[bytes]) -> bool:
    """Whether rows differ by headers of blocks alone, which became one with the block above."""
    headers = [[row.strip() for row in rows if _HEADER.match(row)] for rows in (expected, found)]
    rest = [
        [row.lstrip() if row.lstrip().startswith(b"#") else row for row in map(_without_header, rows) if row.strip()]
        for rows in (expected, found)
    ]
    return rest[0] == rest[1] and not Counter(headers[1]) - Counter(headers[0])


def _without_header(row: bytes) -> bytes:
    """A row, of the header of a guarded block only its comment."""
    return row if _HEADER.match(row) is None else b"".join(row.partition(b"#")[1:])


def _many_rounds(fixed: FixedFile) -> bool:
    """Whether some finding mentions a text that an earlier round made."""
    before = fixed.before
    at_first = check([], replace(_SETTINGS, fix=False, unsafe_fixes=True), before).findings
    known = {(finding.order, finding.fix) for finding in at_first}
    return any((finding.order, finding.fix) not in known for finding in fixed.applied)


def _plain(raw: bytes) -> bytes:
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

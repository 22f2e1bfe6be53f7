"""Where lines that a fix needs go: imports with the imports, definitions after them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence

from torchlint.facts.model import FileFacts
from torchlint.rule import Edit
from torchlint.sources.lines import LineTable


def inserted_lines(
    facts: FileFacts, table: LineTable, imports: Sequence[str], definitions: Sequence[str]
) -> list[Edit]:
    """Edits that add what the module lacks of these imports (``numpy as np``) and definitions.

    Imports go where a sorted list has them: the standard library first, a blank line, then the rest. Definitions go
    after the last import at the top.
    """
    edits: list[Edit] = []
    top = facts.tree.body
    lead = _lead(top)
    last = lead
    for index in range(lead, len(top)):
        if isinstance(top[index], (ast.Import, ast.ImportFrom)):
            last = index + 1
        elif not _between_imports(top[index]):
            break
    edits.extend(_import_edit(facts, table, lead, last, text) for text in imports if not _imported(facts, text))
    new = [text for text in definitions if not _defined(facts, text)]
    if new:
        text = "".join(f"{line}\n" for line in new)
        at = _end(facts, table, top, last)
        edits.append(Edit(at, at, f"\n{text}" if last > lead else f"{text}\n"))
    return _merged(facts, edits)


def _merged(facts: FileFacts, edits: Sequence[Edit]) -> list[Edit]:
    """Insertions with those at the same place made one; a last row without a newline gets one."""
    texts: dict[int, str] = {}
    for edit in edits:
        texts[edit.start] = texts.get(edit.start, "") + edit.text
    before = {at: facts.source.utf8[:at] for at in texts}
    open_rows = {at for at, text in before.items() if text and not text.endswith((b"\n", b"\r"))}
    return [Edit(at, at, f"\n{text}" if at in open_rows else text) for at, text in texts.items()]


def _import_edit(facts: FileFacts, table: LineTable, lead: int, last: int, text: str) -> Edit:
    """The edit that adds ``import text`` to the imports among the statements from ``lead`` to ``last``."""
    top = facts.tree.body
    standard = _is_standard(text)
    line = f"import {text}\n"
    found = [i for i in range(lead, last) if isinstance(top[i], (ast.Import, ast.ImportFrom))]
    alike = [i for i in found if _is_standard(_first_module(top[i])) == standard]
    before = [i for i in alike if isinstance(top[i], ast.Import) and _first_module(top[i]) < text]
    if before:
        at = _end(facts, table, top, before[-1] + 1)
    elif alike or standard or not found:
        at = _start(facts, table, top, (alike or found or [lead])[0])
        line = line if alike else f"{line}\n"
    else:
        at = _end(facts, table, top, last)
        line = f"\n{line}"
    return Edit(at, at, line)


def _first_module(stmt: ast.stmt) -> str:
    """The module that an import statement names first; empty for ``from . import``."""
    if isinstance(stmt, ast.Import):
        return stmt.names[0].name
    return (stmt.module or "") if isinstance(stmt, ast.ImportFrom) and not stmt.level else ""


def _is_standard(text: str) -> bool:
    """Whether a module, perhaps with its alias, is of the standard library."""
    return text.partition(" ")[0].partition(".")[0] in sys.stdlib_module_names


def _lead(top: Sequence[ast.stmt]) -> int:
    """How many statements must stay first: the docstring and ``from __future__`` imports."""
    count = 0
    for stmt in top:
        docstring = count == 0 and isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)
        future = isinstance(stmt, ast.ImportFrom) and stmt.module == "__future__"
        if not (docstring or future):
            break
        count += 1
    return count


def _between_imports(stmt: ast.stmt) -> bool:
    """Statements that people put among their imports, such as ``sys.path.append(...)`` or guarded imports."""
    if isinstance(stmt, (ast.If, ast.Try)):
        return all(isinstance(part, (ast.Import, ast.ImportFrom, ast.Pass, ast.Assign)) for part in stmt.body)
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call)


def _imported(facts: FileFacts, text: str) -> bool:
    module, _, alias = text.partition(" as ")
    name = alias or module
    return any(binding.target == module for binding in facts.top.bindings.get(name, ()))


def _defined(facts: FileFacts, text: str) -> bool:
    return text.partition("=")[0].strip() in facts.top.bindings


def _start(facts: FileFacts, table: LineTable, top: Sequence[ast.stmt], index: int) -> int:
    """Start of the row where a statement begins, or the end of what comes before it."""
    if index < len(top):
        stmt = top[index]
        row = min([stmt.lineno, *(d.lineno for d in getattr(stmt, "decorator_list", []))])
        if index == 0 or (top[index - 1].end_lineno or 0) < row:
            return table.offset(row, 0)
    return _end(facts, table, top, index)


def _end(facts: FileFacts, table: LineTable, top: Sequence[ast.stmt], index: int) -> int:
    """Start of the row after the statements before ``index``."""
    if index == 0:
        return _start(facts, table, top, 0) if top else 0
    row = (top[index - 1].end_lineno or 1) + 1
    return table.offset(row, 0) if row <= table.rows else len(facts.source.utf8)

"""Where lines that a fix needs go: imports, definitions after them, setup in ``__init__``, decorators, a ``with``."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Sequence

from torchlint.engine.dropping import dropped
from torchlint.engine.place import place_of
from torchlint.engine.rows import SourceRows
from torchlint.engine.wrapping import wrapped
from torchlint.facts.autograd.members import own_init
from torchlint.facts.code.model import FileFacts
from torchlint.rule import Edit, Fix, InFile
from torchlint.sources.lines import LineTable


def with_lines(facts: FileFacts, table: LineTable, node: ast.AST, fix: Fix, edits: Sequence[Edit]) -> list[Edit] | None:
    """Return the edits of a fix at a node with those that add all the lines it needs.

    ``edits`` are what it replaces. ``None`` where something has no place: the class has no ``__init__`` of its own that
    runs to its end, the node is in no function, or its statement cannot be indented.
    """
    place = place_of(node)
    lines = _module_lines(facts, table, fix.imports, fix.definitions)
    setup = _setup_lines(facts, table, place, fix.setup) if fix.setup else []
    decorators = _decorator_lines(facts, table, place, fix.decorators) if fix.decorators else []
    body = _body(facts, table, node, fix, edits)
    beside = _beside_lines(facts, table, fix)
    if setup is None or decorators is None or body is None or beside is None:
        return None
    return _merged(facts, [*lines, *setup, *decorators, *beside, *body])


def lines_in(facts: FileFacts, table: LineTable, part: InFile, edits: Sequence[Edit]) -> list[Edit] | None:
    """Return the edits of a fix in another file than that of its site, with those that add lines; as ``with_lines``."""
    beside = _beside_lines(facts, table, part)
    if beside is None:
        return None
    return _merged(facts, [*_module_lines(facts, table, part.imports, ()), *beside, *edits])


def _body(facts: FileFacts, table: LineTable, node: ast.AST, fix: Fix, edits: Sequence[Edit]) -> Sequence[Edit] | None:
    """The edits of the statement itself."""
    if fix.within:
        return wrapped(facts, table, node, f"with {fix.within}", edits)
    if fix.under:
        return wrapped(facts, table, node, f"if {fix.under}", ()) or edits
    if fix.drops:
        return dropped(facts, table, node) or edits
    return edits


def _beside_lines(facts: FileFacts, table: LineTable, fix: Fix | InFile) -> list[Edit] | None:
    """The edits that add rows before and after statements; ``None`` where one shares a row with something else."""
    rows = SourceRows(facts.source.utf8, table)
    edits: list[Edit] = []
    for stmt, text, ahead in (*((*pair, True) for pair in fix.ahead), *((*pair, False) for pair in fix.behind)):
        indent = rows.indent(stmt)
        if indent is None or not (ahead or rows.ends(stmt)):
            return None
        first = min([stmt.lineno, *(decorator.lineno for decorator in getattr(stmt, "decorator_list", []))])
        at = table.offset(first, 0) if ahead else rows.after(stmt.end_lineno or stmt.lineno)
        edits.append(Edit(at, at, "".join(f"{indent}{line}\n" for line in text.splitlines())))
    return edits


def _module_lines(facts: FileFacts, table: LineTable, imports: Sequence[str], definitions: Sequence[str]) -> list[Edit]:
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
        at = _end(facts, table, top, last)
        edits.append(Edit(at, at, _set_apart(facts, at, new, below=last > lead)))
    return edits


def _set_apart(facts: FileFacts, at: int, definitions: Sequence[str], *, below: bool) -> str:
    """Definitions with the blank rows between them and what stands around: two around a function."""
    functions = any(text.startswith("def ") for text in definitions)
    text = ("\n\n" if functions else "").join(text.rstrip("\n") + "\n" for text in definitions)
    if not functions:
        return f"\n{text}" if below else f"{text}\n"
    rest = facts.source.utf8[at:].replace(b"\r\n", b"\n")
    blank = len(rest) - len(rest.lstrip(b"\n"))
    return ("\n\n" if below else "") + text + "\n" * max(2 - blank, 0)


def _setup_lines(facts: FileFacts, table: LineTable, node: ast.AST, setup: Sequence[str]) -> list[Edit] | None:
    """The edit that adds statements at the end of the ``__init__`` of the class whose method holds a node.

    Statements that stand there already are left out.
    """
    init = own_init(facts, node)
    if init is None:
        return None
    rows = SourceRows(facts.source.utf8, table)
    indent = rows.indent(init.body[0])
    last = init.body[-1]
    if indent is None or not rows.ends(last):
        return None
    present = {ast.dump(stmt) for stmt in init.body}
    new = [text for text in setup if not all(ast.dump(stmt) in present for stmt in ast.parse(text).body)]
    if not new:
        return []
    at = rows.after(_with_comments(rows, last, indent))
    lines = [line for text in new for line in text.splitlines()]
    return [Edit(at, at, "".join(f"{indent}{line}\n" for line in lines))]


def _with_comments(rows: SourceRows, last: ast.stmt, indent: str) -> int:
    """The last row of a statement and of the comments after it that are indented more than it."""
    found = row = last.end_lineno or last.lineno
    while row < rows.count:
        row += 1
        text = rows.text(row)
        if not text.strip():
            continue
        if not text.startswith(indent) or not text[len(indent) :].startswith((" ", "\t")) or text.lstrip()[0] != "#":
            break
        found = row
    return found


def _decorator_lines(facts: FileFacts, table: LineTable, node: ast.AST, decorators: Sequence[str]) -> list[Edit] | None:
    """The edit that puts decorators right above the ``def`` of the function that holds a node.

    A coroutine gets none: its body runs long after the decorator is done.
    """
    function = facts.scope_of(node).function.node
    if not isinstance(function, ast.FunctionDef):
        return None
    start = table.offset(function.lineno, 0)
    indent = facts.source.utf8[start : start + function.col_offset].decode()
    present = {ast.dump(decorator) for decorator in function.decorator_list}
    new = [text for text in decorators if ast.dump(ast.parse(text, mode="eval").body) not in present]
    return [Edit(start, start, "".join(f"{indent}@{text}\n" for text in new))] if new else []


def _merged(facts: FileFacts, edits: Iterable[Edit]) -> list[Edit]:
    """Edits with insertions at the same place made one; a last row without a newline gets one."""
    texts: dict[int, str] = {}
    others: list[Edit] = []
    for edit in edits:
        if edit.start == edit.end:
            texts[edit.start] = texts.get(edit.start, "") + edit.text
        else:
            others.append(edit)
    utf8 = facts.source.utf8
    open_end = len(utf8) if utf8 and not utf8.endswith((b"\n", b"\r")) else -1
    inserted = [Edit(at, at, f"\n{text}" if at == open_end else text) for at, text in texts.items()]
    return sorted([*inserted, *others])


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
    name = text.removeprefix("def ").partition("(")[0] if text.startswith("def ") else text.partition("=")[0].strip()
    return name in facts.top.bindings


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

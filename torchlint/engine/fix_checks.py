"""What must still hold of a file after its fixes, and the imports that they leave without use."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from torchlint.facts.code.tree import walk
from torchlint.late import dataclass
from torchlint.rule import Edit
from torchlint.sources.edits import apply_edits
from torchlint.sources.lines import LineTable
from torchlint.sources.text import Source
from torchlint.sources.tokens import read_tokens

_ALWAYS_BOUND = frozenset(dir(builtins)) | {
    "__annotations__",
    "__builtins__",
    "__file__",
    "__path__",
}


class BrokenFixError(Exception):
    """A fix breaks the file; the text says how."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the checks know of a text: its tree, its comments, and the names it uses but binds nowhere."""

    tree: ast.Module
    comments: Counter[str]
    undefined: frozenset[str]


def read(source: Source) -> Reading | None:
    """Return what the checks know of a source, ``None`` if it is not Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(source.text)
            table = symtable.symtable(source.text, source.name, "exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    tokens = read_tokens(source.text) if "#" in source.text else []
    if tokens is None:
        return None
    comments = Counter(token.string.rstrip() for token in tokens if token.type == tokenize.COMMENT)
    return Reading(tree, comments, _undefined(table))


def check(before: Reading, after: Source, removed: Iterable[str] = ()) -> Reading:
    """Read a fixed source and compare it with what it was; ``removed`` are the comments that may be gone.

    Raises:
        BrokenFixError: it does not parse, has lost a comment, or uses a name that nothing binds any more.
    """
    reading = read(after)
    if reading is None:
        raise BrokenFixError("the new text does not parse")
    lost = before.comments - reading.comments - Counter(removed)
    if lost:
        raise BrokenFixError(f"it loses the comment {min(lost)!r}")
    undefined = reading.undefined - before.undefined
    if undefined:
        raise BrokenFixError(f"it leaves {', '.join(sorted(undefined))} undefined")
    return reading


def without_unused_imports(
    before: Reading, after: Source, reading: Reading, importers: Sequence[Source], removed: Sequence[str] = ()
) -> tuple[Source, tuple[Edit, ...]]:
    """Return the fixed source without imports that the fix left unused, and the edits that removed them, in order.

    ``removed`` is as for ``check``. Only plain imports go: at the top level, bound once, the name in no string, no
    comment near it, not a re-export (``__init__.py``, ``as`` the same name, imported from here by one of
    ``importers``). The rest stay as they are.
    """
    edits: tuple[Edit, ...] = ()
    if PurePosixPath(after.name).name == "__init__.py":
        return after, edits
    used = {node.id for node in walk(before.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    while True:
        edit = next(_removals(used, after, reading, importers), None)
        if edit is None:
            return after, edits
        shorter = apply_edits(after, [edit])
        try:
            reading = check(before, shorter, removed)
        except BrokenFixError:
            return after, edits
        after, edits = shorter, (*edits, edit)


def _undefined(top: symtable.SymbolTable) -> frozenset[str]:
    """Names that some scope looks up in the module, which binds none of them."""
    bound = set(_ALWAYS_BOUND)
    used = set()
    tables = [top]
    while tables:
        table = tables.pop()
        tables.extend(table.get_children())
        for symbol in table.get_symbols():
            if table is top or symbol.is_global():
                if symbol.is_assigned() or symbol.is_imported():
                    bound.add(symbol.get_name())
                if symbol.is_referenced():
                    used.add(symbol.get_name())
    return frozenset(used - bound)


def _removals(used: set[str], source: Source, reading: Reading, importers: Sequence[Source]) -> Iterator[Edit]:
    """Edits that each take one import away: of a name in ``used`` that the source does not mention any more."""
    nodes = list(walk(reading.tree))
    imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    bound = Counter(_bound_name(alias) for node in imports for alias in node.names)
    mentioned = _mentioned(nodes)
    texts = "\n".join([*_strings(reading.tree), *(comment for comment in reading.comments if "type:" in comment)])
    lines = LineTable(source.utf8)
    for statement in reading.tree.body:
        if not isinstance(statement, (ast.Import, ast.ImportFrom)) or _is_future(statement):
            continue
        for alias in statement.names:
            name = _bound_name(alias)
            if name not in used or name in mentioned or bound[name] > 1 or alias.asname == alias.name:
                continue
            if re.search(rf"\b{re.escape(name)}\b", texts) or _reexported(name, source, importers):
                continue
            edit = _removal(statement, alias, source, lines)
            if edit is not None:
                yield edit


def _is_future(statement: ast.Import | ast.ImportFrom) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _bound_name(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _mentioned(nodes: Iterable[ast.AST]) -> set[str]:
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            names.update(node.names)
    return names


def _strings(tree: ast.Module) -> Iterator[str]:
    """All strings but docstrings: annotations, ``__all__``, and what may be evaluated."""
    prose = {id(node.value) for node in walk(tree) if isinstance(node, ast.Expr)}
    for node in walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


def _reexported(name: str, source: Source, importers: Iterable[Source]) -> bool:
    """Whether another file takes the name from this one's module (or may: by a star)."""
    module = re.escape(PurePosixPath(source.name).stem)
    from_here = re.compile(
        rf"\bfrom[ \t]+[.\w]*\b{module}[ \t]+import\b(?:[^\n]*|[ \t]*\([^)]*)(?:\b{re.escape(name)}\b|\*)"
        rf"|\b{module}\.{re.escape(name)}\b"
    )
    return any(from_here.search(other.text) for other in importers if other.name != source.name)


def _removal(statement: ast.Import | ast.ImportFrom, alias: ast.alias, source: Source, lines: LineTable) -> Edit | None:
    """The edit that takes an imported name away, ``None`` where more than that stands on its rows."""
    start = lines.offset(statement.lineno, 0)
    last_row = statement.end_lineno or statement.lineno
    end = lines.offset(last_row + 1, 0) if last_row < lines.rows else len(source.utf8)
    rows = source.utf8[start:end]
    if b"#" in rows:
        return None
    place = statement.names.index(alias)
    if len(statement.names) > 1:
        following = statement.names[place + 1] if place + 1 < len(statement.names) else None
        if following is not None:
            return Edit(_start(alias, lines), _start(following, lines), "")
        return Edit(_end(statement.names[place - 1], lines), _end(alias, lines), "")
    stop = lines.offset(last_row, statement.end_col_offset or 0)
    if statement.col_offset or source.utf8[stop:end].strip():
        return None
    return Edit(start, end, "")


def _start(alias: ast.alias, lines: LineTable) -> int:
    return lines.offset(alias.lineno, alias.col_offset)


def _end(alias: ast.alias, lines: LineTable) -> int:
    return lines.offset(alias.end_lineno or alias.lineno, alias.end_col_offset or alias.col_offset)

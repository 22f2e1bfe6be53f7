"""Whether anyone does something with an object that was made and kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import alike, among
from torchlint.facts.code.mentions import Mentions
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.nesting import caught_by
from torchlint.facts.code.tree import forms_of, walk
from torchlint.late import dataclass


@dataclass(eq=False, slots=True)
class Idle(Fact):
    """Looks at all places that may read what an expression is assigned to."""

    mentions: Mentions

    def handled(self, facts: FileFacts, node: ast.expr, idle: frozenset[str]) -> bool:
        """Return whether an object is used other than by the methods in ``idle`` and tests for its existence."""
        stmt = facts.statement(node)
        value = getattr(stmt, "value", None)
        if not isinstance(stmt, (ast.Assign, ast.AnnAssign)) or not _gives(value, node):
            return True
        targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
        reads = [found for target in targets for found in self._reads(facts, stmt, target)]
        return any(read is None or not _asks(*read, idle) for read in reads)

    def unread(self, facts: FileFacts, node: ast.expr, index: int | None = None) -> bool:
        """Return whether nothing reads the local name of a value, with ``index`` the name for that part of it."""
        stmt = facts.statement(node)
        if not isinstance(stmt, ast.Assign) or stmt.value is not node or len(stmt.targets) != 1:
            return False
        target = stmt.targets[0]
        if index is not None:
            parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
            if index >= len(parts) or any(isinstance(part, ast.Starred) for part in parts):
                return False
            target = parts[index]
        if not isinstance(target, ast.Name):
            return False
        return not any(True for _ in self._reads(facts, stmt, target))

    def calls(self, facts: FileFacts, node: ast.expr, name: str) -> bool:
        """Return whether a method of an object that is assigned, or entered by ``with``, is called by its name."""
        stmt = facts.statement(node)
        targets = stmt.targets if isinstance(stmt, ast.Assign) and _gives(stmt.value, node) else []
        if isinstance(stmt, ast.With):
            entered = [item for item in stmt.items if item.context_expr is node]
            targets = [item.optional_vars for item in entered if item.optional_vars is not None]
        reads = [read for target in targets for read in self._reads(facts, stmt or facts.tree, target)]
        above = [read[0].parent.get(read[1]) for read in reads if read is not None]
        return any(isinstance(part, ast.Attribute) and part.attr == name for part in above)

    def called(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether an object that is assigned is itself called."""
        stmt = facts.statement(node)
        if not isinstance(stmt, (ast.Assign, ast.AnnAssign)) or stmt.value is not node:
            return False
        targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
        reads = [read for target in targets for read in self._reads(facts, stmt, target) if read is not None]
        above = [(where.parent.get(read), read) for where, read in reads]
        return any(isinstance(call, ast.Call) and call.func is read for call, read in above)

    def only_called(self, facts: FileFacts, node: ast.expr, count: int) -> bool:
        """Return whether an object is assigned to a local name that is only called, with ``count`` plain arguments."""
        stmt = facts.statement(node)
        if not isinstance(stmt, ast.Assign) or stmt.value is not node or len(stmt.targets) != 1:
            return False
        if not isinstance(stmt.targets[0], ast.Name):
            return False
        reads = list(self._reads(facts, stmt, stmt.targets[0]))
        return bool(reads) and all(read is not None and _calls_plainly(*read, count) for read in reads)

    def tried(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether the ``try`` around an expression ends before anything uses what it is assigned to."""
        stmt = facts.statement(node)
        held = stmt
        above = facts.parent.get(stmt) if stmt is not None else None
        while isinstance(above, (ast.If, ast.With, ast.For)):
            held, above = above, facts.parent.get(above)
        if not isinstance(above, ast.Try) or held not in above.body or not _catches(above):
            return False
        if _imports(above.body[0], node):
            return False  # it asks whether there is something to compile
        if isinstance(stmt, ast.Return):
            return stmt.value is node
        targets = stmt.targets if isinstance(stmt, ast.Assign) and _gives(stmt.value, node) else []
        parts = (part for other in above.body for part in walk(other))
        calls = [part for part in parts if isinstance(part, ast.Call) and not _is_compile(part, node)]
        return bool(targets) and not any(among(part, targets) for call in calls for part in (call.func, *call.args))

    def _reads(self, facts: FileFacts, stmt: ast.AST, target: ast.expr) -> Iterator[tuple[FileFacts, ast.expr] | None]:
        """The places that may read a target; ``None`` for one that is not followed."""
        if isinstance(target, ast.Name):
            scope = facts.scope_of(stmt)
            if scope.kind != "function" or target.id in scope.shared:
                yield None
            yield from ((facts, node) for node in self.mentions.of_binding(facts, target.id, stmt))
        elif isinstance(target, ast.Attribute) and facts.scope_of(stmt).owner is not None:
            yield from self.mentions.of_field(facts, "", target.attr)
            word = f'"{target.attr}"'.encode(), f"'{target.attr}'".encode()
            group = self.mentions.graph.groups[facts.path]
            if any(part in self.mentions.project.files[path].source.utf8 for path in group for part in word):
                yield None  # perhaps getattr by name
        else:
            yield None


# What is raised where torch, or a part of it, is too old or not installed.
_MISSING = frozenset({"AttributeError", "ImportError", "ModuleNotFoundError", "NameError"})


def _catches(node: ast.Try) -> bool:
    """Whether a handler catches more than that something is missing."""
    return any(kind is None or ast.unparse(kind) not in _MISSING for kind in caught_by(node))


def _imports(stmt: ast.stmt, node: ast.expr) -> bool:
    """Whether a statement imports what a call is given."""
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    names = stmt.names if isinstance(stmt, (ast.Import, ast.ImportFrom)) else []
    return isinstance(given, ast.Name) and any(given.id == (each.asname or each.name) for each in names)


def _is_compile(call: ast.Call, node: ast.expr) -> bool:
    """Whether a call is the one looked at, or of the same function."""
    return isinstance(node, ast.Call) and alike(call.func, node.func)


def _calls_plainly(facts: FileFacts, read: ast.expr, count: int) -> bool:
    """Whether a name is read to call it with ``count`` positional arguments and nothing else."""
    call = facts.parent.get(read)
    if not isinstance(call, ast.Call) or call.func is not read or call.keywords or len(call.args) != count:
        return False
    return not any(isinstance(argument, ast.Starred) for argument in call.args)


def _gives(value: ast.expr | None, node: ast.expr) -> bool:
    """Whether an expression gives a node's value, in one case at least."""
    return value is node or (value is not None and any(_gives(part, node) for part in forms_of(value)))


def _asks(facts: FileFacts, node: ast.expr, idle: frozenset[str]) -> bool:
    """Whether a read only asks whether the object is there, or calls one of the methods that do not count."""
    above = facts.parent.get(node)
    match above:
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return True
        case ast.If() | ast.IfExp() | ast.While():
            return above.test is node
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()) | ast.Expr():
            return True
        case ast.Attribute(attr=name):
            return name in idle
    return False

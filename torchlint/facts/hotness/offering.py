"""Which values a program lets an option have: its ``choices``, without those for which it raises before it begins."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import field

from torchlint.facts.code.callers import stored_anywhere
from torchlint.facts.code.model import FUNCTIONS, LOOPS, FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.starting import starts
from torchlint.facts.code.tree import conjuncts, constant_of, walk
from torchlint.facts.hotness.branches import raises
from torchlint.facts.hotness.coldness import cold_file
from torchlint.facts.values.chosen import holds
from torchlint.facts.values.options import destination, set_by_text
from torchlint.facts.values.signatures import keyword
from torchlint.late import dataclass

_SEVERAL = ("nargs", "action")
Values = frozenset[object]


@dataclass(eq=False, slots=True)
class Offering:
    """Answers which tests of an option never hold, because its parser refuses all values for which they would.

    Options are told apart by name alone; what else gives something of that name a value counts, too.
    """

    project: Project
    _known: dict[str, Values | None] = field(default_factory=dict)
    _listed: frozenset[str] | None = None

    def never(self, facts: FileFacts, test: ast.expr, truth: bool) -> bool:
        """Return whether a test has a truth value for none of the values that its options may have."""
        return any(self._is_never(facts, part, way) for part, way in conjuncts(test, truth))

    def _is_never(self, facts: FileFacts, test: ast.expr, truth: bool) -> bool:
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return False
        name = self._option(facts, test.left)
        allowed = self._allowed(name) if name else None
        return bool(allowed) and all(_holds(test, value) is (not truth) for value in allowed or ())

    def _option(self, facts: FileFacts, node: ast.expr) -> str:
        """The name of what may be an option: ``algo`` of ``self.config.algo``, and of a name that stands for it."""
        value = self.project.reaching(facts, node).value if isinstance(node, ast.Name) else node
        return _read(value) if value is not None and not isinstance(value, ast.Name) else ""

    def _allowed(self, name: str) -> Values | None:
        """All values of an option that has ``choices``, ``None`` where it has none or may have others."""
        if self._listed is None:
            files = (facts for facts in self.project.files.values() if b"add_argument" in facts.source.utf8)
            calls = (call for facts in files for scope in facts.scopes for call in scope.calls)
            offering = (call for call in calls if last_name(call.func) == "add_argument" and keyword(call, "choices"))
            self._listed = frozenset(map(destination, offering))
        if name not in self._listed:
            return None
        if name not in self._known:
            found = self._offered(name)
            self._known[name] = self._without_refused(name, *found) if found is not None else None
        return self._known[name]

    def _offered(self, name: str) -> tuple[Values, list[FileFacts]] | None:
        """All values of an option and the files that declare it, ``None`` where it may have others."""
        spellings = {name.encode(), name.replace("_", "-").encode()}
        files = [each for each in self.project.files.values() if any(word in each.source.utf8 for word in spellings)]
        calls = [(facts, call) for facts in files for scope in facts.scopes for call in scope.calls]
        declared = [
            (facts, call) for facts, call in calls if last_name(call.func) == "add_argument" and _is_of(call, name)
        ]
        if not declared or set_by_text(self.project.files.values()):
            return None
        values: set[object] = set()
        for facts, call in declared:
            choices = self._display(facts, keyword(call, "choices"))
            default = keyword(call, "default")
            if choices is None or any(keyword(call, word) is not None for word in _SEVERAL):
                return None
            for part in [*choices, default] if default is not None else choices:
                if (literal := constant_of(part)) is None:
                    return None
                values.add(literal.value)
        given = [*stored_anywhere(self.project, name), *(part for each in files for part in _given(each, name))]
        if any(constant_of(part) is None and _read(part) != name for part in given):
            return None
        values.update(literal.value for part in given if (literal := constant_of(part)) is not None)
        return frozenset(values), [facts for facts, _ in declared]

    def _display(self, facts: FileFacts, node: ast.expr | None) -> list[ast.expr] | None:
        """The elements of a list that is written out, where a name stands for it, too."""
        node = self.project.reaching(facts, node).value if isinstance(node, ast.Name) else node
        match node:
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return parts
        return None

    def _without_refused(self, name: str, values: Values, declaring: Sequence[FileFacts]) -> Values:
        """The values for which no program raises; of an option of several programs, each may refuse others."""
        if len(declaring) != 1 or len(self._programs(declaring[0])) != 1:
            return values
        word = name.encode()
        files = (facts for facts in self.project.files.values() if word in facts.source.utf8 and not cold_file(facts))
        tests = [stmt for facts in files for stmt in _before_loops(facts)]
        return frozenset(value for value in values if not any(self._refuses(stmt, name, value) for stmt in tests))

    def _programs(self, declaring: FileFacts) -> list[FileFacts]:
        """The programs that may read the options which a file declares: the file itself, and those that import it."""
        names = self.project.names
        return [
            facts
            for facts in self.project.files.values()
            if not cold_file(facts)
            and (
                facts is declaring
                or any(declaring in names.meant(facts.path, each) for each in (*facts.imports, *facts.star_imports))
            )
            and starts(self.project, facts)
        ]

    def _refuses(self, stmt: ast.stmt, name: str, value: object) -> bool:
        """Whether a statement raises where an option has a value: the last arm of ``if algo == "sac":``."""
        while isinstance(stmt, ast.If):
            test = stmt.test
            if not isinstance(test, ast.Compare) or len(test.ops) != 1 or _read(test.left) != name:
                return False
            truth = _holds(test, value)
            if truth is None:
                return False
            arm = stmt.body if truth else stmt.orelse
            if raises(arm):
                return True
            if truth or len(arm) != 1:
                return False
            stmt = arm[0]
        return False


def _read(node: ast.expr | None) -> str:
    """The name under which an expression reads something: ``algo`` of ``args.algo``, ``config["algo"]``, ``algo``."""
    match node:
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
    return last_name(node)


def _holds(test: ast.Compare, value: object) -> bool | None:
    """The truth of a test for a value, ``None`` if that is not known."""
    match test:
        case ast.Compare(
            ops=[ast.In() | ast.NotIn() as op],
            comparators=[ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts)],
        ):
            literals = [part.value for part in parts if isinstance(part, ast.Constant)]
            return (value in literals) is isinstance(op, ast.In) if len(literals) == len(parts) else None
        case ast.Compare(ops=[ast.Eq() | ast.NotEq()]):
            return holds(test, value)
    return None


def _is_of(call: ast.Call, name: str) -> bool:
    return destination(call) in (name, "")


def _given(facts: FileFacts, name: str) -> Iterator[ast.expr | None]:
    """What code gives a field, a keyword or a key of a name, but as an option of a parser."""
    for scope in facts.scopes:
        if scope.kind == "class":
            yield from (binding.value for binding in scope.bindings.get(name, ()))
        yield from (word.value for call in scope.calls for word in call.keywords if word.arg == name)
    for node in facts.nodes(ast.Dict):
        yield from (
            value
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant) and key.value == name
        )
    for stmt in facts.nodes(ast.Assign):
        keys = (target.slice for target in stmt.targets if isinstance(target, ast.Subscript))
        yield from (stmt.value for key in keys if isinstance(key, ast.Constant) and key.value == name)


def _before_loops(facts: FileFacts) -> Iterator[ast.If]:
    """The branches that functions always come to before a loop."""
    for scope in facts.scopes:
        if isinstance(scope.node, FUNCTIONS) and not isinstance(scope.node, ast.Lambda):
            body = scope.node.body
            last = max((place for place, stmt in enumerate(body) if _loops(stmt)), default=0)
            yield from (stmt for stmt in body[:last] if isinstance(stmt, ast.If))


def _loops(stmt: ast.stmt) -> bool:
    return any(isinstance(part, LOOPS) for part in walk(stmt))

"""Where words and qualified names occur in a project, and with which arguments functions are called."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Value


@dataclass(eq=False, slots=True)
class Occurrences(Fact):
    """Finds words in connected files, and calls by qualified name."""

    project: Project
    graph: CallGraph
    values: Values
    _calling: dict[str, list[tuple[FileFacts, ast.Call]]] = field(default_factory=dict)
    _holding: dict[str, frozenset[str]] = field(default_factory=dict)

    def mentioned(self, facts: FileFacts, word: str) -> bool:
        """Return whether the text of a file that a file is connected with holds a word."""
        return not self._files(word).isdisjoint(self.graph.groups[facts.path])

    def _files(self, word: str) -> frozenset[str]:
        """The files of the project whose text holds a word."""
        if word not in self._holding:
            files, text = self.project.files, word.encode()
            self._holding[word] = frozenset(path for path, file in files.items() if text in file.source.utf8)
        return self._holding[word]

    def before(self, facts: FileFacts, call: ast.AST, names: frozenset[str]) -> bool:
        """Return whether a call of one of these names comes first, by file and row, in the connected files."""
        place = facts.path, getattr(call, "lineno", 1), getattr(call, "col_offset", 0)
        holding = frozenset[str]().union(*(self._files(name.rpartition(".")[2]) for name in names))
        for path in holding & self.graph.groups[facts.path]:
            file = self.project.files[path]
            if path > facts.path:
                continue
            for other in (other for scope in file.scopes for other in scope.calls):
                if (path, other.lineno, other.col_offset) < place and self.project.qualified(file, other.func) in names:
                    return True
        return False

    def arguments(self, name: str) -> Sequence[Sequence[Value]]:
        """Return the values of the positional arguments of every call of a qualified name in the project."""
        return [[self.values.of(facts, argument) for argument in call.args] for facts, call in self.calls(name)]

    def calls(self, name: str) -> Sequence[tuple[FileFacts, ast.Call]]:
        """Return every call of a qualified name in the project, with its file."""
        last = name.rpartition(".")[2]
        if last not in self._calling:
            self._calling[last] = list(self._calls_that_mention(last))
        return [
            (facts, call) for facts, call in self._calling[last] if self.project.qualified(facts, call.func) == name
        ]

    def methods(self, name: str) -> Iterator[tuple[FileFacts, ast.Call]]:
        """Yield every call of a method of a name in the project, with its file."""
        for facts, call in self._calls_that_mention(name):
            if isinstance(call.func, ast.Attribute) and call.func.attr == name:
                yield facts, call

    def _calls_that_mention(self, word: str) -> Iterator[tuple[FileFacts, ast.Call]]:
        """All calls in files that hold a word."""
        holding = self._files(word)
        for path, facts in self.project.files.items():
            if path in holding:
                for scope in facts.scopes:
                    yield from ((facts, call) for call in scope.calls)

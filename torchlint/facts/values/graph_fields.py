"""What graphs of PyTorch Geometric hold under a name: what code gives to their constructors, or assigns."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.values.asking import Ask
from torchlint.facts.values.graphs import is_class
from torchlint.facts.values.join import join
from torchlint.facts.values.signatures import table
from torchlint.late import dataclass
from torchlint.rule import UNKNOWN, Kind, Value

_Given = dict[str, list[tuple[FileFacts, ast.expr]]]


@dataclass(eq=False, slots=True)
class GraphFields:
    """Answers what graphs hold under a name, with an index of what code gives to their constructors.

    Graphs are not told apart: all that is given under one name has to agree. What is made on the host may have been
    moved since, so nothing is known of it unless the graph is known to lie elsewhere.
    """

    ask: Ask
    _given: _Given | None = None

    def of(self, name: str, stored: Iterable[Value | None]) -> Value | None:
        """Return the tensor that graphs hold under a name, ``stored`` being what code assigns to the attribute."""
        if self._given is None:
            self._given = _given(self.ask)
        given = self._given.get(name, ())
        found = join((*(self.ask.value(facts, node) for facts, node in given), *stored))
        if found is None:
            return None if given else UNKNOWN
        if found.kind is not Kind.TENSOR:
            return UNKNOWN
        return self.ask.guess(replace(found, rank=None, pinned=None, widened="", literal=None))


def _given(ask: Ask) -> _Given:
    """By name all that calls of the constructors of graphs are given."""
    found: _Given = {}
    order = table()["graphs"]["order"]
    ends = {name.rpartition(".")[2] for name in table()["graphs"]["classes"]}
    for facts in ask.project.files.values():
        if b"torch_geometric" not in facts.source.utf8:
            continue
        for call in (call for scope in facts.scopes for call in scope.calls if last_name(call.func) in ends):
            if is_class(ask.project.qualified(facts, call.func) or ""):
                for name, node in (*zip(order, call.args, strict=False), *((w.arg, w.value) for w in call.keywords)):
                    if name is not None and not isinstance(node, ast.Starred):
                        found.setdefault(name, []).append((facts, node))
    return found

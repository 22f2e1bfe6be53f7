"""What a site knows of the code around it: loops, containers, what ran before, what is done with what is made."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.engine.place import Place, place_of
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.idle import Idle
from torchlint.facts.code.importing import Importing
from torchlint.facts.code.literals import strings
from torchlint.facts.code.model import Scope
from torchlint.facts.code.nesting import in_handler
from torchlint.facts.code.occurrences import Occurrences
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import names_in
from torchlint.facts.hotness.covering import Covering
from torchlint.facts.hotness.switches import Switches
from torchlint.facts.loops.batching import Batching
from torchlint.facts.loops.elements import Elements
from torchlint.facts.loops.growth import Growth
from torchlint.facts.loops.indexing import Indexing
from torchlint.facts.loops.loops import Loops
from torchlint.facts.loops.pacing import Pacing
from torchlint.facts.loops.regrowth import Regrowth
from torchlint.facts.loops.rows import Rows
from torchlint.facts.loops.waiting import Waiting
from torchlint.facts.state.provenance import Provenance
from torchlint.facts.state.queues import Queues
from torchlint.facts.values import torch_table
from torchlint.late import regex
from torchlint.rule import Kind, Loop, Picked, Row, Value

if TYPE_CHECKING:
    import libcst as cst


_FEW_CALLS = 5
_TIMER = regex(r"(^|_)(profil\w*|timers?|timing|timeit|stopwatch|record_function|nvtx)($|_)", re.IGNORECASE)


class Surroundings(Place):
    """Questions about the code around a node."""

    __slots__ = ()

    def loops(self, node: cst.CSTNode) -> Sequence[Loop]:
        """The loops around an expression, innermost first."""
        twin = self._expr(node)
        return self.analyses[Loops].of(self.facts, twin) if twin is not None else ()

    def element_of(self, node: cst.CSTNode) -> Value | None:
        """The tensor whose element an expression is in each round of a loop."""
        twin = self._expr(node)
        return self.analyses[Elements].of(self.facts, twin) if twin is not None else None

    def row(self, node: cst.CSTNode) -> Row | None:
        """The element of a collection that an expression is in each round of a loop."""
        twin = self._expr(node)
        return self.analyses[Rows].of(self.facts, twin) if twin is not None else None

    def picked(self) -> Picked | None:
        """What a loop computes with elements of tensors."""
        return self.analyses[Elements].picked(self.facts, self.twin) if isinstance(self.twin, ast.For) else None

    def batchable(self, call: cst.Call) -> bool:
        """Whether a call in a loop could be made once for all rounds."""
        twin = self._expr(call)
        return isinstance(twin, ast.Call) and self.analyses[Batching].batchable(self.facts, twin)

    def ensemble(self, call: cst.Call) -> bool:
        """Whether a call runs one of several networks built alike."""
        twin = self._expr(call)
        return isinstance(twin, ast.Call) and self.analyses[Batching].ensemble(self.facts, twin)

    def grows(self, node: cst.CSTNode, *, anew: bool = False) -> str:
        """What an expression is added to again and again."""
        twin = self._expr(node)
        return self.analyses[Growth].of(self.facts, twin, anew=anew) if twin is not None else ""

    def project_calls(self, name: str) -> Sequence[Sequence[Value]]:
        """The positional arguments of every call of a qualified name in the project."""
        return self.analyses[Occurrences].arguments(name)

    def nearby(self, names: frozenset[str]) -> bool:
        """Whether the function that holds the node calls one of these, or of a short helper all its callers do."""
        scope = self.facts.scope_of(place_of(self.twin)).function
        if any(self._calls_one_of(function, names) for function in [scope, *_other_end(scope)]):
            return True
        callers = self.analyses[CallGraph].callers.get(scope, ()) if len(scope.calls) <= _FEW_CALLS else ()
        around = [caller.facts.scope_of(caller.call).function for caller in callers]
        return bool(around) and all(self._calls_one_of(function, names) for function in around)

    def _calls_one_of(self, function: Scope, names: frozenset[str]) -> bool:
        return any(self.analyses[Project].qualified(function.file, call.func) in names for call in function.calls)

    def timed(self) -> bool:
        """Whether a ``with`` block around the node times it."""
        around = (node for node in self.facts.ancestors(place_of(self.twin)) if isinstance(node, ast.With))
        words = (word for node in around for item in node.items for word in names_in(item.context_expr))
        return any(_TIMER.search(word) for word in words)

    def loops_over(self, node: cst.CSTNode) -> str:
        """What the loop runs over that binds a name."""
        twin = self._expr(node)
        return self.analyses[Provenance].loops_over(self.facts, twin) if twin is not None else ""

    def gathered(self, node: cst.CSTNode) -> bool:
        """Whether an array is picked by rows out of one that an object keeps."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Provenance].gathered(self.facts, twin)

    def runs_anyway(self) -> bool:
        """Whether nothing but the machine decides that the node runs."""
        return self.analyses[Switches].runs_anyway(self.facts, self.twin)

    def strings(self, node: cst.CSTNode) -> frozenset[str]:
        """All texts that an expression may be."""
        twin = self._expr(node)
        return strings(self.analyses[Project], self.facts, twin) if twin is not None else frozenset()

    def stored_value(self) -> cst.BaseExpression | None:
        """What an assignment stores in its target."""
        import libcst as cst

        whole = self.pairs.statement(self.node)
        if not isinstance(whole, cst.Assign) or all(target.target is not self.node for target in whole.targets):
            return None
        return whole.value

    def torch_before(self) -> str:
        """Where torch was imported before the node runs."""
        place = self.analyses[Importing].torch_before(self.facts, self.twin)
        return f"{place[0].path}:{place[1]}" if place is not None else ""

    def cuda_before(self) -> int:
        """The row of a call before the node that starts CUDA."""
        return self.analyses[Importing].cuda_before(self.facts, self.twin)

    def backend_has(self, name: str) -> bool | None:
        """Whether a supported torch has an attribute of a backend."""
        return torch_table.backend_has(name)

    def handled(self, node: cst.CSTNode, idle: frozenset[str]) -> bool:
        """Whether anything is done with what an expression is assigned to."""
        twin = self._expr(node)
        return twin is None or self.analyses[Idle].handled(self.facts, twin, idle)

    def covers_training(self) -> bool:
        """Whether a block, or what follows the node, runs a training or rollout loop."""
        return self.analyses[Covering].trains(self.facts, self.twin)

    def mentioned(self, word: str) -> bool:
        """Whether a connected file's text holds a word."""
        return self.analyses[Occurrences].mentioned(self.facts, word)

    def calls_method(self, node: cst.CSTNode, name: str) -> bool:
        """Whether a method of what an expression is assigned or entered to is called."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Idle].calls(self.facts, twin, name)

    def called_later(self, node: cst.CSTNode) -> bool:
        """Whether what an expression is assigned to is called."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Idle].called(self.facts, twin)

    def tried_uncalled(self, node: cst.CSTNode) -> bool:
        """Whether an expression stands in a ``try`` whose body does not use what it is assigned to."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Idle].tried(self.facts, twin)

    def file_mentions(self, word: str) -> bool:
        """Whether the file's text holds a word."""
        return word.encode() in self.facts.source.utf8

    def first(self, names: frozenset[str]) -> bool:
        """Whether the node is the first call of one of these names."""
        return not self.analyses[Occurrences].before(self.facts, self.twin, names)

    def handles_error(self) -> bool:
        """Whether the node stands in the ``except`` part of a ``try``."""
        return in_handler(self.facts, self.twin)

    def regrown(self, call: cst.Call) -> str:
        """What a concatenation copies again in every round of a loop."""
        twin = self._expr(call)
        return self.analyses[Regrowth].of(self.facts, twin) if isinstance(twin, ast.Call) else ""

    def is_deque(self, node: cst.CSTNode) -> bool:
        """Whether a name or attribute is always a deque."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Queues].is_deque(self.facts, twin)

    def many(self, node: cst.CSTNode) -> bool:
        """Whether a deque may hold, or a number counts, very many things."""
        twin = self._expr(node)
        return twin is not None and self.analyses[Queues].many(self.facts, twin)

    def long_list(self, call: cst.Call) -> bool:
        """Whether a call takes from or adds to the front of a list that may be long."""
        twin = self._expr(call)
        return isinstance(twin, ast.Call) and self.analyses[Queues].long_list(self.facts, twin)

    def polls(self) -> bool:
        """Whether a ``while`` only asks whether something has happened."""
        return isinstance(self.twin, ast.While) and self.analyses[Waiting].polls(self.facts, self.twin)

    def steps_one(self, call: cst.Call) -> bool:
        """Whether a call in a loop steps one environment with a network's action."""
        twin = self._expr(call)
        return isinstance(twin, ast.Call) and self.analyses[Pacing].alone(self.facts, twin)

    def updated_each_step(self, call: cst.Call) -> int:
        """The row of a call that runs a gradient update for each step."""
        twin = self._expr(call)
        update = self.analyses[Pacing].updated(self.facts, twin) if isinstance(twin, ast.Call) else None
        return update.lineno if update is not None else 0

    def only_indexes(self, node: cst.CSTNode) -> frozenset[Kind]:
        """What the elements that a ``for`` goes over index, if they only index tensors and arrays."""
        twin = self._expr(node)
        return self.analyses[Indexing].only(self.facts, twin) if twin is not None else frozenset()


def _other_end(function: Scope) -> list[Scope]:
    """Of a context manager's ``__exit__`` its ``__enter__``, and the other way round."""
    other = {"__enter__": "__exit__", "__exit__": "__enter__"}.get(function.name)
    bound = function.method_of.bindings.get(other, ()) if other is not None and function.method_of is not None else ()
    return [binding.scope for binding in bound if binding.scope is not None]

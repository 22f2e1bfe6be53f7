"""How often a name is ``None``: a parameter that calls leave out, a variable that a loop gives a value."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field

from torchlint.facts.code.callers import Caller, passed
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import LOOPS, Bind, Binding, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.room import roomy
from torchlint.facts.code.tree import is_none, walk
from torchlint.facts.hotness.coldness import is_test
from torchlint.facts.hotness.guards import GIVEN_ARGUMENT, KEPT_VALUE, Bound, Guards
from torchlint.facts.values.tested import comes_by, is_before
from torchlint.late import dataclass
from torchlint.rule import Frequency

_DEEPEST = 4  # functions that hand on the same mapping


@dataclass(eq=False, slots=True)
class Missing:
    """Answers how often a name is ``None`` at most.

    ``cap`` tells the limit on a place from the branches around it; ``rooted`` whether a loop steps an environment, runs
    gradient updates, or stands around one that does.
    """

    project: Project
    graph: CallGraph
    guards: Guards
    cap: Callable[[FileFacts, ast.AST], Frequency | None]
    rooted: Callable[[ast.AST], bool]
    _asked: set[Scope] = field(default_factory=set)

    def bound(self, facts: FileFacts, name: ast.Name) -> Bound | None:
        """Return the guard on what runs when a name is ``None``, ``None`` when nothing is known that limits it."""
        bindings = self.project.reaching(facts, name).bindings
        if not bindings:
            return None
        if any(binding.how is not Bind.PARAM for binding in bindings):
            return self._kept(facts, name, bindings)
        scope = facts.scope_of(name).function
        return self._left_out(scope, name.id) if name.id in scope.params and scope not in self._asked else None

    def _kept(self, facts: FileFacts, name: ast.Name, bindings: Iterable[Binding]) -> Bound | None:
        """The guard where a name is ``None`` before a loop, or where it is dropped, and each round gives it a value."""
        around = list(facts.ancestors(name))
        loop = next((node for node in around if isinstance(node, LOOPS)), None)
        if loop is None or not self.rooted(loop):
            return None
        missing = [each for each in bindings if each.value is not None and is_none(each.value) and not each.path]
        if not missing or not any(_each_round(facts, each, loop, around) for each in bindings if each not in missing):
            return None
        most = Frequency.EPISODE
        for each in missing:
            held = self.cap(facts, each.stmt) if loop in facts.ancestors(each.stmt) else Frequency.EPISODE
            if held is None:
                return None
            most = max(most, held)
        return self.guards.of(KEPT_VALUE, most)

    @roomy
    def _left_out(self, scope: Scope, name: str) -> Bound | None:
        """The guard on the branch for a parameter that is ``None``: how often known calls leave the parameter out."""
        callers = [caller for caller in self.graph.callers.get(scope, ()) if not is_test(caller.facts.path)]
        calls = [c for c in callers if not self._gives(scope, name, c) and not self._holds(c, name)]
        if not calls:
            return self.guards.of(GIVEN_ARGUMENT, Frequency.ONCE) if callers else None
        self._asked.add(scope)
        limits = [limit for caller in calls if (limit := self._of_call(scope, name, caller)) is not None]
        self._asked.discard(scope)
        return max(limits) if len(limits) == len(calls) else None

    def _of_call(self, scope: Scope, name: str, caller: Caller) -> Bound | None:
        """The guard on a call that may give ``None``, or on the variable that it gives."""
        held = self.cap(caller.facts, caller.call)
        given = passed(scope, name, caller)
        found = self.bound(caller.facts, given) if isinstance(given, ast.Name) else None
        if held is None or (found is not None and found.limit < held):
            return found
        return self.guards.of(GIVEN_ARGUMENT, held)

    def _gives(self, function: Scope, name: str, caller: Caller) -> bool:
        """Whether a call surely passes something other than ``None`` for a parameter."""
        given = passed(function, name, caller)
        if given is None or is_none(given):
            return False
        if not isinstance(given, ast.Name):
            return True
        bindings = self.project.reaching(caller.facts, given).bindings
        for filled in [parent for each in bindings if (parent := _filling(caller.facts, each, given)) is not None]:
            bindings = tuple(each for each in bindings if not is_before(each, filled))
        return not any(each.value is not None and is_none(each.value) for each in bindings)

    def _holds(self, caller: Caller, name: str, depth: int = 0) -> bool:
        """Whether a mapping that a call hands over as ``**settings`` is made with a key of that name.

        It is filled where it is handed over, in the function of the project that returns it, or by all callers of a
        function that hands on its own ``**settings``.
        """
        for mapping in (k.value for k in caller.call.keywords if k.arg is None and isinstance(k.value, ast.Name)):
            home = caller.facts.scope_of(mapping).function
            if name in _keys_set(home, mapping.id):
                return True
            for binding in home.bindings.get(mapping.id, ()):
                made = self.graph.callees.get(binding.value, ()) if isinstance(binding.value, ast.Call) else ()
                if any(name in _keys_returned(maker) for maker in made if not binding.path):
                    return True
            if home.rest_keywords == mapping.id and depth < _DEEPEST:
                callers = self.graph.callers.get(home, ())
                if callers and all(_names(each, name) or self._holds(each, name, depth + 1) for each in callers):
                    return True
        return False


def _filling(facts: FileFacts, binding: Binding, read: ast.Name) -> ast.If | None:
    """The ``if x is None: x = ...`` before a read of a name whose branch binds it, after which it is not ``None``."""
    above = facts.parent.get(binding.stmt)
    if not isinstance(above, ast.If) or binding.how is not Bind.ASSIGN or binding.stmt not in above.body:
        return None
    match above.test:
        case ast.Compare(left=ast.Name(id=asked), ops=[ast.Is()], comparators=[other]):
            if asked == read.id and is_none(other) and comes_by(facts, above, read):
                return above
    return None


def _each_round(facts: FileFacts, binding: Binding, loop: ast.AST, around: Iterable[ast.AST]) -> bool:
    """Whether a binding runs in each round of a loop in which the name is asked for, or asks for it itself."""
    inside: list[ast.AST] = []
    for node in facts.ancestors(binding.stmt):
        if node is loop:
            return not any(isinstance(each, (ast.If, ast.Try, *LOOPS)) and each not in around for each in inside)
        inside.append(node)
    return False


def _names(caller: Caller, name: str) -> bool:
    """Whether a call gives a keyword of a name something other than ``None``."""
    return any(keyword.arg == name and not is_none(keyword.value) for keyword in caller.call.keywords)


def _keys_set(function: Scope, mapping: str) -> Iterator[str]:
    """The literal keys that a function gives a mapping of a name: in a display, or by an assignment."""
    for node in walk(function.node):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                    if target.value.id == mapping and isinstance(target.slice, ast.Constant):
                        yield str(target.slice.value)
                elif isinstance(target, ast.Name) and target.id == mapping and isinstance(node.value, ast.Dict):
                    yield from (str(key.value) for key in node.value.keys if isinstance(key, ast.Constant))


def _keys_returned(function: Scope) -> Iterator[str]:
    """The literal keys of the mappings that a function returns by name."""
    for node in walk(function.node):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Name):
            yield from _keys_set(function, node.value.id)

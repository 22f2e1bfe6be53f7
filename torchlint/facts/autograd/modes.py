"""Whether autograd records at a place: guards around it, decorators, switches, and the modes of the callers."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FUNCTIONS, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.solver import Solver
from torchlint.facts.code.tree import arguments_of, walk
from torchlint.facts.dataflow.untaken import Untaken
from torchlint.facts.hotness.hotness import Heat
from torchlint.late import dataclass
from torchlint.models import function_names, names
from torchlint.rule import Frequency

_WITH = (ast.With, ast.AsyncWith)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_OFF = function_names(autograd="pauses")
_ON = function_names(autograd="records")
_SWITCH = function_names(autograd="sets")
_WORDS = (b"no_grad", b"inference_mode", b"set_grad_enabled", b"enable_grad")
_BACKWARD = names(autograd=("backward", "gradient"))


class Mode(enum.Enum):
    """The mode of autograd at a place; ``UNKNOWN`` where something decides it that is not understood."""

    OFF = "does not record"
    ON = "records"
    UNKNOWN = "not known"


@dataclass(eq=False, slots=True)
class Modes(Fact):
    """Answers in which mode code runs, with a memory."""

    project: Project
    graph: CallGraph
    heat: Heat
    _solver: Solver[Scope, Mode] = field(init=False)
    _needs: Solver[Scope, bool] = field(init=False)
    _local: dict[ast.AST, Mode | None] = field(default_factory=dict)
    _handed: dict[frozenset[str], dict[str, list[tuple[FileFacts, ast.expr]]]] = field(default_factory=dict)
    _switched: dict[frozenset[str], bool] = field(default_factory=dict)
    _setters: dict[Scope, set[ast.Call]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._solver = Solver(self._entered, Mode.UNKNOWN)
        self._needs = Solver(self._differentiates, unknown=False)

    def at(self, facts: FileFacts, node: ast.AST) -> Mode:
        """Return the mode in which a node runs: set in its own function, or that of the callers."""
        return self._at(facts, node) or Mode.UNKNOWN

    def _at(self, facts: FileFacts, node: ast.AST) -> Mode | None:
        own = self.inside(facts, node)
        return own if own is not None else self._solver.ask(facts.scope_of(node).function)

    # in one function ------------------------------------------------------------------------------------------------

    def inside(self, facts: FileFacts, node: ast.AST) -> Mode | None:
        """Return the mode that the function around a node sets, ``None`` if it leaves that to its callers."""
        stmt = facts.statement(node)
        home = stmt if stmt is not None and facts.scope_of(node).function is facts.scope_of(stmt).function else node
        if home not in self._local:
            self._local[home] = self._climb(facts, home)
        return self._local[home]

    def _climb(self, facts: FileFacts, node: ast.AST) -> Mode | None:
        scope = facts.scope_of(node).function
        switches = self._setters.get(scope)
        if switches is None:
            switches = self._setters[scope] = {c for c in scope.calls if self._name(facts, c.func) in _SWITCH}
        child: ast.AST = node
        while child is not scope.node:
            if switches and isinstance(child, ast.stmt) and child in facts.places:
                block, index = facts.places[child]
                found = self._switched_before(facts, block[:index], switches)
                if found is not None:
                    return found
            above = facts.parent.get(child)
            if isinstance(above, _WITH) and isinstance(child, ast.stmt):
                found = self._first(self.of_guard(facts, item.context_expr) for item in reversed(above.items))
                if found is not None:
                    return found
            if above is None:
                return None
            child = above
        return self._decorated(facts, scope)

    def _switched_before(self, facts: FileFacts, block: Sequence[ast.stmt], switches: set[ast.Call]) -> Mode | None:
        """The mode that ``torch.set_grad_enabled(...)`` left, called as a statement before; nested in another: any."""
        for stmt in reversed(block):
            if isinstance(stmt, ast.Expr) and stmt.value in switches:
                return self.of_guard(facts, stmt.value)
            if not isinstance(stmt, (*_WITH, *_FUNCTIONS)) and any(part in switches for part in walk(stmt)):
                return Mode.UNKNOWN
        return None

    def _decorated(self, facts: FileFacts, scope: Scope) -> Mode | None:
        if not isinstance(scope.node, FUNCTIONS):
            return None
        return self._first(self._of_decorator(facts, node) for node in reversed(scope.node.decorator_list))

    @staticmethod
    def _first(modes: Iterable[Mode | None]) -> Mode | None:
        return next((mode for mode in modes if mode is not None), None)

    # guards ---------------------------------------------------------------------------------------------------------

    def is_off(self, facts: FileFacts, node: ast.AST, untaken: Untaken) -> bool:
        """Return whether a guard around a node in its function stops recording in a call that leaves some arms out."""
        for child, above in facts.climb(node, *_FUNCTIONS):
            if isinstance(above, _WITH) and isinstance(child, ast.stmt):
                found = self._first(self._chosen(facts, item.context_expr, untaken) for item in reversed(above.items))
                if found is not None:
                    return found is Mode.OFF
        return False

    def _chosen(self, facts: FileFacts, node: ast.expr, untaken: Untaken) -> Mode | None:
        """The mode that a guard sets in such a call."""
        if isinstance(node, ast.Name):
            bound = untaken.bindings(self.project, facts, node)
            node = bound[0].value if len(bound) == 1 and bound[0].value is not None and not bound[0].path else node
        if isinstance(node, ast.IfExp):
            left = [part for part in (node.body, node.orelse) if part not in untaken.nodes]
            return self.of_guard(facts, left[0]) if len(left) == 1 else Mode.UNKNOWN
        if isinstance(node, ast.Call) and node.args and node.args[0] in untaken.nodes:
            return Mode.OFF if self._name(facts, node.func) in _SWITCH else Mode.UNKNOWN
        return self.of_guard(facts, node)

    def _name(self, facts: FileFacts, node: ast.AST) -> str:
        return self.project.qualified(facts, node) or ""

    def of_guard(self, facts: FileFacts, node: ast.expr, depth: int = 0) -> Mode | None:
        """Return the mode that a context manager sets, ``None`` where it leaves it as it is."""
        if depth > 4:
            return Mode.UNKNOWN
        if isinstance(node, ast.IfExp):
            one, other = (self.of_guard(facts, part, depth + 1) for part in (node.body, node.orelse))
            return one if one is other else Mode.UNKNOWN
        if isinstance(node, ast.Name):
            return self._of_bindings(facts, node, depth)
        if not isinstance(node, ast.Call):
            return Mode.UNKNOWN if self._name(facts, node) in _OFF | _ON | _SWITCH else None
        name = self._name(facts, node.func)
        if not name and isinstance(node.func, ast.Attribute) and node.func.attr in ("no_grad", "inference_mode"):
            return Mode.OFF  # of something that is not found, such as a name behind a star import
        if name in _OFF or name in _SWITCH:
            return self._of_argument(node, off_by_default=name in _OFF)
        if name in _ON:
            return Mode.ON
        if name in self.project.functions:
            return self._of_manager(self.project.functions[name])
        if name in self.project.classes:
            return self._of_class(name)
        return Mode.UNKNOWN if any(self._guards(facts, argument) for argument in node.args) else None

    def _of_bindings(self, facts: FileFacts, node: ast.Name, depth: int) -> Mode | None:
        """What a name stands for that was bound to a guard before: ``guard = torch.no_grad()``."""
        modes = {self.of_guard(facts, value, depth + 1) for value in self.project.reaching(facts, node).values}
        return modes.pop() if len(modes) == 1 else Mode.UNKNOWN if modes else None

    @staticmethod
    def _of_argument(call: ast.Call, *, off_by_default: bool) -> Mode:
        """The mode that ``set_grad_enabled(x)`` or ``inference_mode(x)`` sets."""
        given = arguments_of(call)
        if not given:
            return Mode.OFF if off_by_default else Mode.UNKNOWN
        if not isinstance(given[0], ast.Constant) or not isinstance(given[0].value, bool):
            return Mode.UNKNOWN
        return Mode.OFF if given[0].value is off_by_default else Mode.ON

    def _of_manager(self, function: Scope) -> Mode | None:
        """The mode around the ``yield`` of a context manager written as a generator."""
        if "contextmanager" not in function.decorator_names:
            return None
        yields = [part for part in walk(function.node) if isinstance(part, ast.Yield)]
        modes = {self.inside(function.file, part) for part in yields}
        return modes.pop() if len(modes) == 1 else Mode.UNKNOWN

    def _of_class(self, cls: str) -> Mode | None:
        """Entering an instance of a class that mentions guards may set any mode."""
        enter = self.project.method(cls, "__enter__")
        return Mode.UNKNOWN if enter is not None and self._guards(enter.file, enter.node) else None

    def _of_decorator(self, facts: FileFacts, node: ast.expr) -> Mode | None:
        if self._name(facts, node) in _OFF:
            return Mode.OFF
        function = node.func if isinstance(node, ast.Call) else node
        name = self._name(facts, function)
        wrapper = self.project.functions.get(name)
        if wrapper is not None:
            return Mode.UNKNOWN if self._guards(wrapper.file, wrapper.node) else None
        return self.of_guard(facts, node)

    def _guards(self, facts: FileFacts, node: ast.AST) -> bool:
        """Whether anything in a node names a guard."""
        if not any(word in facts.source.utf8 for word in _WORDS):
            return False
        parts = (part for part in walk(node) if isinstance(part, (ast.Name, ast.Attribute)))
        return any(self._name(facts, part) in _OFF | _ON | _SWITCH for part in parts)

    # across functions -----------------------------------------------------------------------------------------------

    def _entered(self, function: Scope) -> Mode | None:
        """The mode in which a function is called."""
        if function.kind != "function":
            return Mode.UNKNOWN if self._switches(function.file) else Mode.ON
        if self._is_recorded(function):
            return Mode.ON
        every = {c: self.heat.frequency(c.facts, c.call) for c in self.graph.callers.get(function, [])}
        often = [caller for caller, frequency in every.items() if frequency > Frequency.ONCE]
        # Cold code may run a network as it likes, unless nothing else does.
        callers = often or list(every)
        if not callers:
            found = self._started(function)
            return Mode.ON if found is not Mode.ON and self._needs.ask(function) else found
        modes = {caller: self._at(caller.facts, caller.call) for caller in callers}
        known = {mode for mode in modes.values() if mode is not None}
        weak = any(caller.call in self.graph.weak for caller in callers)
        strong = {mode for caller, mode in modes.items() if caller.call not in self.graph.weak}
        if known == {Mode.ON} or self._needs.ask(function):
            return Mode.ON
        most = max(every.values())
        hottest = {mode for caller, mode in modes.items() if every[caller] is most}
        if Mode.ON in strong and not hottest.isdisjoint({Mode.ON, None}) and (often or Mode.OFF not in known):
            return Mode.ON
        if not known:
            return None
        closed = not weak and not (function.method_of is not None and function.name in self.graph.open)
        return Mode.OFF if known == {Mode.OFF} and closed else Mode.UNKNOWN

    def _switches(self, facts: FileFacts) -> bool:
        """Whether a connected file turns autograd off for good, in a function that may run before."""
        group = self.graph.groups[facts.path]
        if group not in self._switched:
            files = (self.project.files[path] for path in sorted(group))
            self._switched[group] = any(self._turns_off(file) for file in files)
        return self._switched[group]

    def _turns_off(self, facts: FileFacts) -> bool:
        if b"set_grad_enabled" not in facts.source.utf8:
            return False
        calls = (call for scope in facts.scopes for call in scope.calls if isinstance(facts.parent[call], ast.Expr))
        return any(
            self._name(facts, call.func) in _SWITCH and self._of_argument(call, off_by_default=False) is not Mode.ON
            for call in calls
        )

    def _is_recorded(self, function: Scope) -> bool:
        """Whether a framework that is known to leave autograd on calls a method, whatever code of the project does."""
        entry = self.heat.roots.protocols.get(function)
        return entry is not None and entry.records

    def _started(self, function: Scope) -> Mode:
        """The mode of a function that nothing calls: one that is handed to a library may be run from there."""
        for facts, node in self._references(function):
            if self._at(facts, node) is Mode.ON:
                return Mode.ON
        return Mode.UNKNOWN

    def _references(self, function: Scope) -> Iterator[tuple[FileFacts, ast.expr]]:
        """Where a function is an argument of a call into a library: ``Process(target=f)``, ``fire.Fire(f)``."""
        for facts, node in self._arguments(self.graph.groups[function.file.path]).get(function.name, ()):
            if self._name(facts, node) == function.dotted:
                yield facts, node

    def _arguments(self, group: frozenset[str]) -> dict[str, list[tuple[FileFacts, ast.expr]]]:
        """By name, what connected files hand to calls that reach nothing of the project."""
        found = self._handed.get(group)
        if found is None:
            found = self._handed[group] = {}
            for facts in (self.project.files[path] for path in sorted(group)):
                for call in (call for scope in facts.scopes for call in scope.calls):
                    if call in self.graph.callees or self._name(facts, call.func) in _OFF:
                        continue
                    for part in arguments_of(call):
                        if isinstance(part, ast.Name):
                            found.setdefault(part.id, []).append((facts, part))
                        elif isinstance(part, ast.Attribute):
                            found.setdefault(part.attr, []).append((facts, part))
        return found

    # functions that cannot run without a graph ----------------------------------------------------------------------

    def _differentiates(self, function: Scope) -> bool:
        """Whether a function runs ``backward`` in the mode it is called in, so that this mode must record."""
        for call in function.calls:
            func = call.func
            named = isinstance(func, ast.Attribute) and func.attr in _BACKWARD
            if not named and self._name(function.file, func) not in _BACKWARD:
                targets = self.graph.sure(call)
                if not targets or not all(self._needs.ask(target) for target in targets):
                    continue
            if self.inside(function.file, call) is None:
                return True
        return False

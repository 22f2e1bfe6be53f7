"""Asking for values: the questions that may be asked, and short ways to ask them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import compress

from torchlint.facts.code.callers import Caller, LinkedCalls, arguments
from torchlint.facts.code.file_edits import FileEdits
from torchlint.facts.code.model import Bind, Binding, FileFacts, Scope
from torchlint.facts.code.overloading import overloads
from torchlint.facts.code.project import Project
from torchlint.facts.code.reach import MOST_BINDINGS, Reaching
from torchlint.facts.code.solver import NotYetError, Solver
from torchlint.facts.code.tree import walk
from torchlint.facts.dataflow.untaken import UntakenArms
from torchlint.facts.values import tensordicts
from torchlint.facts.values.annotations import Annotations
from torchlint.facts.values.join import join, summed
from torchlint.facts.values.operators import in_place
from torchlint.facts.values.relatives import joined
from torchlint.facts.values.signatures import starred
from torchlint.late import dataclass
from torchlint.rule import UNKNOWN, Kind, Value

Question = Scope | tuple[FileFacts, ast.expr | Binding | Reaching] | tuple[str, str]
"""What a function returns, what an expression, a binding or several are, what an attribute of a class is."""


def concerns(question: Question, edits: FileEdits) -> bool:
    """Return whether a question is one about an edited file."""
    if isinstance(question, Scope):
        return edits.is_old(question.file)
    place = question[0]
    return place in edits.classes if isinstance(place, str) else edits.is_old(place)


@dataclass(eq=False, slots=True)
class Ask:
    """The project, who calls its functions, and the solver that remembers all answers.

    Answers are ``None`` where nothing is known yet, in a circle of questions. ``guesses``: what only a name suggests
    counts: that an object called ``env`` returns arrays, and that ``detach`` is the method of a tensor. Without, such
    values are unknown. ``guessed``: some answer rests on a guess. ``rewriting``: of each file, and the functions in it,
    the names of dicts that a loop over their keys gives new values.
    """

    project: Project
    callers: Mapping[Scope, list[Caller]]
    solver: Solver[Question, Value]
    guesses: bool = True
    guessed: bool = False
    annotations: Annotations = field(init=False)
    arms: UntakenArms = field(init=False)
    _linked: LinkedCalls = field(init=False)
    rewriting: dict[FileFacts, frozenset[tuple[Scope, str]]] = field(default_factory=dict)
    _given: dict[str, list[tuple[str, str]]] | None = None
    _keyed: dict[str, list[tuple[FileFacts, ast.expr, bool]]] | None = None

    def __post_init__(self) -> None:
        self.annotations = Annotations(self.project, self.promised_instance)
        self.arms = UntakenArms(self.project)
        self._linked = LinkedCalls(self.project, self.callers)

    def value(self, facts: FileFacts, node: ast.expr) -> Value | None:
        """Return the value of an expression."""
        return self.solver.ask((facts, node))

    def known(self, facts: FileFacts, node: ast.expr) -> Value:
        """Return the value of an operand that must be known for any answer."""
        value = self.solver.ask((facts, node))
        if value is None:
            raise NotYetError
        return value

    def guess(self, value: Value) -> Value:
        """Return the value that a name alone suggests, if guesses count."""
        if not self.guesses or value == UNKNOWN:
            return UNKNOWN
        self.guessed = True
        return value

    def rather(self, suggested: Value, proven: Value) -> Value:
        """Return what only a name or a form suggests, where guesses count, else what is proven."""
        guessed = self.guess(suggested)
        return guessed if guessed.known else proven

    def linked(self, name: str, call: ast.Call) -> list[tuple[Scope, Caller]]:
        """Return the methods that a call on an unknown object is linked to by their name alone: a guess."""
        if not self.guesses or name not in self.project.methods:
            return []
        self.solver.passing()
        return self._linked.of(name, call)

    def given(self, function: Scope, parameter: str) -> Iterator[tuple[Caller, ast.expr | None]]:
        """Yield the calls of a function known so far, each with what it passes for a parameter."""
        return arguments(self.callers, function, parameter)

    def is_off(self, facts: FileFacts, flag: ast.expr) -> bool:
        """Return whether a name is always false: that literal, or a parameter for which each known call gives it."""
        if not isinstance(flag, ast.Name):
            return False
        parameter = self.project.reaching(facts, flag).parameter
        if parameter is None or parameter.scope is None:
            return self.known(facts, flag).literal is False
        self.solver.passing()
        given = [(each, node or parameter.value) for each, node in self.given(parameter.scope, parameter.target)]
        return bool(given) and all(
            node is not None and not starred(each.call) and self.known(each.facts, node).literal is False
            for each, node in given
        )

    def knower(self, facts: FileFacts) -> Callable[[ast.expr], Value]:
        """Return ``known`` for the expressions of one file."""
        return lambda node: self.known(facts, node)

    def reached(self, facts: FileFacts, reach: Reaching) -> Value | None:
        """Return the value of a name by those of its bindings that reach a use."""
        if len(reach.bindings) > MOST_BINDINGS:  # many uses have them in common
            return self.solver.ask((facts, reach))
        return self.bound(facts, reach.bindings)

    def bound(self, facts: FileFacts, bindings: Iterable[Binding]) -> Value | None:
        """Return the value of a name by these bindings.

        A sum that starts from a number, and that tensors are added to, is a tensor.
        """
        bindings = list(bindings)
        adding = [_adds(binding) for binding in bindings] if len(bindings) > 1 else ()
        if not any(adding):
            return joined(self.project, (self.solver.ask((facts, binding)) for binding in bindings))
        values = [self.solver.ask((facts, binding)) for binding in bindings]
        found = summed(values, compress(values, adding))
        return joined(self.project, values) if found is values else join(found)

    def gives_tensor(self, facts: FileFacts, binding: Binding) -> bool:
        """Return whether a binding gives a tensor, as far as is known yet."""
        value = self.solver.ask((facts, binding))
        return value is None or value.kind is Kind.TENSOR

    def returned(self, functions: Iterable[Scope]) -> Value | None:
        """Return the value of a call that may run any of these functions."""
        return join(self.solver.ask(function) for function in functions)

    def augmented(self, facts: FileFacts, stmt: ast.AugAssign, target: Value) -> Value | None:
        """Return the value of a target after ``target op= operand``; an object of our own says it itself."""
        methods = overloads(self.project, target, stmt)
        return self.returned(methods) if methods else in_place(stmt.op, target, self.known(facts, stmt.value))

    def item(self, classes: str) -> Value | None:
        """Return what ``thing[key]`` gives where classes of the project say so, ``None`` where that is open yet."""
        found = [scope for cls in classes.split("|") for scope in self.project.implementations(cls, "__getitem__")]
        return self.returned(found) if found else UNKNOWN

    def attribute(self, classes: str, name: str) -> Value | None:
        """Return an attribute of an instance of a class, or of one of several whose names are separated by ``|``."""
        return join(self.solver.ask((cls, name)) for cls in classes.split("|"))

    def texts_given(self, facts: FileFacts, keyword: str) -> frozenset[str]:
        """Return the literal texts that calls of the files connected with one give under a keyword."""
        if self._given is None:
            self._given = {}
            for file in self.project.files.values():
                for given in (given for scope in file.scopes for call in scope.calls for given in call.keywords):
                    if given.arg and isinstance(given.value, ast.Constant) and isinstance(given.value.value, str):
                        self._given.setdefault(given.arg, []).append((file.path, given.value.value))
        near = self.project.groups[facts.path]
        return frozenset(text for path, text in self._given.get(keyword, ()) if path in near)

    def instance(self, cls: str, *, derived: bool) -> Value:
        """Return an instance of a class of the project or of a known library, or of one that derives from it."""
        return Value(Kind.MODULE if self.project.is_module(cls) else Kind.INSTANCE, name=cls, derived=derived)

    def promised_instance(self, cls: str) -> Value:
        """Return the instance that an annotation promises by the name of a class."""
        return self.instance(cls, derived=True)

    def arguments(self, facts: FileFacts, args: Sequence[ast.expr]) -> list[Value] | None:
        """Return the values of positional arguments or elements, with unpacked stars; ``None`` if one is hidden."""
        found: list[Value] = []
        for arg in args:
            value = self.known(facts, arg.value if isinstance(arg, ast.Starred) else arg)
            if not isinstance(arg, ast.Starred):
                found.append(value)
            elif value.kind is Kind.TUPLE:
                found.extend(value.items)
            else:
                return None
        return found

    def entry(self, facts: FileFacts, key: str) -> Value:
        """Return the tensor that TensorDicts in the files connected with one keep under a key, as far as it is known.

        What a spec promises for the key counts; else all that is stored under it anywhere must agree.
        """
        promised = self.promised(facts, key)
        if promised.known:
            return promised
        found = join(self.value(file, node) for file, node, spec in self._places(facts, key) if not spec) or UNKNOWN
        return replace(found, rank=None, pinned=None, widened="") if found.kind is Kind.TENSOR else UNKNOWN

    def promised(self, facts: FileFacts, key: str) -> Value:
        """Return the tensor that specs in the files connected with one promise under a key, of whatever it is read."""
        specs = [tensordicts.promised(self.known(file, node)) for file, node, spec in self._places(facts, key) if spec]
        return join(specs) or UNKNOWN if all(specs) else UNKNOWN

    def _places(self, facts: FileFacts, key: str) -> Sequence[tuple[FileFacts, ast.expr, bool]]:
        if self._keyed is None:
            self._keyed = _keyed(self.project)
        near = self.project.groups[facts.path]
        return [place for place in self._keyed.get(key, ()) if place[0].path in near]


def _adds(binding: Binding) -> bool:
    """Whether a binding adds to what its name holds: ``total += loss``, ``total = total + loss``."""
    if binding.how is Bind.AUGMENT:
        return True
    match binding.stmt:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(op=ast.Add() | ast.Sub()) as made):
            return any(isinstance(part, ast.Name) and part.id == name for part in walk(made))
    return False


def _keyed(project: Project) -> dict[str, list[tuple[FileFacts, ast.expr, bool]]]:
    """By literal key all that is stored under it, and whether it is a spec of what is."""
    found: dict[str, list[tuple[FileFacts, ast.expr, bool]]] = {}
    for facts in project.files.values():
        if b"ensordict" not in facts.source.utf8 and b"ensorDict" not in facts.source.utf8:
            continue
        for scope in facts.scopes:
            for stored in scope.keyed.values():
                for key, node in stored:
                    found.setdefault(key, []).append((facts, node, False))
            for call in scope.calls:
                for key, node, spec in _entries(project, facts, call):
                    found.setdefault(key, []).append((facts, node, spec))
    return found


def _entries(project: Project, facts: FileFacts, call: ast.Call) -> Iterator[tuple[str, ast.expr, bool]]:
    """What a call stores in a TensorDict: ``td.set("a", x)``, ``TensorDict({"a": x})``, ``Composite(a=spec)``."""
    first = call.args[0] if call.args else None
    if isinstance(call.func, ast.Attribute) and call.func.attr == "set" and len(call.args) == 2:
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield first.value, call.args[1], False
    elif isinstance(first, ast.Dict) or call.keywords:
        name = project.qualified(facts, call.func) or ""
        if isinstance(first, ast.Dict) and tensordicts.is_class(name):
            for key, node in zip(first.keys, first.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, node, False
        if tensordicts.is_composite(name):
            for option in call.keywords:
                if option.arg is not None:
                    yield option.arg, option.value, True

"""The literals that the calls of a program give to its functions and objects: options that they leave off, or on."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Set
from dataclasses import field

from torchlint.facts.code.callers import Caller, methods, sets_any, stores_of
from torchlint.facts.code.decorating import keeps_result
from torchlint.facts.code.exporting import exported
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.hierarchy import is_external_module
from torchlint.facts.code.model import FUNCTIONS, Bind, Binding, FileFacts, Scope, is_super
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.room import roomy
from torchlint.facts.code.starting import imported_by_others
from torchlint.facts.code.structure import BARE
from torchlint.facts.code.tree import conjuncts, receiver_of
from torchlint.facts.values.chosen import COMPARING, holds
from torchlint.facts.values.signatures import starred, table
from torchlint.late import dataclass
from torchlint.models import method_names
from torchlint.models.protocols import makers

_OBJECT = "()"
_MOST = 16
"""With more literals than this, an expression may have any value."""
Literals = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Passed:
    """What some calls pass: their keywords, ``others`` that are not known, and the most arguments by position."""

    keywords: frozenset[str] = frozenset()
    most: int = 0
    others: bool = False

    def joined(self, other: _Passed) -> _Passed:
        """Return what either of these calls and others passes."""
        most = max(self.most, other.most)
        return _Passed(self.keywords | other.keywords, most, self.others or other.others)

    def may_pass(self, name: str, place: int | None) -> bool:
        """Return whether one of these calls may pass a parameter, by its keyword or at its place, if it has one."""
        return name in self.keywords or (self.others if place is None else self.most > place)


# Through how many names what a tokenizer gives is followed.
_DEEPEST = 4
_BUILTINS = "builtins."
_TOKENIZED = frozenset(table()["outputs"]["inputs"])
_FOR_GENERATION = "prepare_inputs_for_generation"
_MOVING = method_names(moves=True)
_CALLED = ("forward", "__call__")
# What the trainer of a framework calls a model with, and its methods that may do so in its place.
_TARGETS, _LEARNING, _TRAINER = "labels", ("compute_loss", "training_step"), "Trainer"
_NO_CALL = _Passed()
# What a mixin needs, the class that derives from it has: it adds methods.
_ADDS_METHODS = "Mixin"


@dataclass(eq=False, slots=True)
class Options:
    """Answers which literals an expression may be, and which tests of it therefore never hold.

    Followed are names, parameters through all calls of their function, and attributes that a method reads of its own
    object. What a module binds is a setting that people change, and so is what a command line or a file gives.
    """

    project: Project
    graph: CallGraph
    offered: bool = False
    _given: dict[tuple[Scope, str], Literals | None] = field(default_factory=dict)
    _bound: dict[Binding, Literals | None] = field(default_factory=dict)
    _left_out: dict[Binding, bool] = field(default_factory=dict)
    _unlinked: dict[str, _Passed] | None = None
    _training: Set[str] | None = None
    _read: dict[str, bool] = field(default_factory=dict)

    def never(self, facts: FileFacts, test: ast.expr, truth: bool) -> bool:
        """Return whether a test has a truth value for none of the literals that the tested expression may be."""
        return any(self._is_never(facts, part, way) for part, way in conjuncts(test, truth))

    def _is_never(self, facts: FileFacts, test: ast.expr, truth: bool) -> bool:
        match test:
            case ast.Constant(value=value):  # ``if penalty != 1.0 and False:``
                return bool(value) is not truth
            case ast.Name() | ast.Attribute():
                found = self.literals(facts, test)
                return found is not None and all(bool(value) is not truth for value in found)
            case ast.Compare(left=left, ops=[op], comparators=[ast.Constant()]) if type(op) in COMPARING:
                found = self.literals(facts, left)
                return found is not None and all(holds(test, value) is (not truth) for value in found)
        return False

    def literals(self, facts: FileFacts, node: ast.expr) -> Literals | None:
        """Return the literals that an expression may be in the program, ``None`` where it may be anything else."""
        match node:
            case ast.Constant(value=value):
                return (value,)
            case ast.Name():
                bound = self.project.reaching(facts, node).bindings
                return self._union(
                    self._of_binding(facts, each) for each in bound if not self._is_left_out(facts, each)
                )
            case ast.Attribute(value=ast.Name() as base):
                method = facts.own_object(base)
                owner = method.method_of if method is not None else None
                return self._kept(owner, node.attr) if owner is not None else None
        return None

    def _of_binding(self, facts: FileFacts, binding: Binding) -> Literals | None:
        if binding not in self._bound:
            self._bound[binding] = None  # what is bound to itself may be anything
            self._bound[binding] = self._by_binding(facts, binding)
        return self._bound[binding]

    @roomy
    def _by_binding(self, facts: FileFacts, binding: Binding) -> Literals | None:
        scope = binding.scope
        if binding.how is Bind.PARAM and scope is not None:
            return self._of_parameter(scope, binding) if binding.target != scope.self_name else None
        if binding.how is not Bind.ASSIGN or binding.value is None or binding.path:
            return None
        return self.literals(facts, binding.value) if facts.scope_of(binding.stmt).function.kind == "function" else None

    def _is_left_out(self, facts: FileFacts, binding: Binding) -> bool:
        """Whether a variable or attribute is bound in a branch that no call leads into."""
        if binding not in self._left_out:
            self._left_out[binding] = False  # a branch under a test of what it binds itself may run
            around = facts.climb(binding.stmt, *FUNCTIONS) if binding.how is Bind.ASSIGN else ()
            arms = [(above, child) for child, above in around if isinstance(above, ast.If)]
            self._left_out[binding] = any(self.never(facts, above.test, child in above.body) for above, child in arms)
        return self._left_out[binding]

    def _of_parameter(self, scope: Scope, binding: Binding) -> Literals | None:
        key = scope, binding.target
        if key not in self._given:
            self._given[key] = None  # a function that hands it to itself says nothing of it
            self._given[key] = self._by_calls(scope, binding)
        return self._given[key]

    @roomy
    def _by_calls(self, scope: Scope, binding: Binding) -> Literals | None:
        """The literals that all calls of a function give for a parameter, where all calls are known."""
        callers = self.graph.callers.get(scope, ())
        top = scope.method_of if scope.method_of is not None else scope
        if scope in self.graph.runs or exported(self.project, top) or not (callers or binding.target == _TARGETS):
            return None
        if binding.target == _TARGETS and not self._is_known_to_learn(scope):
            return None
        if any(self._hides(caller, binding.target) for caller in callers) or self.maybe_given(scope, binding.target):
            return None
        if not callers:
            return self.literals(scope.file, binding.value) if binding.value is not None else None
        given = self.graph.arguments(scope, binding.target)
        places = ((caller.facts, node) if node is not None else (scope.file, binding.value) for caller, node in given)
        return self._union(self.literals(facts, node) if node is not None else None for facts, node in places)

    def _hides(self, caller: Caller, name: str) -> bool:
        """Whether what a call unpacks may hold a parameter: what a tokenizer gives holds texts and masks alone."""
        return starred(caller.call) and self._may_unpack(caller.facts, caller.call, name)

    def _may_unpack(self, facts: FileFacts, call: ast.Call, name: str) -> bool:
        """Whether star arguments of a call may hold a parameter."""
        unpacked = [word.value for word in call.keywords if word.arg is None]
        if len(unpacked) != 1 or any(isinstance(each, ast.Starred) for each in call.args):
            return True
        if self._is_tokenized(facts, unpacked[0]):
            return name in _TOKENIZED
        return name != _TARGETS or not self._is_for_generation(facts, unpacked[0])

    def _is_for_generation(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression is what a model generates from: ``model.prepare_inputs_for_generation(tokens)``."""
        values = self.project.reaching(facts, node).values if isinstance(node, ast.Name) else [node]
        calls = [value.func if isinstance(value, ast.Call) else None for value in values]
        return bool(calls) and all(func is not None and last_name(func) == _FOR_GENERATION for func in calls)

    def _is_model(self, scope: Scope) -> bool:
        """Whether a function is what runs a model that a framework makes by its class: ``from_pretrained``."""
        owner = scope.method_of
        line = self.project.ancestry(owner.dotted) if owner is not None and scope.name in _CALLED else ()
        return any(map(makers, line))

    def _is_known_to_learn(self, scope: Scope) -> bool:
        """Whether all calls that may give a function labels are in the project: no framework trains its model.

        What no file imports is loaded by its path, so what trains it is not seen.
        """
        if not self._is_model(scope):
            return self.graph.is_called(scope)
        if self._training is None:
            files = self.project.files
            calls = ((facts, call) for facts in files.values() for each in facts.scopes for call in each.calls)
            trains = self.offered or any(self._trains_itself(facts, call) for facts, call in calls)
            self._training = (
                frozenset(files) if trains else files.keys() - imported_by_others(files, self.project.names)
            )
        return scope.file.path not in self._training

    def _trains_itself(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a call makes a trainer of a framework whose own code calls the model, or has that code do so."""
        if last_name(call.func) in _LEARNING:
            return isinstance(call.func, ast.Attribute) and is_super(call.func.value)
        name = self.project.qualified(facts, call.func) or ""
        line = list(self.project.ancestry(name)) if name in self.project.classes else [name]
        own = any(
            method in self.project.classes[each].bindings
            for each in line
            if each in self.project.classes
            for method in _LEARNING
        )
        return not own and any(each.endswith(_TRAINER) and each not in self.project.classes for each in line)

    def _is_tokenized(self, facts: FileFacts, node: ast.expr, depth: int = 0) -> bool:
        """Whether an expression is what a tokenizer gives: ``tokenizer(texts, return_tensors="pt").to(device)``."""
        match receiver_of(node, _MOVING):
            case ast.Name() as name if depth < _DEEPEST:
                values = self.project.reaching(facts, name).values
                return bool(values) and all(self._is_tokenized(facts, value, depth + 1) for value in values)
            case ast.Call(keywords=words):
                names = {word.arg for word in words}
                return "return_tensors" in names and names.isdisjoint(("text_target", None))
        return False

    def _kept(self, cls: Scope, attr: str) -> Literals | None:
        key = cls, attr
        if key not in self._given:
            self._given[key] = None
            self._given[key] = self._by_stores(cls, attr)
        return self._given[key]

    @roomy
    def _by_stores(self, cls: Scope, attr: str) -> Literals | None:
        """The literals that methods store in an attribute of their object, where nothing else can set it."""
        if self.project.outside.get(attr) or exported(self.project, cls):
            return None
        family = (*self.project.family(cls.dotted), *self.project.descendants(cls.dotted))
        if any(attr in each.bindings or _sets_any(each) for each in family) or self._has_foreign_base(cls):
            return None
        stores = [
            each
            for each in stores_of(self.project, cls.dotted, attr)
            if not self._is_left_out(each.scope.file, each.binding)
        ]
        plain = [s.binding.value for s in stores if s.binding.how is Bind.ASSIGN and not s.binding.path]
        if len(plain) < len(stores) or not any(store.scope.function.name == "__init__" for store in stores):
            return None  # what no constructor sets, code that is not seen sets before it is read
        return self._union(
            self.literals(store.scope.file, node) if node is not None else None
            for store, node in zip(stores, plain, strict=True)
        )

    def _has_foreign_base(self, cls: Scope) -> bool:
        """Whether a class derives from one that is not known to set no attributes but its own."""
        line = self.project.ancestry(cls.dotted)
        return any(
            not (
                base in self.project.classes or base in BARE or is_external_module(base) or base.endswith(_ADDS_METHODS)
            )
            for base in line
        )

    def _union(self, parts: Iterable[Literals | None]) -> Literals | None:
        found: list[object] = []
        for part in parts:
            if part is None or len(found) > _MOST:
                return None
            found.extend(part)
        return tuple(found) or None

    def maybe_given(self, scope: Scope, name: str) -> bool:
        """Return whether a call that reaches no known function may be one of a function and pass a parameter."""
        if self._unlinked is None:
            self._unlinked = self._unlinked_calls()
        first = int(scope.method_of is not None)
        place = scope.positional.index(name) - first if name in scope.positional else None
        named, held = (self._unlinked.get(each, _NO_CALL) for each in (scope.name, _OBJECT))
        if named.may_pass(name, place) or (name in held.keywords and self._may_be_held(scope)):
            return True
        return scope.name in _CALLED and held.may_pass(name, place)

    def _may_be_held(self, scope: Scope) -> bool:
        """Whether code may hold a function under another name: a text has its name where it is not called.

        A decorator of the project may keep what it decorates.
        """
        if scope.name in _CALLED or isinstance(scope.node, ast.Lambda) or not keeps_result(self.project, scope):
            return True
        word = scope.method_of.name if scope.name == "__init__" and scope.method_of is not None else scope.name
        if word not in self._read:
            plain = word.encode()
            held = re.compile(rb"(?<!\w)%s(?!\w|\s*\()" % re.escape(plain))
            texts = (facts.source.utf8 for facts in self.project.files.values())
            self._read[word] = any(plain in text and held.search(text) for text in texts)
        return self._read[word]

    def _unlinked_calls(self) -> dict[str, _Passed]:
        """What calls that reach no known function pass, by the name of what they call.

        Under ``_OBJECT`` stands what is passed to whatever a name, or an attribute that code assigns to, holds.
        """
        found: dict[str, _Passed] = {}
        held = {attr for cls in self.project.classes.values() for attr in cls.stores} | self.project.outside.keys()
        calls = [(facts, call) for facts in self.project.files.values() for s in facts.scopes for call in s.calls]
        for facts, call in calls:
            if self.graph.callees.get(call) or (self.project.qualified(facts, call.func) or "").startswith(_BUILTINS):
                continue
            if self._is_inherited(facts, call):
                continue
            keywords = frozenset(keyword.arg for keyword in call.keywords if keyword.arg is not None)
            hidden = any(keyword.arg is None for keyword in call.keywords)
            most = sys.maxsize if starred(call) else len(call.args)
            if hidden and not self._may_unpack(facts, call, ""):
                keywords, hidden, most = keywords | _TOKENIZED, False, len(call.args)
            passed_on = _Passed(keywords, most, hidden)
            name = last_name(call.func)
            if name == "cls" and isinstance(call.func, ast.Name):
                continue  # it makes an object
            is_held = (not isinstance(call.func, ast.Attribute) or name in held) and not self._is_named(facts, call)
            for each in (name, _OBJECT) if is_held else (name,):
                found[each] = found.get(each, _NO_CALL).joined(passed_on)
        return found

    def _is_inherited(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a call runs what a base class outside of the project defines: ``nn.Module.__init__(self)``.

        Or ``super().f()``, where no class has another base.
        """
        owner = facts.scope_of(call).function.owner
        if owner is None or not isinstance(call.func, ast.Attribute):
            return False
        if not is_super(call.func.value):
            base = self.project.qualified(facts, call.func.value)
            return call.func.attr == "__init__" and base is not None and base in self.project.ancestry(owner.dotted)
        line = (owner, *self.project.descendants(owner.dotted))
        return all(isinstance(cls.node, ast.ClassDef) and len(cls.node.bases) == 1 for cls in line)

    def _is_named(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a name is called that always means one class, or one function of a library: ``dict(obs=obs)``.

        A function of a library that is given something by position may call it: ``partial(act, obs=obs)``.
        """
        name = self.project.qualified(facts, call.func) if isinstance(call.func, ast.Name) else None
        if name is None or name in self.project.classes:
            return name is not None or self._is_loss(facts, call.func)
        return not call.args and name.rpartition(".")[0] not in self.project.modules

    def _is_loss(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression is a loss of torch, not a class of the project: ``loss = nn.MSELoss()``."""
        made = self.project.reaching(facts, node).values
        names = [self.project.qualified(facts, each.func) or "" if isinstance(each, ast.Call) else "" for each in made]
        return bool(names) and all(name.startswith("torch.nn.") and name.endswith("Loss") for name in names)


def _sets_any(cls: Scope) -> bool:
    """Whether a method of a class gives its objects attributes of any name."""
    return any(sets_any(call) for method in methods(cls) for call in method.calls)

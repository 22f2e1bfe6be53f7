"""What the code just before a read says: tests for a class, as in ``assert isinstance(x, Gaussian)``, assignments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field

from torchlint.facts.code.callers import methods
from torchlint.facts.code.collect import dotted
from torchlint.facts.code.model import FUNCTIONS, LOOPS, AttributeStore, FileFacts, Scope
from torchlint.facts.code.nesting import OUTSIDE
from torchlint.facts.code.tree import conjuncts, walk
from torchlint.facts.values.asking import Ask
from torchlint.facts.values.join import join
from torchlint.facts.values.tested import arms, is_same, left_before, said
from torchlint.late import dataclass
from torchlint.rule import UNKNOWN, Kind, Value

_OBJECTS = frozenset({Kind.INSTANCE, Kind.MODULE})


@dataclass(eq=False, slots=True)
class Narrowed:
    """Answers what a name or an attribute of the own object is, given the tests of its class before it is read."""

    ask: Ask
    stores: Callable[[str, str], list[AttributeStore]]
    _tested: dict[Scope, frozenset[str]] = field(default_factory=dict)
    _testing: dict[str, list[Scope]] | None = None
    _set_in: dict[ast.stmt, frozenset[str]] = field(default_factory=dict)

    def of(self, facts: FileFacts, node: ast.Name | ast.Attribute, value: Value | None) -> Value | None:
        """Return the value of an expression, which is known by all but these tests, as far as they allow it.

        A name of which nothing else is known is an object of the classes that a test asks for, or a number of its type.
        """
        if value is None:
            return None
        told = bool(value.name) and value.kind in _OBJECTS
        if not told and (value != UNKNOWN or not isinstance(node, ast.Name)):
            return value
        base = node.value if isinstance(node, ast.Attribute) else node
        method = facts.own_object(base) if isinstance(node, ast.Attribute) else None
        if not isinstance(base, ast.Name) or (base is not node and method is None):
            return value  # an attribute of another object may be set by then
        text, function = dotted(node), facts.scope_of(node).function
        for test, truth in _before(facts, node) if text in self._texts(function) else ():
            plain = said(self.ask.project, facts, test, node) if truth and isinstance(node, ast.Name) else None
            if plain is not None and value == UNKNOWN:
                return plain
            classes = self._asked(facts, test, text) if truth else ()
            if classes and self._is_same(facts, test, base, node):
                value = self._within(value, classes) if told or not self._is_given(facts, base) else value
        if method is not None and isinstance(node, ast.Attribute):
            for classes in self._promised(method, node.attr):
                value = self._within(value, classes)
        return value

    def last_set(self, facts: FileFacts, node: ast.Attribute) -> Value | None:
        """Return what an attribute of the own object was set to just before it is read, where no code between sets it.

        ``self.scale = self.log_scale.exp()``, then ``self.scale.clone()``: elsewhere it may be set to anything.
        """
        method = facts.own_object(node.value)
        owner = method.method_of if method is not None and isinstance(node.ctx, ast.Load) else None
        if owner is None or not any(each.scope is method for each in self.stores(owner.dotted, node.attr)):
            return UNKNOWN
        text = dotted(node)
        for block, index in facts.blocks(node):
            around = block[index]
            if (isinstance(around, LOOPS) and self._may_set(around, text)) or isinstance(around, FUNCTIONS):
                return UNKNOWN  # a round before may have set it, and a function may run later
            for earlier in reversed(block[:index]):
                if isinstance(earlier, ast.Assign) and any(dotted(target) == text for target in earlier.targets):
                    found = self.ask.value(facts, earlier.value)
                    return found if found is None else self.ask.guess(found)
                if self._may_set(earlier, text):
                    return UNKNOWN
        return UNKNOWN

    def _may_set(self, stmt: ast.stmt, text: str) -> bool:
        """Whether a statement sets an attribute of an object, or calls a method of that object, which may do so."""
        found = self._set_in.get(stmt)
        if found is None:
            found = self._set_in[stmt] = frozenset(filter(None, map(_set_by, walk(stmt))))
        return text in found or _methods_of(text.rpartition(".")[0]) in found

    def _promised(self, method: Scope, attr: str) -> Iterator[Sequence[str]]:
        """The classes that constructors assert of an attribute of their object which nothing else sets."""
        if self._testing is None:
            self._testing = {}
            for cls in self.ask.project.classes.values():
                for each in (each for each in methods(cls) if each.name == "__init__"):
                    for name in self._own_tested(each):
                        self._testing.setdefault(name, []).append(each)
        owner = method.method_of
        if owner is None:
            return
        for each in self._testing.get(attr, ()):
            if self._is_inherited(each, owner) and self._is_constructed(owner.dotted, attr):
                text = f"{each.self_name}.{attr}"
                body = each.node.body if isinstance(each.node, ast.FunctionDef) else ()
                yield from (self._asked(each.file, test, text) for test, truth in _asserted(body) if truth)

    def _own_tested(self, constructor: Scope) -> Iterator[str]:
        """The attributes of the own object that a constructor tests for a class."""
        own = f"{constructor.self_name}."
        return (text.removeprefix(own) for text in self._texts(constructor) if text.startswith(own))

    def _is_inherited(self, constructor: Scope, cls: Scope) -> bool:
        return constructor.method_of is not None and constructor.method_of.dotted in self._line(cls.dotted)

    def _is_constructed(self, cls: str, attr: str) -> bool:
        """Whether constructors alone set an attribute."""
        return all(each.scope.name == "__init__" for each in self.stores(cls, attr))

    def _texts(self, function: Scope) -> frozenset[str]:
        """The texts of what a function tests for a class."""
        found = self._tested.get(function)
        if found is None:
            calls = (call for call in function.calls if isinstance(call.func, ast.Name) and call.args)
            tested = (dotted(call.args[0]) for call in calls if getattr(call.func, "id", "") == "isinstance")
            found = self._tested[function] = frozenset(tested)
        return found

    def _asked(self, facts: FileFacts, test: ast.expr, text: str) -> Sequence[str]:
        """The classes of the project of one of which an object is where a test holds; none for another test."""
        match test:
            case ast.Call(func=ast.Name(id="isinstance"), args=[tested, asked]) if dotted(tested) == text:
                kinds = asked.elts if isinstance(asked, ast.Tuple) else [asked]
                names = [self.ask.project.qualified(facts, each) or "" for each in kinds]
                return names if all(name in self.ask.project.classes for name in names) else ()
            case ast.BoolOp(op=ast.Or(), values=parts):
                found = [self._asked(facts, part, text) for part in parts]
                return [name for each in found for name in each] if all(found) else ()
        return ()

    def _is_same(self, facts: FileFacts, test: ast.expr, base: ast.Name, node: ast.expr) -> bool:
        """Whether a test is about the object that is read later: nothing between them binds the name or attribute."""
        tested = [part for part in walk(test) if isinstance(part, ast.Name) and part.id == base.id]
        if not all(is_same(self.ask.project, facts, each, base) for each in tested):
            return False
        function = facts.scope_of(node).function
        owner = function.owner
        if base is node or owner is None or not isinstance(node, ast.Attribute):
            return base is node
        stored = (each for each in self.stores(owner.dotted, node.attr) if each.scope is function)
        return all(getattr(each.binding.stmt, "lineno", test.lineno) < test.lineno for each in stored)

    def _is_given(self, facts: FileFacts, name: ast.Name) -> bool:
        """Whether a name is a parameter for which calls give objects that are known: these say more than a test."""
        self.ask.solver.passing()
        parameter = self.ask.project.reaching(facts, name).parameter
        scope = parameter.scope if parameter is not None else None
        given = self.ask.given(scope, name.id) if scope is not None else ()
        values = (self.ask.value(caller.facts, node) for caller, node in given if node is not None)
        return any(value is not None and value.known for value in values)

    def _within(self, value: Value, classes: Sequence[str]) -> Value:
        """Return what an object is that is of one of some classes, too; as before where it can be of none."""
        if value == UNKNOWN:
            return join(self.ask.instance(name, derived=True) for name in classes) or value
        kept: dict[str, None] = {}
        for name in value.name.split("|"):
            if not self._line(name).isdisjoint(classes):
                kept[name] = None
            elif value.derived:
                below = [each.dotted for each in self.ask.project.descendants(name)]
                both = [each for each in below if not self._line(each).isdisjoint(classes)]
                kept.update(dict.fromkeys(each for each in both if self._line(each).isdisjoint({*both} - {each})))
        if not kept or not classes or [*kept] == value.name.split("|"):
            return value
        return join(self.ask.instance(name, derived=value.derived) for name in kept) or value

    def _line(self, cls: str) -> frozenset[str]:
        return frozenset((cls, *self.ask.project.ancestry(cls)))


def _set_by(node: ast.AST) -> str:
    """The text of the attribute that a node sets, or a text for all those that the method it calls may set."""
    if isinstance(node, ast.Attribute):
        return "" if isinstance(node.ctx, ast.Load) else dotted(node)
    called = node.func if isinstance(node, ast.Call) else None
    return _methods_of(dotted(called.value)) if isinstance(called, ast.Attribute) else ""


def _methods_of(text: str) -> str:
    return f"{text}()"


def _before(facts: FileFacts, node: ast.expr) -> Iterator[tuple[ast.expr, bool]]:
    """The conditions that hold where a node is read, with their truth values."""
    yield from arms(facts, node)
    yield from left_before(facts, node)
    for child, parent in facts.climb(node, *OUTSIDE):
        if isinstance(parent, ast.BoolOp) and isinstance(child, ast.expr):
            for part in parent.values[: parent.values.index(child)]:
                yield from conjuncts(part, isinstance(parent.op, ast.And))
    for block, place in facts.blocks(node):
        yield from _asserted(block[:place])


def _asserted(block: Iterable[ast.stmt]) -> Iterator[tuple[ast.expr, bool]]:
    """The conditions without which a statement of a block raises."""
    for stmt in block:
        if isinstance(stmt, ast.Assert):
            yield from conjuncts(stmt.test, truth=True)

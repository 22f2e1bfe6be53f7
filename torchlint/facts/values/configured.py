"""What fields of records hold: the functions that code gives to their constructors, as configurations name terms.

``Term(func=track)`` in one file, ``for term in self.terms: term.func(env)`` in another.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence

from torchlint.facts.code.callers import methods
from torchlint.facts.code.model import AttributeStore, FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.values.asking import Ask
from torchlint.late import dataclass
from torchlint.rule import UNKNOWN, Kind, Value

_REFERENCES = (ast.Name, ast.Attribute, ast.Lambda)


@dataclass(frozen=True, slots=True)
class ConfiguredField:
    """A call that makes a record, or hands its class on to a function that does, and what it gives for one field."""

    facts: FileFacts
    call: ast.Call
    given: ast.expr


@dataclass(eq=False, slots=True)
class Configured:
    """Answers which functions a field of a record holds, with an index of arguments by keyword."""

    ask: Ask
    _given: dict[str, list[ConfiguredField]] | None = None

    def held(self, cls: str, name: str, stores: Sequence[AttributeStore]) -> Value:
        """Return the functions that any code gives a field of a class that has no constructor of its own.

        Of an object that is called like a function the method that this runs; of a class, too, where a record makes an
        object of it first: ``term.func = term.func(env)``.
        """
        if not any(store.scope.kind == "class" and store.binding.annotation is not None for store in stores):
            return UNKNOWN
        if any(method.name == "__init__" for scope in self.ask.project.family(cls) for method in methods(scope)):
            return UNKNOWN
        made = any(
            isinstance(value := store.binding.value, ast.Call) and last_name(value.func) == name for store in stores
        )
        called = (Kind.INSTANCE, Kind.CLASS) if made else (Kind.INSTANCE,)
        found = {function for each in self._makings(cls, name) for function in self._functions(each, called)}
        return self.ask.guess(Value(Kind.FUNCTION, name="|".join(sorted(found)))) if found else UNKNOWN

    def _makings(self, cls: str, name: str) -> Iterator[ConfiguredField]:
        """What calls give a field under its keyword, of objects of a class or of one that derives from it."""
        if self._given is None:
            self._given = defaultdict(list)
            for facts in self.ask.project.files.values():
                for call in (call for scope in facts.scopes for call in scope.calls):
                    for word in call.keywords:
                        if word.arg and isinstance(word.value, _REFERENCES):
                            self._given[word.arg].append(ConfiguredField(facts, call, word.value))
        project = self.ask.project
        return (each for each in self._given.get(name, ()) if cls in project.ancestry(_made(project, each)))

    def _functions(self, making: ConfiguredField, called: Sequence[Kind]) -> Iterator[str]:
        """The functions that what a call gives is, or runs where it is of a kind that is called like a function."""
        value = self.ask.value(making.facts, making.given) or UNKNOWN
        if value.kind is Kind.FUNCTION:
            yield from value.name.split("|")
        elif value.kind in called:
            methods_called = (self.ask.project.method(each, "__call__") for each in value.name.split("|"))
            yield from (method.dotted for method in methods_called if method is not None)


def _made(project: Project, making: ConfiguredField) -> str:
    """The class of the project that a call makes an object of, or has made: ``term(Reward, func=track)``."""
    nodes = (making.call.func, *making.call.args[:1])
    names = (project.qualified(making.facts, node) or "" for node in nodes)
    return next((name for name in names if name in project.classes), "")

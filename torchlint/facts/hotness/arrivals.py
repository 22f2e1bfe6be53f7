"""The objects that come to a method, by all the calls that lead to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from torchlint.facts.code.model import Scope
from torchlint.facts.code.receiver import ANY, Receiver
from torchlint.late import dataclass

if TYPE_CHECKING:
    from torchlint.facts.hotness.receivers import Receivers

_MANY = 64
"""With more kinds of objects than this, any object counts as one that comes."""


@dataclass(eq=False, slots=True)
class Arrivals:
    """Answers on which objects a method is called, whatever the frequency.

    The loop of a base class serves the objects that are handed to it. Where calls tell which these are, what other
    derived classes override does not count for the loop. A derived class of which no code here drives an object is
    there for code that is not seen, and its objects may come to every method that they have.

    ``drives`` tells whether a call of a function is one that runs the loops of a program.
    """

    receivers: Receivers
    drives: Callable[[Scope], bool]
    _at: dict[Scope, tuple[Receiver, ...]] = field(default_factory=dict)
    _driven: frozenset[Receiver] | None = None

    def at(self, method: Scope) -> tuple[Receiver, ...]:
        """Return the objects on which a method may be called."""
        found = self._at.get(method)
        if found is None:
            found = self._at[method] = self._find(method)
        return found

    def _find(self, method: Scope) -> tuple[Receiver, ...]:
        owner = method.method_of
        if owner is None or owner.dotted not in self.receivers.project.children:
            return (ANY,)  # no class derives from that of the method
        come = set(self._coming(method))
        if not come or ANY in come or len(come) > _MANY:
            return (ANY,)
        line = (owner, *self.receivers.project.descendants(owner.dotted))
        unseen = [Receiver(cls.dotted, derived=False) for cls in line if not self._is_driven(cls.dotted)]
        return tuple(sorted({*come, *unseen})) if len(unseen) <= _MANY else (ANY,)

    def _coming(self, method: Scope) -> Iterator[Receiver]:
        """The objects that the calls of a method name, also further up where a method calls it on its own object."""
        graph, fits = self.receivers.graph, self.receivers.fits
        if method.name in graph.unlinked:
            yield ANY
            return
        todo, seen = [method], {method}
        while todo:
            scope = todo.pop()
            if scope in graph.runs or scope in graph.wrapped:
                yield ANY
            elif scope not in graph.callers and scope.method_of is not None:
                yield Receiver(scope.method_of.dotted)  # code that is not seen calls it
            for caller in graph.callers.get(scope, ()):
                names = self.receivers.named(caller.call) if not caller.starts else (ANY,)
                home = caller.facts.scope_of(caller.call).function
                if names is not None or home.method_of is None:
                    yield from (name for name in names or (ANY,) if fits(name, scope) and fits(name, method))
                elif home not in seen:
                    seen.add(home)
                    todo.append(home)

    def _is_driven(self, cls: str) -> bool:
        """Whether code here runs loops of a program on an object that may be of a class."""
        if self._driven is None:
            self._driven = frozenset(self._drivers())
        made = Receiver(cls, derived=True)
        return any(self.receivers.meets(each, made) for each in self._driven)

    def _drivers(self) -> Iterable[Receiver]:
        graph = self.receivers.graph
        for scope, callers in graph.callers.items():
            if scope.name == "__init__" or not self.drives(scope):
                continue
            for caller in callers:
                if caller.call in graph.weak:
                    continue
                yield from (name for name in self.receivers.named(caller.call) or () if name != ANY)

"""The objects that methods run on: a call in a base class reaches what the class of its object overrides, no more."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.code.graph import SELF, CallGraph
from torchlint.facts.code.model import Scope
from torchlint.facts.code.project import Project
from torchlint.late import dataclass
from torchlint.rule import Frequency

ANY = ""
"""An object of any class that has the method."""
MOST = 16
"""With more classes of objects than this, a method counts as one that runs on any."""


@dataclass(eq=False, slots=True)
class Receivers:
    """How often methods are entered, by the class of their object, which may also derive from that class."""

    project: Project
    graph: CallGraph
    rates: dict[Scope, dict[str, Frequency]] = field(default_factory=dict)
    _fitting: dict[tuple[str, Scope], bool] = field(default_factory=dict)

    def note(self, scope: Scope, cls: str, frequency: Frequency) -> bool:
        """Record that a function is entered on objects of a class; whether that is news."""
        rates = self.rates.setdefault(scope, {})
        if scope.method_of is None or cls in self.project.ancestry(scope.method_of.dotted):
            cls = ANY
        if max(rates.get(cls, Frequency.ONCE), rates.get(ANY, Frequency.ONCE)) >= frequency:
            return False
        rates[cls] = frequency
        if len(rates) > MOST:
            self.rates[scope] = {ANY: max(rates.values())}
        return True

    def known(self, scope: Scope, cls: str) -> str:
        """The class under which the entries of a function on objects of a class are recorded."""
        return cls if cls in self.rates.get(scope, ()) else ANY

    def rate(self, scope: Scope, cls: str) -> Frequency:
        """How often a function is entered on objects of a class; more often than ever where it is not known to be."""
        return self.rates.get(scope, {}).get(cls, Frequency.INNER)

    def fastest(self, scope: Scope, cls: str) -> bool:
        """Whether a function is entered on objects of a class as often as on any."""
        rates = self.rates.get(scope, {})
        return not rates or rates.get(cls) is max(rates.values())

    def named(self, node: ast.AST) -> tuple[str, ...] | None:
        """The classes of the object that a call names, ``None`` where it is the object of the calling method."""
        found = self.graph.receivers.get(node) if isinstance(node, ast.Call) else None
        if found == SELF:
            return None
        return tuple(found.split("|")) if found and node not in self.graph.weak else (ANY,)

    def passed(self, node: ast.AST, home: Scope, target: Scope) -> Iterator[tuple[str | None, str, Frequency]]:
        """The classes of objects on which a call runs a method.

        Gives the class of the object that the calling function runs on, ``None`` where it does not matter; the class of
        the object of the call; and how often the calling function is entered for it.
        """
        names = self.named(node)
        if names is None and home.method_of is not None:
            rates = self.rates.get(home) or {ANY: Frequency.INNER}
            yield from ((cls, cls, rate) for cls, rate in rates.items() if self.fits(cls, target))
        else:
            yield from ((None, cls, Frequency.INNER) for cls in names or (ANY,) if self.fits(cls, target))

    def fits(self, cls: str, target: Scope) -> bool:
        """Whether a function may run on an object of a class."""
        if cls not in self.project.classes or target.method_of is None:
            return True
        found = self._fitting.get((cls, target))
        if found is None:
            found = self._fitting[cls, target] = self.project.runs_on(cls, target)
        return found

    def above(self, node: ast.AST, home: Scope, cls: str) -> str | None:
        """The class of the object that a function runs on when it calls a method on one of a class.

        ``None`` where the call is one on other objects.
        """
        own = home.method_of.dotted if home.method_of is not None else ANY
        names = self.named(node)
        if cls == ANY or names == (ANY,):
            return own
        if names is not None:
            return own if any(self._meets(name, cls) for name in names) else None
        if own == ANY:
            return own
        if not self.fits(cls, home):
            return own if cls in self.project.ancestry(own) else None
        return own if cls in self.project.ancestry(own) else cls

    def _meets(self, name: str, cls: str) -> bool:
        return name not in self.project.classes or self.project.related(name, cls)

"""The objects that methods run on: a call in a base class reaches what the class of its object overrides, no more."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import field

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.propagate import Reached
from torchlint.facts.code.receiver import ANY, OWN, Receiver
from torchlint.facts.hotness.arrivals import Arrivals
from torchlint.facts.hotness.entering import Entered
from torchlint.late import dataclass
from torchlint.rule import Frequency


@dataclass(eq=False, slots=True)
class Receivers:
    """Answers on which objects the calls of a graph run methods."""

    project: Project
    graph: CallGraph
    _fitting: dict[tuple[Receiver, Scope], bool] = field(default_factory=dict)

    def named(self, node: ast.AST) -> tuple[Receiver, ...] | None:
        """Return the objects that a call names, ``None`` where it is the object of the calling method."""
        found = self.graph.receivers.get(node) if isinstance(node, ast.Call) else None
        if found == OWN:
            return None
        return found or (ANY,)

    def fits(self, receiver: Receiver, target: Scope) -> bool:
        """Return whether a function may run on an object."""
        if receiver.name not in self.project.classes or target.method_of is None:
            return True
        found = self._fitting.get((receiver, target))
        if found is None:
            runs = self.project.runs_on if receiver.derived else self.project.inherits
            found = self._fitting[receiver, target] = runs(receiver.name, target)
        return found

    def above(self, node: ast.AST, home: Scope, receiver: Receiver) -> Receiver | None:
        """Return the object that a function runs on when it calls a method on an object.

        ``None`` where the call is one on other objects.
        """
        own = Receiver(home.method_of.dotted) if home.method_of is not None else ANY
        names = self.named(node)
        if receiver == ANY or names == (ANY,):
            return own
        if names is not None:
            return own if any(self.meets(name, receiver) for name in names) else None
        if own == ANY:
            return own
        wider = receiver.derived and receiver.name in self.project.ancestry(own.name)
        if not self.fits(receiver, home):
            return own if wider else None
        return own if wider else receiver

    def both(self, one: Receiver, other: Receiver) -> Receiver | None:
        """Return what is known of an object by two descriptions, ``None`` if they contradict each other."""
        if not self.meets(one, other):
            return None
        if ANY in (one, other) or one.derived is not other.derived:
            return other if one == ANY or (other != ANY and one.derived) else one
        return one if other.name in self.project.ancestry(one.name) else other

    def meets(self, one: Receiver, other: Receiver) -> bool:
        """Return whether an object may fit both."""
        if not one.name or not other.name or one.name not in self.project.classes:
            return True
        if one.derived and other.derived:
            return self.project.related(one.name, other.name)
        if one.derived:
            one, other = other, one
        line = self.project.ancestry(one.name)
        return other.name in line if other.derived else one.name == other.name


@dataclass(eq=False, slots=True)
class Rates:
    """How often methods are entered, by the object that they run on."""

    receivers: Receivers
    arrivals: Arrivals
    reached: Reached[Scope, Entered]

    def of(self, scope: Scope) -> Mapping[Receiver, Frequency]:
        """Return how often a function is entered on objects of each class."""
        found = self.reached.get(scope)
        return found.rates if found is not None else {}

    def noted(self, scope: Scope, receiver: Receiver) -> Receiver:
        """Return the receiver under which runs of a function on an object are noted: any, if its class adds nothing."""
        owner, project = scope.method_of, self.receivers.project
        if owner is None or (receiver.derived and receiver.name in project.ancestry(owner.dotted)):
            return ANY
        return receiver

    def known(self, scope: Scope, receiver: Receiver) -> Receiver:
        """Return the receiver under which the entries of a function on an object are recorded."""
        rates = self.of(scope)
        return receiver if receiver in rates and rates[receiver] is not rates.get(ANY) else ANY

    def rate(self, scope: Scope, receiver: Receiver) -> Frequency:
        """Return how often a function is entered on an object, more than any frequency if that is not known."""
        return self.of(scope).get(receiver, Frequency.INNER)

    def fastest(self, scope: Scope, receiver: Receiver) -> bool:
        """Return whether a function is entered on an object as often as on any."""
        rates = self.of(scope)
        return not rates or rates.get(receiver) is max(rates.values())

    def passed(
        self, node: ast.AST, home: Scope, target: Scope, *, rated: bool
    ) -> Iterator[tuple[Receiver | None, Receiver, Frequency]]:
        """Yield the objects on which a place runs a method.

        Gives the object that the calling function runs on, ``None`` where it does not matter; the object of the call;
        and how often the calling function is entered for it. ``rated``: the place runs as often as the function is
        entered, not as often as a loop in it goes round.
        """
        fits, names = self.receivers.fits, self.receivers.named(node)
        if names is not None or home.method_of is None:
            yield from ((None, each, Frequency.INNER) for each in names or (ANY,) if fits(each, target))
        elif not rated:
            yield from ((None, each, Frequency.INNER) for each in self.arrivals.at(home) if fits(each, target))
        else:
            rates = self.of(home) or {ANY: Frequency.INNER}
            for above, rate in rates.items():
                objects = self.arrivals.at(home) if above == ANY else (above,)
                yield from ((above, each, rate) for each in objects if fits(each, target))

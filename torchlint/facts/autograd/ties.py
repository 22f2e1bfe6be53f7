"""How modules belong to each other: one is the other, holds it, or may be one of its class."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import NamedTuple

from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.origins import ModuleOrigin, Tracer
from torchlint.facts.code.closure import reached
from torchlint.facts.code.model import Scope
from torchlint.facts.code.project import Project
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind


class Tie(enum.IntEnum):
    """How a module belongs to another one, known by where it comes from or by class alone."""

    NONE = 0
    CLASS = 1
    PART = 2
    WHOLE = 3


class _Lineage(NamedTuple):
    """The classes of a module's origin, which say whether it may be tied to another one.

    ``owner``: the class whose instance it belongs to, empty where it belongs to none. ``views``: the classes on the way
    to it. ``own``: those of the module itself.
    """

    owner: str
    views: frozenset[str]
    own: frozenset[str]


class Grouped:
    """Modules by what decides whether another module may be tied to them: the root, and the classes on the way."""

    def __init__(self, ties: ModuleTies, modules: Iterable[ModuleOrigin]) -> None:
        """Group some modules."""
        self.ties = ties
        self.roots: dict[object, list[ModuleOrigin]] = {}
        self.lineages: dict[_Lineage, list[ModuleOrigin]] = {}
        for module in modules:
            self.roots.setdefault(module.root, []).append(module)
            self.lineages.setdefault(ties.lineage(module), []).append(module)

    def near(self, origin: ModuleOrigin) -> Iterator[ModuleOrigin]:
        """Yield all modules that a module may be tied to, some of them twice."""
        yield from self.roots.get(origin.root, ())
        known = self.ties.lineage(origin)
        for lineage, modules in self.lineages.items():
            if self.ties.meet(known, lineage):
                yield from modules


@dataclass(eq=False, slots=True)
class ModuleTies(Fact):
    """Answers how a module belongs to another one."""

    project: Project
    values: Values
    tracer: Tracer
    _contents: dict[str, frozenset[str]] = field(default_factory=dict)
    _holding: dict[tuple[str, str], bool] = field(default_factory=dict)
    _lineages: dict[ModuleOrigin, _Lineage] = field(default_factory=dict)
    _met: dict[tuple[_Lineage, _Lineage], bool] = field(default_factory=dict)

    def best(self, origin: ModuleOrigin, others: Iterable[ModuleOrigin]) -> Tie:
        """Return the closest tie of a module to one of some others."""
        return max((self.of(origin, other) for other in others), default=Tie.NONE)

    def of(self, origin: ModuleOrigin, other: ModuleOrigin) -> Tie:
        """Return how a module belongs to another; ``PART``: the other one is a part of it."""
        if origin.root is other.root or self._same_class(origin.root, other.root):
            found = _compared(origin.path, other.path)
            if found is not Tie.NONE:
                return found
        if isinstance(other.root, Scope) and self._views_meet(origin, other.root, other.path):
            return Tie.CLASS
        if isinstance(origin.root, Scope):
            if self._views_meet(other, origin.root, origin.path) or self._holds(other, origin.root):
                return Tie.CLASS
        return Tie.NONE

    def lineage(self, origin: ModuleOrigin) -> _Lineage:
        """Return the classes of a module's origin."""
        found = self._lineages.get(origin)
        if found is None:
            views = self.tracer.views(origin)
            found = self._lineages[origin] = _Lineage(
                origin.root.dotted if isinstance(origin.root, Scope) else "",
                frozenset(cls for cls, _ in views),
                frozenset(cls for cls, rest in views if not rest),
            )
        return found

    def meet(self, one: _Lineage, other: _Lineage) -> bool:
        """Return whether a module of one lineage may be tied to a module of another one that has another root."""
        found = self._met.get((one, other))
        if found is None:
            found = self._met[one, other] = self._may_meet(one, other)
        return found

    def _may_meet(self, one: _Lineage, other: _Lineage) -> bool:
        related = self.project.related
        if other.owner and any(related(cls, other.owner) for cls in one.views | {one.owner} if cls):
            return True
        if not one.owner:
            return False
        return any(related(cls, one.owner) for cls in other.views) or any(
            self._may_hold(cls, one.owner) for cls in other.own
        )

    def _same_class(self, one: object, other: object) -> bool:
        return isinstance(one, Scope) and isinstance(other, Scope) and self.project.related(one.dotted, other.dotted)

    def _views_meet(self, origin: ModuleOrigin, root: Scope, path: tuple[str, ...]) -> bool:
        return any(
            _compared(rest, path) is not Tie.NONE and self.project.related(cls, root.dotted)
            for cls, rest in self.tracer.views(origin)
        )

    def _holds(self, other: ModuleOrigin, root: Scope) -> bool:
        """Whether an instance of a class may be a part of another module."""
        return any(self._may_hold(cls, root.dotted) for cls, rest in self.tracer.views(other) if not rest)

    def _may_hold(self, whole: str, part: str) -> bool:
        found = self._holding.get((whole, part))
        if found is None:
            found = any(self.project.related(part, cls) for cls in self._inside(whole))
            self._holding[whole, part] = found
        return found

    def _inside(self, cls: str) -> frozenset[str]:
        """The project's classes of all that an instance of a class is made of, at any depth."""
        found = self._contents.get(cls)
        if found is None:
            found = self._contents[cls] = frozenset(reached([cls], self._held_by)) - {cls}
        return found

    def _held_by(self, cls: str) -> set[str]:
        names: set[str] = set()
        for scope in self.project.family(cls):
            for attr in scope.stores:
                value = self.values.attribute(cls, attr)
                names.update((value.element if value.kind is Kind.LIST else value).name.split("|"))
        return {name for name in names if name in self.project.classes}


def _compared(path: tuple[str, ...], other: tuple[str, ...]) -> Tie:
    if path[: len(other)] == other:
        return Tie.WHOLE
    return Tie.PART if other[: len(path)] == path else Tie.NONE

"""The facts about one project, each asked for by its type and built when it is first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from torchlint.settings.model import Settings

if TYPE_CHECKING:
    from typing_extensions import Self


class Fact:
    """The base of what answers questions about a project: a dataclass whose required fields are facts again.

    ::

        @dataclass(eq=False, slots=True)
        class Deques(Fact):
            values: Values
            _known: dict[ast.expr, bool] = field(default_factory=dict)

    ``analyses[Deques]`` makes one from ``analyses[Values]`` and keeps it as long as the project is analysed.
    """

    __slots__ = ()

    @classmethod
    def build(cls, analyses: Analyses) -> Self:
        """Make the fact for a project; it keeps no reference to ``analyses``, so all that it rests on is known."""
        make: Callable[..., Self] = cls
        required = _required(cls)  # type: ignore[arg-type]  # mypy looks at how objects of the class are hashed
        return make(**{name: analyses[kind] for name, kind in required})


_Asked = TypeVar("_Asked", bound=Fact)


class Analyses:
    """The facts about one project: ``analyses[Loops]`` answers questions about loops.

    ``settings`` and the facts given at the start are what all others are built from. Nothing else is built before it
    is asked for. ``checkpoint`` is called again and again while there is work, and may raise to end it.
    """

    __slots__ = ("_above", "_asking", "_facts", "_given", "_rests_on", "_supposed", "checkpoint", "settings")

    def __init__(
        self,
        settings: Settings,
        given: Iterable[Fact],
        above: Analyses | None = None,
        *,
        checkpoint: Callable[[], None] = lambda: None,
    ) -> None:
        """Start with some facts; see ``supposing`` for ``above``."""
        self.settings = settings
        self.checkpoint = checkpoint
        self._above = above
        self._facts: dict[type[Fact], Fact] = {type(fact): fact for fact in given}
        self._given = frozenset(self._facts)
        self._rests_on: dict[type[Fact], set[type[Fact]]] = {}
        self._asking: list[type[Fact]] = []
        self._supposed: dict[tuple[type[Fact], str], Analyses] = {}

    def __getitem__(self, kind: type[_Asked]) -> _Asked:
        """The fact of a type.

        Raises:
            TypeError: it rests on itself, or on what is not a fact.
        """
        if self._asking:
            self._rests_on[self._asking[-1]].add(kind)
        found = self._facts.get(kind) or self._known(kind)
        if found is None:
            found = self._facts[kind] = self._build(kind)
        assert isinstance(found, kind)
        return found

    def supposing(
        self, kind: type[_Asked], change: Callable[[_Asked], _Asked], why: str, *, keeping: Iterable[type[Fact]] = ()
    ) -> Analyses:
        """Return the same project with one fact changed; made once.

        What rests on that fact is built again when asked for.

        What does not rest on it is shared, and so are the facts to be kept and what rests on them alone. ``why``
        names the change: a fact may be changed for several reasons, each made once. What ``change`` returns may be of a
        class that derives from that of the fact.
        """
        found = self._supposed.get((kind, why))
        if found is None:
            given: dict[type[Fact], Fact] = {each: self[each] for each in keeping}
            given[kind] = change(self[kind])
            found = self._supposed[kind, why] = Analyses(self.settings, (), self, checkpoint=self.checkpoint)
            found._facts.update(given)
            found._given = frozenset(given)
        return found

    def _build(self, kind: type[Fact]) -> Fact:
        if kind in self._asking:
            circle = " -> ".join(each.__name__ for each in [*self._asking, kind])
            raise TypeError(f"a fact rests on itself: {circle}")
        self.checkpoint()
        self._rests_on[kind] = set()
        self._asking.append(kind)
        try:
            return kind.build(self)
        finally:
            self._asking.pop()

    def _known(self, kind: type[Fact]) -> Fact | None:
        """The fact of a type if it was built, here or at any height above if it would be the same here."""
        found = self._facts.get(kind)
        if found is None and self._above is not None:
            above = self._above._known(kind)
            if above is not None and not self._differs(kind):
                found = self._facts[kind] = above
                self._rests_on[kind] = self._above._rests_on.get(kind, set())
        return found

    def _differs(self, kind: type[Fact]) -> bool:
        """Whether what a fact of the project above rests on is another one here."""
        assert self._above is not None
        if kind in self._given:
            return self._facts[kind] is not self._above._facts[kind]
        return any(map(self._differs, self._above._rests_on.get(kind, ())))


@cache
def _required(cls: type[Fact]) -> tuple[tuple[str, type[Fact]], ...]:
    """The required fields of a dataclass and their types, which its module must have imported by name.

    Raises:
        TypeError: one of them is not a fact.
    """
    found: list[tuple[str, type[Fact]]] = []
    if not is_dataclass(cls):
        return ()
    for field in fields(cls):
        if field.init and field.default is MISSING and field.default_factory is MISSING:
            home = next(base for base in cls.__mro__ if field.name in vars(base).get("__annotations__", ()))
            kind = vars(sys.modules[home.__module__]).get(str(field.type))
            if not (isinstance(kind, type) and issubclass(kind, Fact)):
                raise TypeError(f"{cls.__qualname__}.{field.name}: {field.type} is not a fact")
            found.append((field.name, kind))
    return tuple(found)

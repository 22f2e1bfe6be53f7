"""Where a rule wants to look: small parts that are put together with ``|``.

A trigger only saves time: without it, ``check`` called on every node must find the same. It is data, so that the engine
can find the sites of a rule before it imports the rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Trigger:
    """Where a rule wants to look: at what any of its parts finds. Without parts it is nowhere."""

    __slots__ = ("parts",)

    def __init__(self, *parts: Part) -> None:
        """Look where any of the parts looks."""
        self.parts: tuple[Part, ...] = parts

    def __or__(self, other: Trigger) -> Trigger:
        """Look where either looks."""
        return Trigger(*self.parts, *other.parts)

    def __eq__(self, other: object) -> bool:
        """Whether both look at the same."""
        return isinstance(other, Trigger) and self.rows() == other.rows()

    def __hash__(self) -> int:
        """Agree with equality."""
        return hash(repr(self.rows()))

    def __repr__(self) -> str:
        """As rows."""
        return f"Trigger of {self.rows()}"

    def rows(self) -> list[dict[str, object]]:
        """Return the parts as plain data."""
        return [part.row() for part in self.parts]

    @staticmethod
    def of_rows(rows: Iterable[Mapping[str, object]]) -> Trigger:
        """Return the trigger that ``rows`` describes."""
        found = []
        for row in rows:
            part = object.__new__(_PARTS[str(row["part"])])
            part.parts = (part,)
            for name in part.fields:
                value = row[name]
                setattr(part, name, frozenset(value) if isinstance(value, (list, tuple)) else value)
            found.append(part)
        return Trigger(*found)


class Part(Trigger):
    """A trigger of one kind; ``fields`` names what it consists of."""

    __slots__ = ()
    fields: tuple[str, ...] = ()

    def __init__(self) -> None:
        """Be the only part of itself."""
        super().__init__(self)

    def row(self) -> dict[str, object]:
        """Return the part as plain data."""
        values = ((name, getattr(self, name)) for name in self.fields)
        plain = {name: sorted(value) if isinstance(value, frozenset) else value for name, value in values}
        return {"part": type(self).__name__, **plain}


class Named(Part):
    """A part that looks for names."""

    __slots__ = ("names",)
    fields = ("names",)

    def __init__(self, *names: str) -> None:
        """Look for any of the names."""
        super().__init__()
        self.names = frozenset(names)


class Call(Named):
    """Calls of functions and classes by qualified name; the site's node is the call.

    A class is also called by ``super().__init__()``, and by the name of a project class that inherits its constructor.
    """

    __slots__ = ()


class Method(Named):
    """Calls ``x.name(...)``, whatever ``x`` is; the site's node is the call."""

    __slots__ = ()


class Import(Named):
    """Import statements that bind one of these qualified names; the site's node is the statement."""

    __slots__ = ()


class Store(Named):
    """Assignments into objects of these qualified names or a part of them; the site's node is the target.

    ``os.environ`` of ``os.environ["KEY"] = x``, ``torch.backends`` of ``torch.backends.cudnn.benchmark = x``.
    """

    __slots__ = ()


class Statement(Part):
    """Compound statements and asserts by the names of their node types, such as ``If``, ``With``, ``FunctionDef``.

    ``mentioning``: only those whose header (test, items, decorators) has one of these qualified names.
    """

    __slots__ = ("kinds", "mentioning")
    fields = ("kinds", "mentioning")

    def __init__(self, *kinds: str, mentioning: Iterable[str] = ()) -> None:
        """Look for statements of these kinds."""
        super().__init__()
        self.kinds = frozenset(kinds)
        self.mentioning = frozenset(mentioning)


class NetworkCall(Part):
    """Calls that run a module with parameters (``self.net(x)``); the site's node is the call.

    Also through a method or function of the project that gives tensors of its graph (``model.policy(x)``).
    ``recorded``: only where autograd is known to record. ``looped``: only in a loop of their function.
    """

    __slots__ = ("looped", "recorded")
    fields = ("looped", "recorded")

    def __init__(self, *, recorded: bool = False, looped: bool = False) -> None:
        """Look for runs of networks."""
        super().__init__()
        self.recorded = recorded
        self.looped = looped


class Found(Part):
    """The nodes that a fact finds, as ``module:Class``: a ``Finder``, mostly of the rule's own."""

    __slots__ = ("finder",)
    fields = ("finder",)

    def __init__(self, finder: type) -> None:
        """Look where a fact says; it is kept by name."""
        super().__init__()
        self.finder = f"{finder.__module__}:{finder.__qualname__}"


class Comment(Part):
    """Comments that silence findings but silence none.

    They are no nodes: what there is to say is said under the rule's name without a call of ``check``.
    """

    __slots__ = ()


_PARTS: Mapping[str, type[Part]] = {
    kind.__name__: kind for kind in (Call, Method, Import, Store, Statement, NetworkCall, Found, Comment)
}

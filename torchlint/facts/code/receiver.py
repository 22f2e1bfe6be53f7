"""The object that a method runs on, as far as its class is known."""

from __future__ import annotations

from torchlint.late import dataclass
from torchlint.rule import Kind, Value


@dataclass(frozen=True, slots=True, order=True)
class Receiver:
    """An object of one class; ``derived``: or of any class that derives from it. Without a name: of any class at all.

    A constructor makes objects of exactly one class. An annotation, and a method that mentions its own object, name a
    class and leave those open that derive from it.
    """

    name: str = ""
    derived: bool = True


ANY = Receiver()
"""An object of any class that has the method."""
OWN: tuple[Receiver, ...] = ()
"""The receivers of a call on the object whose method makes the call."""


def receivers_of(value: Value) -> tuple[Receiver, ...]:
    """Return the objects that a value may be, as receivers; any object where its class is not known."""
    if value.kind not in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS) or not value.name:
        return (ANY,)
    return tuple(Receiver(name, value.derived) for name in value.name.split("|"))

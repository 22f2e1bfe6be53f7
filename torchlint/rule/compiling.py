"""What is known of code that is compiled: how it is passed by, broken, and compiled again."""

from __future__ import annotations

import enum

from torchlint.late import dataclass
from torchlint.rule.frequency import Hop


class BypassKind(enum.Enum):
    """How runs get past what was compiled."""

    DROPPED = "the result of torch.compile is not kept"
    NO_FORWARD = "the module's class has no forward"
    METHODS = "only methods besides forward are called"


@dataclass(frozen=True, slots=True)
class Bypass:
    """Runs that get past what was compiled.

    Attributes:
        way: how.
        name: of the class, or of the method that is called.
        place: a call that runs uncompiled; ``None`` where the result is not kept.
    """

    way: BypassKind
    name: str
    place: Hop | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """Modules that a call is given before the same function compiles them.

    Attributes:
        names: of the modules, as source.
        compiled: where the first of them is compiled.
        place: a call that runs one uncompiled.
    """

    names: tuple[str, ...]
    compiled: Hop
    place: Hop


class Splits(enum.Enum):
    """What breaks a graph."""

    NUMBER = "number"
    TEST = "test"
    TEXT = "text"
    CLOCK = "clock"


@dataclass(frozen=True, slots=True)
class Break:
    """A break in the graph of compiled code: what makes it, and where the code is compiled."""

    why: Splits
    compiled: Hop


@dataclass(frozen=True, slots=True)
class Changing:
    """An integer of a module that compiled code reads: as source, where hot code changes it, where it is compiled."""

    name: str
    changed: Hop
    compiled: Hop

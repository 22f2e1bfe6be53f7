"""How often what a framework calls runs, and in which phases, from the table in ``models/protocols.json``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from torchlint.facts.hotness.phases import STEP, UPDATE
from torchlint.late import dataclass
from torchlint.models import protocols
from torchlint.rule import Frequency


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """How often a framework calls something, for what (``step``, ``update``, or both), and the framework's name.

    ``when`` says more than the frequency does: an update may take several batches. ``guessed``: what the class has says
    so, and no framework. ``host``: in a worker of a loader, whose tensors lie on the host. ``records``: the framework
    leaves autograd on.
    """

    frequency: Frequency
    kinds: frozenset[str]
    framework: str
    when: str = ""
    guessed: bool = False
    host: bool = False
    records: bool = False


_OFTEN: Mapping[str, tuple[Frequency, frozenset[str]]] = {
    "forward": (Frequency.STEP, frozenset({STEP, UPDATE})),
    "step": (Frequency.STEP, frozenset({STEP})),
    "update": (Frequency.UPDATE, frozenset({UPDATE})),
    "batch": (Frequency.UPDATE, frozenset({UPDATE})),
    "evaluation": (Frequency.EPISODE, frozenset()),
    "episode": (Frequency.EPISODE, frozenset({STEP})),
}


_WHEN = {"batch": "once per micro-batch"}


def entry_point(often: str, framework: str, *, host: bool = False, records: bool = False) -> EntryPoint:
    """Make the entry point of a method that a framework calls that often: ``forward``, ``step``, ``update`` ..."""
    frequency, kinds = _OFTEN[often]
    return EntryPoint(frequency, kinds, framework, _WHEN.get(often, ""), host=host, records=records)


@lru_cache(maxsize=4096)
def entry_points(base: str) -> Mapping[str, EntryPoint]:
    """Return the methods that a framework calls on objects whose class derives from ``base``, a qualified name."""
    return _points(protocols.called(base))


@lru_cache(maxsize=4096)
def held(base: str) -> Mapping[str, EntryPoint]:
    """Return the attributes that hold functions which the framework calls, in classes that derive from ``base``."""
    return _points(protocols.held(base))


@lru_cache(maxsize=4096)
def given(call: str) -> Mapping[str, EntryPoint]:
    """Return the functions given to a call that are called again and again, by position (``"1"``) or keyword.

    ``call`` is a qualified name, or the name of a method after a dot, of an object that is not the project's.
    """
    return _points(protocols.given(call))


def _points(called: Mapping[str, protocols.Called]) -> Mapping[str, EntryPoint]:
    return {
        name: entry_point(each.often, each.framework, host=each.host, records=each.records)
        for name, each in called.items()
    }

"""What frameworks call, hold, log and return, by the classes and functions of theirs that a project uses.

The table is ``protocols.json``. A class is known by the framework that it comes from: a name such as ``Agent`` or
``Wrapper`` means something only with its package in front. A few names that no two projects share count wherever they
come from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypedDict

RATES = ("forward", "step", "update", "batch", "evaluation", "episode")
"""How often a framework calls something: ``forward`` for each step of an environment and for each gradient update."""


class HeldFunctions(TypedDict, total=False):
    """Attributes of objects of a framework that hold a function, by how often it calls that."""

    step: list[str]
    update: list[str]
    batch: list[str]
    episode: list[str]


class Role(TypedDict, total=False):
    """Classes of a framework, and the methods of theirs that it calls, by how often."""

    classes: list[str]
    alone: list[str]
    module: bool
    forward: list[str]
    step: list[str]
    update: list[str]
    batch: list[str]
    evaluation: list[str]
    episode: list[str]
    logs: list[str]
    logged: list[str]
    gives: dict[str, int]
    takes: dict[str, int]
    answers: dict[str, str]
    named: list[str]
    held: HeldFunctions
    host: bool
    records: bool
    makes: list[str]


class Given(TypedDict, total=False):
    """Calls of a framework, and which of the functions given to them it calls, by how often."""

    calls: list[str]
    host: bool
    records: bool
    step: list[str]
    update: list[str]
    batch: list[str]
    episode: list[str]


class Protocol(TypedDict, total=False):
    """A framework: its modules, classes and calls; ``places`` are those that move what they are given to a device."""

    framework: str
    modules: list[str]
    places: list[str]
    roles: list[Role]
    given: list[Given]


class Called(NamedTuple):
    """How often a framework calls something, its name, and whether it does in a worker of a loader, on the host.

    ``records``: it leaves autograd on for the call.
    """

    often: str
    framework: str
    host: bool
    records: bool = False


@lru_cache(maxsize=1)
def frameworks() -> Sequence[Protocol]:
    """Read the table."""
    text = (Path(__file__).parent / "protocols.json").read_text(encoding="utf-8")
    protocols: list[Protocol] = json.loads(text)["protocols"]
    return protocols


@lru_cache(maxsize=4096)
def called(base: str) -> Mapping[str, Called]:
    """Find the methods that a framework calls on objects whose class derives from ``base``, a qualified name."""
    found: dict[str, Called] = {}
    for protocol, role in _roles(base):
        for often in RATES:
            for name in _names(role, often):
                found.setdefault(name, _called(often, protocol, role))
    return found


def _called(often: str, protocol: Protocol, row: Role | Given) -> Called:
    return Called(often, protocol["framework"], row.get("host", False), row.get("records", False))


@lru_cache(maxsize=4096)
def held(base: str) -> Mapping[str, Called]:
    """Find the attributes of objects of a class derived from ``base`` that hold a function which a framework calls."""
    found: dict[str, Called] = {}
    for protocol, role in _roles(base):
        for often in RATES:
            for name in _names(role.get("held", {}), often):
                found.setdefault(name, Called(often, protocol["framework"], False))
    return found


@lru_cache(maxsize=1)
def _entered() -> frozenset[str]:
    roles = [role for protocol in frameworks() for role in protocol["roles"]]
    return frozenset(method for role in roles for often in RATES for method in _names(role, often))


def is_entry_point(name: str) -> bool:
    """Return whether some framework calls a method of that name."""
    return name in _entered()


@lru_cache(maxsize=4096)
def given(call: str) -> Mapping[str, Called]:
    """Return the functions given to a call that are called again and again, by position (``"1"``) or keyword.

    ``"decorated"`` is what the call decorates.

    ``call`` is a qualified name, or the name of a method after a dot, of an object that is not the project's.
    """
    found: dict[str, Called] = {}
    for protocol in frameworks():
        for entry in protocol.get("given", ()):
            if not any(_fits_call(call, pattern, protocol["modules"]) for pattern in entry["calls"]):
                continue
            for often in RATES:
                made = _called(often, protocol, entry)
                found.update({argument: made for argument in _names(entry, often) if argument not in found})
    return found


@lru_cache(maxsize=4096)
def is_module(name: str) -> bool:
    """Return whether a class of a framework is an ``nn.Module``."""
    return any(role.get("module", False) for _, role in _roles(name))


@lru_cache(maxsize=4096)
def makers(name: str) -> frozenset[str]:
    """Return the class methods with which a framework makes a trained module of a class."""
    return frozenset(method for _, role in _roles(name) for method in role.get("makes", ()))


@lru_cache(maxsize=4096)
def places(name: str) -> bool:
    """Return whether a framework, or that class or function of it, moves its arguments to an accelerator."""
    head, _, rest = name.partition(".")
    found = (protocol for protocol in frameworks() if head in protocol["modules"])
    return any(_fits(rest, pattern) for protocol in found for pattern in protocol.get("places", ()))


@lru_cache(maxsize=4096)
def logs(base: str) -> frozenset[str]:
    """Return the methods by which a framework logs, on objects whose class derives from ``base``."""
    return frozenset(method for _, role in _roles(base) for method in role.get("logs", ()))


@lru_cache(maxsize=4096)
def logged(base: str) -> frozenset[str]:
    """Return the attributes that a framework logs all of, of objects whose class derives from ``base``."""
    return frozenset(attribute for _, role in _roles(base) for attribute in role.get("logged", ()))


@lru_cache(maxsize=4096)
def gives(base: str) -> Mapping[str, int]:
    """Return how many tensors the methods of a framework return, on objects whose class derives from ``base``."""
    return {name: count for _, role in _roles(base) for name, count in role.get("gives", {}).items()}


@lru_cache(maxsize=4096)
def takes(base: str) -> Mapping[str, int]:
    """Find which parameter of the methods of a framework holds a batch of tensors, on the device of the model."""
    return {name: place for _, role in _roles(base) for name, place in role.get("takes", {}).items()}


@lru_cache(maxsize=4096)
def answers(base: str) -> Mapping[str, str]:
    """Find the attributes of a framework's objects whose calls answer with what methods of the project's classes give.

    Each with ``Class.method``, on objects whose class derives from ``base``.
    """
    return {name: method for _, role in _roles(base) for name, method in role.get("answers", {}).items()}


@lru_cache(maxsize=1)
def _logging() -> frozenset[str]:
    return frozenset(
        method for protocol in frameworks() for role in protocol["roles"] for method in role.get("logs", ())
    )


def logging_method(name: str) -> bool:
    """Return whether some framework logs by a method of that name."""
    return name in _logging()


@lru_cache(maxsize=4096)
def named(name: str) -> str:
    """Return the class of a framework whose objects of unknown origin bear a name, else an empty text."""
    for protocol in frameworks():
        for role in protocol["roles"]:
            if name.lstrip("_") in role.get("named", ()):
                return f"{protocol['modules'][0]}.{role['classes'][0]}"
    return ""


def _roles(name: str) -> Iterator[tuple[Protocol, Role]]:
    head, _, rest = name.partition(".")
    last = name.rpartition(".")[2]
    for protocol in frameworks():
        for role in protocol["roles"]:
            inside = head in protocol["modules"] and any(_fits(rest, pattern) for pattern in role["classes"])
            if rest and (inside or last in role.get("alone", ())):
                yield protocol, role


def _fits(rest: str, pattern: str) -> bool:
    """Whether a name below its package fits a pattern; one without a dot mentions the last component alone."""
    return _matches(rest if "." in pattern else rest.rpartition(".")[2], pattern)


def _matches(name: str, pattern: str) -> bool:
    """Whether a name fits a pattern, in which ``*`` stands for anything; regular expressions take longer to compile."""
    first, *others = pattern.split("*")
    if not others:
        return name == pattern
    *middle, last = others
    place, end = len(first), len(name) - len(last)
    if place > end or not (name.startswith(first) and name.endswith(last)):
        return False
    for part in middle:
        place = name.find(part, place, end) + len(part)
        if place < len(part):
            return False
    return True


def _fits_call(call: str, pattern: str, modules: Sequence[str]) -> bool:
    if call.startswith("."):
        return call == pattern
    head, _, rest = call.partition(".")
    return head in modules and not pattern.startswith(".") and _fits(rest, pattern)


def _names(role: Role | Given | HeldFunctions, often: str) -> Sequence[str]:
    names: object = role.get(often, ())
    assert isinstance(names, (list, tuple))
    return names

"""The attributes that a row about a library may have, and the check of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from torchlint.late import dataclass

SECTIONS = ("functions", "methods")
"""The sections of rows that anybody can add; in the table of libraries ``operations`` are both at once."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of a row: what it says, and its values; without values it is ``true``, an integer, or a text."""

    says: str
    values: tuple[str, ...] = ()
    kind: type = str


ATTRIBUTES: Mapping[str, Attribute] = MappingProxyType(
    {
        "about": Attribute("tells of a tensor without reading its elements", kind=bool),
        "adds": Attribute(
            "puts an argument into the receiver, as one element, or all that is in it", ("element", "elements")
        ),
        "at": Attribute("the position of the argument that it adds, 0 where not given", kind=int),
        "autograd": Attribute(
            "adds up gradients (``backward``) or returns them, hooks into their computation, makes a leaf record "
            "(``leaf``), switches recording on (``records``) or off (``pauses``)",
            ("backward", "gradient", "hooks", "leaf", "pauses", "records"),
        ),
        "axis": Attribute(
            "the axis along which it joins: a new one, one that is given, or a fixed one", ("fixed", "given", "new")
        ),
        "called": Attribute(
            "a framework calls this method of all that derives from its class: in a forward pass, once per step of an "
            "environment, per gradient update, per batch, per episode, or in an evaluation",
            ("batch", "episode", "evaluation", "forward", "step", "update"),
        ),
        "clock": Attribute(
            "reads a clock: of the wall, of the time spent on the CPU, of the date, or of a device",
            ("cpu", "date", "device", "wall"),
        ),
        "elsewhere": Attribute("objects of other kinds have other methods of that name", kind=bool),
        "graph": Attribute("no autograd graph leads from what it returns to what it is given", ("ends",)),
        "joins": Attribute(
            "makes one tensor or array of many: of parts in a sequence, of the elements of a list, or of two arguments",
            ("elements", "parts", "two"),
        ),
        "logs": Attribute("writes what it is given into a log", kind=bool),
        "moves": Attribute(
            "moves a tensor to the host, to an accelerator, or to the device that is given", ("device", "given", "host")
        ),
        "removes": Attribute("takes elements out of the receiver", kind=bool),
        "reorders": Attribute("changes the order or the values of what is in the receiver", kind=bool),
        "returns": Attribute(
            "what it returns: the receiver; of a container an element, its elements (``parts``), its keys or a copy; "
            "a number, a truth value, a list, an array, a tensor",
            ("array", "bool", "copy", "element", "keys", "list", "number", "parts", "receiver", "tensor"),
        ),
        "runs": Attribute("each call is a step of an environment, or a gradient update", ("step", "update")),
        "waits": Attribute(
            "the host waits for the device: to read elements, to know a shape, or for all that is queued",
            ("queue", "reads", "shape"),
        ),
        "wraps": Attribute("returns its argument in another form, to be called like it", ("function", "module")),
    }
)


class WrongRowError(Exception):
    """A row that cannot be.

    Attributes:
        message: what is wrong with it.
        path: the keys that lead to what is wrong.
    """

    def __init__(self, message: str, *path: str) -> None:
        """Say what is wrong, and where."""
        super().__init__(message)
        self.message = message
        self.path = path


def check_rows(data: object, sections: Sequence[str] = SECTIONS) -> dict[str, dict[str, dict[str, dict[str, object]]]]:
    """Check a table of rows: section, owner, name, attribute.

    Raises:
        WrongRowError: a section or an attribute is unknown, or a value is not one of those that the attribute has.
    """
    checked: dict[str, dict[str, dict[str, dict[str, object]]]] = {}
    for section, owners in _table(data).items():
        if section not in sections:
            raise WrongRowError(f"{section!r} is not one of {', '.join(sections)}", section)
        for owner, names in _table(owners, section).items():
            for name, row in _table(names, section, owner).items():
                path = (section, owner, name)
                found = _table(row, *path)
                for attribute, value in found.items():
                    _check(attribute, value, *path, attribute)
                checked.setdefault(section, {}).setdefault(owner, {})[name] = found
    return checked


def _table(value: object, *path: str) -> dict[str, object]:
    if not isinstance(value, dict) or not value:
        raise WrongRowError("expected a table", *path)
    return {str(key): part for key, part in value.items()}


def _check(attribute: str, value: object, *path: str) -> None:
    known = ATTRIBUTES.get(attribute)
    if known is None:
        raise WrongRowError(f"{attribute!r} is not one of {', '.join(sorted(ATTRIBUTES))}", *path)
    if known.values and value not in known.values:
        raise WrongRowError(f"{value!r} is not one of {', '.join(known.values)}", *path)
    if type(value) is not known.kind or value is False:
        expected = {bool: "true", int: "an integer", str: "a string"}[known.kind]
        raise WrongRowError(f"expected {expected}, not {value!r}", *path)

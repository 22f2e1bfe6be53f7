"""The attributes that a row about a library may have, and the check of rows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from torchlint.late import dataclass

SECTIONS = ("functions", "methods", "operations")


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of a row: what it says, and its values; without values it is ``true``, an integer, or a text."""

    says: str
    values: tuple[str, ...] = ()
    kind: type = str


ATTRIBUTES: Mapping[str, Attribute] = MappingProxyType(
    {
        "adds": Attribute(
            "puts an argument into the receiver, as one element, or all that is in it", ("element", "elements")
        ),
        "at": Attribute("the position of the argument that it adds, 0 where not given", kind=int),
        "removes": Attribute("takes elements out of the receiver", kind=bool),
        "reorders": Attribute("changes the order or the values of what is in the receiver", kind=bool),
        "elsewhere": Attribute("objects of other kinds have other methods of that name", kind=bool),
        "returns": Attribute(
            "what it returns: of a container an element, its elements (``parts``), its keys or a copy; or a number",
            ("copy", "element", "keys", "number", "parts"),
        ),
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


def check_rows(data: object) -> dict[str, dict[str, dict[str, dict[str, object]]]]:
    """Check a table of rows: section, owner, name, attribute.

    Raises:
        WrongRowError: a section or an attribute is unknown, or a value is not one of those that the attribute has.
    """
    checked: dict[str, dict[str, dict[str, dict[str, object]]]] = {}
    for section, owners in _table(data).items():
        if section not in SECTIONS:
            raise WrongRowError(f"{section!r} is not one of {', '.join(SECTIONS)}", section)
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

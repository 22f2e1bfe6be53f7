"""What people may set of a rule: ``[tool.torchlint.rules.TL703] shortest-sleep = 0.05``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from torchlint.late import dataclass

_Value = TypeVar("_Value", bool, int, float, str, "tuple[str, ...]")
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a string", tuple: "a list of strings"}


class WrongOptionError(Exception):
    """A value that an option cannot have; the text says what it takes."""


@dataclass(frozen=True)
class Option(Generic[_Value]):
    """One option of a rule: its name, what holds where nothing sets it, what it does, and its least value.

    The type of the default is that of the option: a truth value, a whole number, a number, a string or strings.
    """

    name: str
    default: _Value
    text: str
    least: float | None = None

    @property
    def kind(self) -> str:
        """Return what the option takes, in words."""
        bound = f", {self.least:g} or more" if self.least is not None else ""
        return f"{_KINDS[type(self.default)]}{bound}"

    @property
    def plain(self) -> object:
        """Return the default as settings files and JSON have it."""
        return list(self.default) if isinstance(self.default, tuple) else self.default

    def read(self, value: object) -> object:
        """Return a value of a settings file as the rule gets it.

        Raises:
            WrongOptionError: the option does not take it.
        """
        if isinstance(self.default, tuple):
            if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
                return tuple(value)
        elif isinstance(self.default, float):
            if isinstance(value, (int, float)) and not isinstance(value, bool) and self._is_enough(value):
                return float(value)
        elif type(value) is type(self.default) and self._is_enough(value):
            return value
        raise WrongOptionError(f"{self.name} takes {self.kind}, not {value!r}")

    def of(self, given: Mapping[str, object]) -> _Value:
        """Return the value among those that are set, which ``read`` made; else the default."""
        value = given.get(self.name, self.default)
        assert isinstance(value, type(self.default))
        return value

    def _is_enough(self, value: object) -> bool:
        return self.least is None or (isinstance(value, (int, float)) and value >= self.least)

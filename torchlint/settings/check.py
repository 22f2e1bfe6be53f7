"""What the values of settings may be: how each kind of value is read, and its JSON schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from torchlint.late import dataclass, regex
from torchlint.rule import Change
from torchlint.settings.options import RunOption, in_files

if TYPE_CHECKING:
    from torchlint.models import Rows

# How much two words must have in common for one to be taken for the other.
_NEAR = 0.6
_TORCH = regex(r"(\d+)\.(\d+)(\.\d+)*")
_WEB = regex(r"https?://[!-~]+")
_FUNCTION = regex(r"\w+(\.\w+)*:\w+(\.\w+)*")


class SettingsError(Exception):
    """The configuration is wrong; the text says where, how, and what may have been meant."""


class WrongKeyError(Exception):
    """A key or value that cannot be, before it is known in which file and line.

    Attributes:
        message: what is wrong with it.
        path: the names of the tables and the key that lead to it, below the table of torchlint.
    """

    def __init__(self, message: str, *path: str) -> None:
        """Say what is wrong, and with which key."""
        super().__init__(message)
        self.message = message
        self.path = path


def check_keys(table: Mapping[str, object]) -> dict[str, object]:
    """Check a table of settings, and return the values as the fields of ``Settings`` hold them, by key.

    Raises:
        WrongKeyError: a key is unknown, or its value has the wrong type or is not one of those that can be.
    """
    checked = {}
    known = in_files()
    for key, value in table.items():
        option = known.get(key)
        if option is None:
            raise WrongKeyError(f"unknown key {key!r}{nearest(key, known)}", key)
        try:
            checked[key] = kind_of(option).read(value)
        except WrongKeyError as error:
            raise WrongKeyError(f"{key}: {error.message}", key, *error.path) from None
    return checked


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the end of a message that names the known word nearest to a wrong one; empty where none is near."""
    from difflib import SequenceMatcher

    meant = word.lower().replace("_", "-")
    matcher = SequenceMatcher(b=meant)

    def closeness(name: str) -> tuple[float, int]:
        """Return how similar two words are, and in how many places.

        ``TL101`` is nearer to ``TL1O1`` than ``TL611`` is.
        """
        matcher.set_seq1(name.lower())
        return matcher.ratio(), sum(map(str.__eq__, name.lower(), meant))

    best = max(sorted(known), key=closeness, default="")
    return f"; did you mean {best!r}?" if word and closeness(best)[0] >= _NEAR else ""


def _described(value: object) -> str:
    names = {bool: "a boolean", str: "a string", int: "an integer", float: "a float", list: "a list", dict: "a table"}
    return names.get(type(value), type(value).__name__)


def _wrong_type(expected: str, value: object) -> WrongKeyError:
    return WrongKeyError(f"expected {expected}, not {_described(value)}")


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong_type("true or false", value)
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong_type("an integer", value)
    if value < 1:
        raise WrongKeyError(f"expected at least 1, not {value}")
    return value


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise _wrong_type("a string", value)
    return value


def _address(value: object) -> str:
    address = _string(value)
    if not _WEB.fullmatch(address):
        raise WrongKeyError(f"{address!r} is not an address that begins with http:// or https://")
    return address.rstrip("/")


def _path(value: object) -> Path:
    return value if isinstance(value, Path) else Path(_string(value))


def torch_version(value: object) -> str:
    """Return a version of torch as major and minor number.

    Raises:
        WrongKeyError: it is none.
    """
    match = _TORCH.fullmatch(_string(value))
    if match is None:
        raise WrongKeyError(f"{value!r} is not a version of torch such as '2.2'")
    return f"{int(match[1])}.{int(match[2])}"


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise _wrong_type("a list of strings", value)
    for item in value:
        if not isinstance(item, str):
            raise WrongKeyError(f"expected a list of strings, but it holds {_described(item)}")
    return tuple(value)


def _one_of(choices: Sequence[str]) -> Callable[[object], str]:
    def read(value: object) -> str:
        word = _string(value)
        if word not in choices:
            raise WrongKeyError(f"{word!r} is not one of {', '.join(choices)}{nearest(word, choices)}")
        return word

    return read


def _changes(value: object) -> frozenset[Change]:
    if isinstance(value, frozenset) and all(isinstance(item, Change) for item in value):
        return value
    read = _one_of([change.value for change in Change])
    return frozenset(Change(read(item)) for item in _strings(value))


def _functions(value: object) -> tuple[str, ...]:
    functions = _strings(value)
    for function in functions:
        if not _FUNCTION.fullmatch(function):
            raise WrongKeyError(f"{function!r} is not of the form package.module:function")
    return functions


def _selectors_by_glob(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if isinstance(value, tuple):
        return value  # read from the command line
    if not isinstance(value, dict):
        raise _wrong_type("a table of lists of strings", value)
    return tuple((str(glob), _selectors_of(str(glob), selectors)) for glob, selectors in value.items())


def _selectors_of(glob: str, value: object) -> tuple[str, ...]:
    try:
        return _strings(value)
    except WrongKeyError as error:
        raise WrongKeyError(f"{glob}: {error.message}", glob) from None


def _tables(value: object) -> dict[str, dict[str, object]]:
    if not isinstance(value, dict):
        raise _wrong_type("a table of tables", value)
    for name, table in value.items():
        if not isinstance(table, dict):
            raise WrongKeyError(f"{name}: expected a table, not {_described(table)}", str(name))
    return {str(name): dict(table) for name, table in value.items()}


def _models(value: object) -> Rows:
    from torchlint.models import WrongRowError, check_rows

    try:
        return check_rows(value) if value else {}
    except WrongRowError as error:
        raise WrongKeyError(f"{'.'.join(error.path)}: {error.message}", *error.path) from None


def _packages(value: object) -> tuple[str, ...]:
    packages = _strings(value)
    for package in packages:
        if not all(part.isidentifier() for part in package.split(".")):
            raise WrongKeyError(f"{package!r} is not the name of a package")
    return packages


def _any_of(words: Iterable[str]) -> dict[str, object]:
    return {"type": "string", "enum": list(words)}


def _list_of(item: Mapping[str, object]) -> dict[str, object]:
    return {"type": "array", "items": item}


def _table_of(value: Mapping[str, object]) -> dict[str, object]:
    return {"type": "object", "additionalProperties": value}


def _matching(pattern: str) -> dict[str, object]:
    return {"type": "string", "pattern": pattern}


def _models_schema() -> dict[str, object]:
    from torchlint.models import ATTRIBUTES

    types: dict[type, dict[str, object]] = {bool: {"const": True}, int: {"type": "integer"}, str: {"type": "string"}}
    attributes = {
        name: {"description": known.says, **(_any_of(known.values) if known.values else types[known.kind])}
        for name, known in ATTRIBUTES.items()
    }
    row = {"type": "object", "minProperties": 1, "additionalProperties": False, "properties": attributes}
    sections = dict.fromkeys(("functions", "methods"), _table_of(_table_of(row)))
    return {"type": "object", "additionalProperties": False, "properties": sections}


@dataclass(frozen=True, slots=True)
class ValueKind:
    """What values an option takes.

    Attributes:
        read: makes the value of the field in ``Settings`` of what a file or the command line gives.
        schema: the JSON schema of its values in files.
    """

    read: Callable[[object], object]
    schema: Mapping[str, object]


_STRING: Mapping[str, object] = {"type": "string"}
_NAMES = ValueKind(_strings, _list_of(_STRING))
_KINDS: Mapping[str, ValueKind] = MappingProxyType(
    {
        "switch": ValueKind(_flag, {"type": "boolean"}),
        "count": ValueKind(_count, {"type": "integer", "minimum": 1}),
        "path": ValueKind(_path, _STRING),
        "file-name": ValueKind(_string, _STRING),
        "address": ValueKind(_address, _matching("^https?://[!-~]+$")),
        "torch-version": ValueKind(torch_version, _matching(r"^\d+\.\d+(\.\d+)*$")),
        "selectors": _NAMES,
        "patterns": _NAMES,
        "functions": ValueKind(_functions, _list_of(_matching(r"^\w+(\.\w+)*:\w+(\.\w+)*$"))),
        "packages": ValueKind(_packages, _list_of(_matching(r"^\w+(\.\w+)*$"))),
        "changes": ValueKind(_changes, _list_of(_any_of(change.value for change in Change))),
        "ignores": ValueKind(_selectors_by_glob, _table_of(_list_of(_STRING))),
        "tables": ValueKind(_tables, _table_of({"type": "object"})),
    }
)


def kind_of(option: RunOption) -> ValueKind:
    """Return what values an option takes in settings files."""
    if option.choices:
        return ValueKind(_one_of(option.choices), _any_of(option.choices))
    if option.kind == "models":  # whose schema holds the table of attributes
        return ValueKind(_models, _models_schema())
    return _KINDS[option.kind]

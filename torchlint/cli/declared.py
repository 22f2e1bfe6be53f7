"""The options of the table of settings as options of click."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from torchlint.cli.nearest import SELECTORS, FilePatterns, Words, choice_option
from torchlint.rule import Change
from torchlint.settings.check import WrongKeyError, torch_version
from torchlint.settings.options import COMMAND, OPTIONS, RunOption

if TYPE_CHECKING:
    from click.decorators import FC

_Item = TypeVar("_Item")


def declared(name: str, help: str = "") -> Callable[[FC], FC]:
    """Return an option of the table for a command, with its own help where it means something else."""
    option = _BY_NAME[name]
    names = (*option.flags, option.name)
    text = help or option.help
    if option.choices:
        return choice_option(*names, choices=option.choices, envvar=option.variable or None, text=text)
    shown, variable = option.metavar or None, option.variable or None
    return click.option(*names, help=text, metavar=shown, envvar=variable, **_of_kind(option))


def _of_kind(option: RunOption) -> Mapping[str, Any]:
    """What click has to know of an option because of what it takes."""
    if option.kind == "switch":
        # Settings files count where the command line says nothing.
        return {"is_flag": True, "default": False if option.scope == COMMAND else None}
    return _KINDS[option.kind]


def _joined(
    _context: click.Context, _parameter: click.Parameter, values: tuple[tuple[_Item, ...], ...]
) -> tuple[_Item, ...] | None:
    """The words of a repeated option in one tuple; ``None`` when it was not given, so that settings files count."""
    return tuple(word for words in values for word in words) if values else None


def _torch(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    try:
        return value if value is None else torch_version(value)
    except WrongKeyError as error:
        raise click.BadParameter(error.message) from error


def _list(kind: Words | FilePatterns) -> Mapping[str, Any]:
    return {"type": kind, "multiple": True, "callback": _joined}


_BY_NAME: Mapping[str, RunOption] = MappingProxyType({option.name: option for option in OPTIONS if option.flags})
_KINDS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "text": {},
        "texts": {"multiple": True},
        "count": {"type": click.IntRange(min=1)},
        "path": {"type": click.Path(path_type=Path)},
        "file": {"type": click.Path(path_type=Path, dir_okay=False)},
        "folder": {"type": click.Path(path_type=Path, file_okay=False)},
        "torch-version": {"callback": _torch},
        "selectors": _list(Words(SELECTORS)),
        "patterns": _list(Words("patterns")),
        "changes": _list(Words("changes", [change.value for change in Change])),
        "ignores": _list(FilePatterns()),
    }
)

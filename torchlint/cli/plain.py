"""Plain command lines of ``torchlint check`` read without click, which takes longer to load than a run may take.

What is read is what click would read. Anything unusual is left to click: help, errors, files of arguments, other
commands.
"""

from __future__ import annotations

import os

from torchlint.cli.flags import CHOICES, ENVIRONMENT, FLAGS, START

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_COMMAND = "check"
_SWITCHES = ("0", "1")
_STDIN = "-"
# What writes files, asks others than the file system, or does not end.
_OTHERWISE = (
    *(
        "fix",
        "interactive",
        "diff",
        "fix_only",
        "add_noqa",
        "since",
        "output_file",
        "stdin_filename",
        "watch",
        "explain_hot",
    ),
    *("show_files", "show_settings", "no_cache", "profile", "mapping", "html"),
    *("save", "compare", "badge"),
)
# A service's page to which every run adds something.
_PAGE = "GITHUB_STEP_SUMMARY"


def read(args: list[str]) -> dict[str, Any] | None:
    """The parameters of the command by name, as click gives them to it; ``None``: click is to read the line."""
    if not args or args[0] != _COMMAND or any(word.startswith("@") for word in args):
        return None
    given: dict[str, Any] = dict(START)
    paths: list[str] = []
    rest = args[:0:-1]
    while rest:
        word = rest.pop()
        if word == "-" or not word.startswith("-"):
            paths.append(word)
            continue
        name, equals, value = word.partition("=")
        if name not in FLAGS or (equals and not name.startswith("--")):
            return None
        parameter, kind = FLAGS[name]
        if kind in ("on", "off"):
            given[parameter] = None if equals else kind == "on"
        elif equals or rest:
            given[parameter] = _value(parameter, kind, value if equals else rest.pop(), given[parameter])
        else:
            return None
        if given[parameter] is None:
            return None
    given["paths"] = tuple(paths)
    return given if _take_environment(given) else None


def is_repeatable(given: Mapping[str, object]) -> bool:
    """Whether a run with these parameters does no more than write what it found in files."""
    paths = given["paths"]
    assert isinstance(paths, tuple)
    return (
        all(given[name] == START[name] for name in _OTHERWISE)
        and _STDIN not in paths
        and not os.environ.get(_PAGE)
        and not any("\n" in path for path in paths)
    )


def _value(parameter: str, kind: str, value: str, before: Any) -> Any:
    """What the value of an option makes of its parameter; ``None``: click is to say."""
    if kind == "text":
        return value
    if kind == "each":
        return (*before, value)
    if kind in ("path", "file", "folder"):
        return _path(kind, value)
    if kind == "count":
        return int(value) if value.isascii() and value.isdigit() and int(value) >= 1 else None
    words = tuple(word.strip() for word in value.split(",") if word.strip()) if kind == "words" else (value,)
    choices = CHOICES.get(parameter)
    if choices is not None and any(word not in choices for word in words):
        return None
    return (*(before or ()), *words) if kind == "words" else value


def _path(kind: str, value: str) -> Any:
    wrong = kind != "path" and os.path.exists(value) and os.path.isdir(value) is not (kind == "folder")
    if wrong or not _can_be_read(value):
        return None
    from pathlib import Path

    return Path(value)


def _can_be_read(path: str) -> bool:
    """Whether click has nothing to say of a path: it may be missing, but not locked away."""
    return os.access(path, os.R_OK) or not os.path.exists(path)


def _take_environment(given: dict[str, Any]) -> bool:
    """Fill in what the environment says where the command line says nothing; false: click is to say."""
    for variable, (parameter, kind) in ENVIRONMENT.items():
        value = os.environ.get(variable)
        if not value or given[parameter] != START[parameter]:
            continue
        if kind == "on":
            given[parameter] = value == "1" if value in _SWITCHES else None
        else:
            given[parameter] = _value(parameter, kind, value, given[parameter])
        if given[parameter] is None:
            return False
    return True

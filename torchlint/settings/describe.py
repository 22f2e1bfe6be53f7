"""Every setting in words, and the settings of a run as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType

from torchlint.late import dataclass
from torchlint.rule.versions import OLDEST_PYTHON, OLDEST_TORCH
from torchlint.settings.check import kind_of
from torchlint.settings.model import Settings
from torchlint.settings.options import in_files

# A table in TOML and pairs in Settings, so that an empty one has to be told from an empty list.
_TABLE = "per-file-ignores"
_ASSUMED = MappingProxyType(
    {
        "target-torch": ".".join(map(str, OLDEST_TORCH)),
        "target-version": "py{}{}".format(*OLDEST_PYTHON),
    }
)


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the settings: what it does in one sentence, the JSON schema of its values, and an example in TOML."""

    text: str
    schema: Mapping[str, object]
    example: str


KEYS: Mapping[str, Key] = MappingProxyType(
    {key: Key(option.text, kind_of(option).schema, option.example) for key, option in in_files().items()}
)


def schema() -> dict[str, object]:
    """Return the JSON schema of ``torchlint.toml``, which is also that of ``[tool.torchlint]``."""
    properties = {
        key: {"description": known.text, **known.schema, **_default(key)} for key, known in sorted(KEYS.items())
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Settings of torchlint",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def schema_text() -> str:
    """Return the schema as the text of a file."""
    return json.dumps(schema(), indent=2, default=dict) + "\n"


def _default(key: str) -> dict[str, object]:
    value = default_of(key)
    return {} if value is None else {"default": value}


def default_of(key: str) -> object:
    """Return the default of a setting as JSON has it, ``None`` if it has none."""
    value = _plain(getattr(Settings(Path()), key.replace("-", "_"), None))
    return {} if key == _TABLE and not value else value


def _plain(value: object) -> object:
    """A value of ``Settings`` as TOML and JSON have it."""
    if isinstance(value, frozenset):
        return sorted(change.value for change in value)
    if isinstance(value, Path):
        return value.as_posix()
    if isinstance(value, tuple):
        pairs = [item for item in value if isinstance(item, tuple)]
        return {glob: list(selectors) for glob, selectors in pairs} if pairs else list(value)
    return value


def as_toml(settings: Settings) -> str:
    """Return all settings with their values, as a settings file would have them; what has none is in a comment."""
    lines = [f"# root: {settings.root}", f"# file: {settings.file or 'none'}"]
    known = {field.name.replace("_", "-") for field in fields(settings)}
    for key in sorted(known & KEYS.keys()):
        value = _plain(getattr(settings, key.replace("-", "_")))
        if key == _TABLE and not value:
            value = {}
        assumed = f", so {_ASSUMED[key]} holds" if key in _ASSUMED else ""
        lines.append(f"# {key} is not set{assumed}" if value is None else f"{key} = {toml_value(value)}")
    return "\n".join(lines) + "\n"


def toml_value(value: object) -> str:
    """Return a value in the notation of TOML."""
    if isinstance(value, Mapping):
        items = [f"{toml_value(str(key))} = {toml_value(item)}" for key, item in value.items()]
        return f"{{ {', '.join(items)} }}" if items else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, str):
        # The escapes of JSON are those of TOML, but for lone surrogates and DEL, which are shown.
        shown = value.encode("utf-8", "backslashreplace").decode().replace("\x7f", "\\x7f")
        return json.dumps(shown, ensure_ascii=False)
    return json.dumps(value)

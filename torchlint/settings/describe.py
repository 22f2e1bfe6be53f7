"""Every setting in words, and the settings of a run as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType

from torchlint.late import dataclass
from torchlint.models import ATTRIBUTES
from torchlint.rule import Change
from torchlint.rule.versions import OLDEST_PYTHON, OLDEST_TORCH
from torchlint.settings.check import DEVICES, FAIL_LEVELS, OUTPUT_FORMATS, PYTHONS
from torchlint.settings.model import Settings

_STRINGS = MappingProxyType({"type": "array", "items": {"type": "string"}})
_STRING = MappingProxyType({"type": "string"})
_FLAG = MappingProxyType({"type": "boolean"})
_FUNCTIONS = MappingProxyType({"type": "array", "items": {"type": "string", "pattern": r"^\w+(\.\w+)*:\w+(\.\w+)*$"}})


# A table in TOML and pairs in Settings, so that an empty one has to be told from an empty list.
_TABLE = "per-file-ignores"
_ASSUMED = MappingProxyType(
    {
        "target-torch": ".".join(map(str, OLDEST_TORCH)),
        "target-version": "py{}{}".format(*OLDEST_PYTHON),
    }
)


def _one_of(*words: str) -> Mapping[str, object]:
    return {"type": "string", "enum": list(words)}


def _models_schema() -> Mapping[str, object]:
    types: dict[type, dict[str, object]] = {bool: {"const": True}, int: {"type": "integer"}, str: {"type": "string"}}
    attributes = {
        name: {"description": known.says, **(_one_of(*known.values) if known.values else types[known.kind])}
        for name, known in ATTRIBUTES.items()
    }
    row = {"type": "object", "minProperties": 1, "additionalProperties": False, "properties": attributes}
    owners = {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": row}}
    sections = dict.fromkeys(("functions", "methods"), owners)
    return {"type": "object", "additionalProperties": False, "properties": sections}


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the settings: what it does in one sentence, the JSON schema of its values, and an example in TOML."""

    text: str
    schema: Mapping[str, object]
    example: str


KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "extend": Key(
            "A settings file whose settings hold where this one says nothing.",
            {"type": "string"},
            '"../torchlint.toml"',
        ),
        "select": Key(
            "Rules to run: codes, prefixes, names, or ALL; empty: the default set.", _STRINGS, '["TL1", "TL201"]'
        ),
        "ignore": Key("Rules not to run.", _STRINGS, '["TL301"]'),
        "extend-select": Key("Rules to run on top of the selected ones.", _STRINGS, '["TL103"]'),
        "extend-ignore": Key("Rules not to run on top of the ignored ones.", _STRINGS, '["TL301"]'),
        "per-file-ignores": Key(
            "Rules not to run in some files, by pattern.",
            {"type": "object", "additionalProperties": _STRINGS},
            '{ "demos/*" = ["TL2"] }',
        ),
        "preview": Key("Run preview rules, too.", _FLAG, "true"),
        "fix": Key("Apply the fixes that change nothing but the time, and those accepted.", _FLAG, "true"),
        "unsafe-fixes": Key("Take every fix, whatever it may change.", _FLAG, "true"),
        "accept": Key(
            "Take the fixes that change no more than this.",
            {"type": "array", "items": _one_of(*(change.value for change in Change))},
            '["rounding"]',
        ),
        "fixable": Key("Rules whose fixes are offered; empty: all.", _STRINGS, '["TL1"]'),
        "unfixable": Key("Rules whose fixes are not offered.", _STRINGS, '["TL104"]'),
        "fix-only": Key("Apply the fixes, and report nothing else.", _FLAG, "true"),
        "show-fixes": Key("List what was fixed.", _FLAG, "true"),
        "exclude": Key("Files and folders to leave out, in place of the defaults.", _STRINGS, '["legacy"]'),
        "extend-exclude": Key("Files and folders to leave out besides.", _STRINGS, '["legacy"]'),
        "force-exclude": Key("Leave excluded files out even if they are given.", _FLAG, "true"),
        "respect-gitignore": Key("Leave out what git ignores.", _FLAG, "false"),
        "baseline": Key("A file of findings that are known and not shown.", _STRING, '"torchlint-baseline.jsonl"'),
        "observations": Key(
            "A file with what a run of yours showed, from torchlint verify --observe; fixes may rest on it.",
            _STRING,
            '"torchlint-observations.json"',
        ),
        "hot": Key("Functions that are hot although nothing shows it.", _FUNCTIONS, '["mylib.agent:Agent.plan"]'),
        "cold": Key("Functions that are not hot although it looks so.", _FUNCTIONS, '["mylib.debug:dump"]'),
        "device": Key("Where the code runs; auto: what it says itself.", _one_of(*DEVICES), '"cuda"'),
        "jobs": Key(
            "How many processes may work at once; not set: as many as pay.", {"type": "integer", "minimum": 1}, "4"
        ),
        "target-torch": Key(
            "The oldest torch that the code has to run with; not set: what the project's dependencies or its lock file "
            "say, else 2.2.",
            {"type": "string", "pattern": r"^\d+\.\d+(\.\d+)*$"},
            '"2.2"',
        ),
        "target-version": Key(
            "The oldest Python that the code has to run with; not set: what the project says, else py310.",
            _one_of(*PYTHONS),
            '"py310"',
        ),
        "docs-url": Key(
            "Where the documentation of the rules lies: findings link to the page of their rule there.",
            {"type": "string", "pattern": "^https?://[!-~]+$"},
            '"https://docs.example.org/torchlint"',
        ),
        "fail-level": Key("The least level that makes the exit code 1.", _one_of(*FAIL_LEVELS), '"note"'),
        "output-format": Key("How to print.", _one_of(*OUTPUT_FORMATS), '"concise"'),
        "plugins": Key(
            "Installed packages whose rules are loaded beside the built-in ones.",
            {"type": "array", "items": {"type": "string", "pattern": r"^\w+(\.\w+)*$"}},
            '["torchlint_acme"]',
        ),
        "models": Key(
            "What functions and methods do that torchlint does not know, a table for each module and class.",
            _models_schema(),
            '{ methods = { "mylab.logs.Board" = { put = { logs = true } } } }',
        ),
        "rules": Key(
            "Options of rules, a table for each; torchlint config rules lists them.",
            {"type": "object", "additionalProperties": {"type": "object"}},
            '{ TL404 = { allow = ["episode_*"] } }',
        ),
    }
)


def schema() -> dict[str, object]:
    """The JSON schema of ``torchlint.toml``, which is also that of ``[tool.torchlint]``."""
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
    """The schema as the text of a file."""
    return json.dumps(schema(), indent=2, default=dict) + "\n"


def _default(key: str) -> dict[str, object]:
    value = default_of(key)
    return {} if value is None else {"default": value}


def default_of(key: str) -> object:
    """The value that holds where no file says anything, as JSON has it; ``None``: there is none."""
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
    """All settings with their values, as a settings file would have them; what has none stands in a comment."""
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
    """A value in the notation of TOML."""
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

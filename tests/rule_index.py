"""Writes ``rules/torchlint_rules/index.json``: what the engine needs of each rule before it has a site."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torchlint.engine.rules import BUILT_IN, load_rules
from torchlint.rule import Option, Rule

FILE = Path(__file__).resolve().parent.parent / "rules" / BUILT_IN / "index.json"


def row(rule: type[Rule]) -> dict[str, object]:
    """One rule."""
    return {
        "code": rule.code,
        "name": rule.name,
        "module": rule.__module__,
        "class": rule.__name__,
        "level": rule.level.value,
        "set": rule.set.value,
        "least": int(rule.least),
        "yields_to": rule.yields_to,
        "cuda_only": rule.cuda_only,
        "gate": rule.gate,
        "torch": rule.torch,
        "trigger": rule.trigger.rows(),
        **({"options": [_option(option) for option in rule.options]} if rule.options else {}),
    }


def _option(option: Option[Any]) -> dict[str, object]:
    return {"name": option.name, "default": option.plain, "text": option.text, "least": option.least}


def table() -> str:
    """The text of the file: a rule a line."""
    return "[\n" + ",\n".join(json.dumps(row(rule)) for rule in load_rules()) + "\n]\n"


if __name__ == "__main__":
    FILE.write_text(table(), encoding="utf-8")

"""Writes ``rules/index.py``: what the engine needs of each rule before it has a site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torchlint.engine.rules import load_rules
from torchlint.rule import Option, Rule

FILE = Path(__file__).resolve().parent.parent / "rules" / "index.py"
_HEAD = '''"""What the engine needs of each rule before it has a site: made from the rules by ``make index``.

A module, not a table in JSON, because Python keeps modules compiled: every run reads this one.
"""

# ruff: noqa: E501
# fmt: off
from collections.abc import Mapping

RULES: tuple[Mapping[str, object], ...] = (
'''


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
        "yields_to": tuple(rule.yields_to),
        "cuda_only": rule.cuda_only,
        "gate": tuple(rule.gate),
        "torch": tuple(rule.torch),
        "trigger": tuple(
            {name: tuple(value) if isinstance(value, list) else value for name, value in part.items()}
            for part in rule.trigger.rows()
        ),
        **({"options": tuple(map(_option, rule.options))} if rule.options else {}),
    }


def _option(option: Option[Any]) -> dict[str, object]:
    default = tuple(option.plain) if isinstance(option.plain, list) else option.plain
    return {"name": option.name, "default": default, "text": option.text, "least": option.least}


def table() -> str:
    """The text of the file: a rule a line."""
    return _HEAD + "".join(f"    {row(rule)!r},\n" for rule in load_rules()) + ")\n"


if __name__ == "__main__":
    FILE.write_text(table(), encoding="utf-8")

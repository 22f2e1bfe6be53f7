"""``torchlint config``: what can be set, and how."""

from __future__ import annotations

import json
import sys

import click

from torchlint.cli import OK
from torchlint.cli.nearest import choice_option
from torchlint.cli.output import write
from torchlint.cli.rulebook import rules_here
from torchlint.cli.terminal import look_of
from torchlint.report.as_json import schema_text as findings_schema_text
from torchlint.settings.check import nearest
from torchlint.settings.describe import KEYS, Key, default_of, schema_text, toml_value

_RULES = "rules"


@click.command(short_help="List the settings, or explain one.")
@click.argument("key", required=False)
@choice_option("--output-format", choices=("text", "json"), default="text", text="Output format.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of torchlint.toml, for editors.")
@click.option("--findings-schema", is_flag=True, help="Print the JSON schema of check --output-format json.")
def config(key: str | None, output_format: str, schema: bool, findings_schema: bool) -> int:
    """List the settings of a torchlint.toml, or of [tool.torchlint] in a pyproject.toml, or explain one.

    \b
    Examples:
      torchlint config
      torchlint config per-file-ignores
      torchlint config --schema > torchlint.schema.json
      torchlint config --findings-schema > findings.schema.json
    """
    if schema or findings_schema:
        if key is not None:
            raise click.UsageError("--schema takes no key: it describes all settings")
        if schema and findings_schema:
            raise click.UsageError("--schema and --findings-schema cannot be given together")
        write(sys.stdout, schema_text() if schema else findings_schema_text())
        return OK
    if key is not None and key not in KEYS:
        raise click.UsageError(f"no such setting: {key}{nearest(key, KEYS)}")
    chosen = KEYS if key is None else {key: KEYS[key]}
    if output_format == "json":
        write(
            sys.stdout,
            json.dumps({name: _object(name, known) for name, known in chosen.items()}, indent=2, default=dict) + "\n",
        )
    elif key is None:
        formatter = click.HelpFormatter(width=look_of(sys.stdout).width)
        formatter.indent_increment = 0
        formatter.write_dl([(name, known.text) for name, known in KEYS.items()])
        write(sys.stdout, formatter.getvalue())
    else:
        write(sys.stdout, _page(key, KEYS[key]) + ("\n" + _rule_options() if key == _RULES else ""))
    return OK


def _rule_options() -> str:
    """The options of all rules, as a settings file would set them to what holds already."""
    lines = ["Options of rules, with what holds where they are not set:", ""]
    for rule in rules_here():
        if rule.options:
            lines.append(f"[tool.torchlint.{_RULES}.{rule.code}]  # {rule.name}")
            lines += [f"{option.name} = {toml_value(option.plain)}  # {option.text}" for option in rule.options]
    return "".join(f"{line}\n" for line in lines)


def _page(name: str, key: Key) -> str:
    default = default_of(name)
    lines = [name, f"  {key.text}", f"  default: {'none' if default is None else toml_value(default)}"]
    words = key.schema.get("enum")
    if isinstance(words, list):
        lines.append(f"  one of:  {', '.join(words)}")
    return "\n".join([*lines, f"  example: {name} = {key.example}", ""])


def _object(name: str, key: Key) -> dict[str, object]:
    return {"text": key.text, "default": default_of(name), "schema": dict(key.schema), "example": key.example}

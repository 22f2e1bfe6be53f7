"""``torchlint rule``: explain rules."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from torchlint.cli import OK
from torchlint.cli.nearest import choice_option, complete_code
from torchlint.cli.output import own_costs, write
from torchlint.cli.rulebook import plugins_here, rules_here
from torchlint.cli.terminal import look_of
from torchlint.settings.check import nearest

if TYPE_CHECKING:
    from torchlint.rule import Rule


@click.command(short_help="Explain a rule.")
@click.argument("code", required=False, shell_complete=complete_code)
@click.option("--all", "all_rules", is_flag=True, help="Explain all rules.")
@choice_option("--output-format", choices=("text", "json", "markdown"), default="text", text="Output format.")
def rule(code: str | None, all_rules: bool, output_format: str) -> int:
    """Explain a rule by its code or name: what it finds, why that is slow, what it costs, what its fix may change.

    \b
    Examples:
      torchlint rule TL101
      torchlint rule legacy-tensor-constructor
      torchlint rule --all --output-format json
    """
    if all_rules == (code is not None):
        raise click.UsageError("give the code or name of one rule, or --all")
    from torchlint.engine.figures import Shipped, shipped
    from torchlint.report.explain import as_json, as_markdown, as_text, explain

    rules = rules_here()
    chosen = rules if code is None else (_find(code, rules),)
    known = shipped(plugins_here())
    # What this user measured is for people: the same input gives programs the same bytes everywhere.
    mine = own_costs() if output_format == "text" else {}
    explanations = []
    for each in chosen:
        figures = known.get(each.code, Shipped())
        explanations.append(explain(each, (*figures.costs, *mine.get(each.code, ())), figures.counts))
    look = look_of(sys.stdout)
    if output_format == "json":
        text = as_json(explanations, single=code is not None)
    elif output_format == "markdown":
        text = as_markdown(explanations)
    else:
        text = as_text(explanations, color=look.color, unicode=look.unicode, width=look.width)
    write(sys.stdout, text)
    return OK


def _find(wanted: str, rules: Sequence[type[Rule]]) -> type[Rule]:
    """The rule of a code or name, in whatever case.

    Raises:
        click.UsageError: there is none; the message names the nearest.
    """
    for rule_type in rules:
        if wanted.lower() in (rule_type.code.lower(), rule_type.name.lower()):
            return rule_type
    known = [word for rule_type in rules for word in (rule_type.code, rule_type.name)]
    raise click.UsageError(f"no such rule: {wanted}{nearest(wanted, known)}")

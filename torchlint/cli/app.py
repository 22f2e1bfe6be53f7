"""The command ``torchlint`` itself: what its commands are."""

from __future__ import annotations

import sys

import click

from torchlint import __version__
from torchlint.cli import FAILED
from torchlint.cli.check import check
from torchlint.cli.nearest import CommandGroup
from torchlint.cli.output import write


@click.group(cls=CommandGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="torchlint")
@click.pass_context
def application(context: click.Context) -> None:
    """Find, explain and fix what makes PyTorch reinforcement-learning code slow.

    \b
    Examples:
      torchlint check             lint the project in this folder
      torchlint check src --fix   and apply the fixes that change only the time
      torchlint rule TL101        explain a rule
      torchlint bench             test and time the fixes on this machine
      torchlint profile run.prof  what the findings cost in a real run
    """
    if context.invoked_subcommand is None:
        write(sys.stderr, f"{context.get_help()}\n")
        context.exit(FAILED)


application.add_command(check)
application.lazy = {
    "rule": "torchlint.cli.rule",
    "bench": "torchlint.cli.bench",
    "verify": "torchlint.cli.verify",
    "count": "torchlint.cli.count",
    "baseline": "torchlint.cli.baseline",
    "profile": "torchlint.cli.profile",
    "trend": "torchlint.cli.trend",
    "config": "torchlint.cli.config",
    "clean": "torchlint.cli.clean",
    "dev": "torchlint.cli.dev",
    "server": "torchlint.cli.server",
    "mcp": "torchlint.cli.mcp",
}

"""``torchlint check``: lint, and fix."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from torchlint.cli.checking import perform
from torchlint.cli.declared import declared
from torchlint.cli.help import Sectioned
from torchlint.cli.warm import is_repeatable
from torchlint.settings.options import OPTIONS, SECTIONS

if TYPE_CHECKING:
    from click.decorators import FC


def expanded(argument: str) -> list[str]:
    """Return the arguments in the file that ``@FILE`` names, one a line: more than a command line holds."""
    if not argument.startswith("@") or os.path.exists(argument):
        return [argument]
    try:
        return Path(argument[1:]).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise click.UsageError(f"{argument}: cannot read arguments from {argument[1:]}: {reason}") from error


class _Check(Sectioned):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Accept ``--add-noqa`` without a reason: the word after it is a path."""
        end = args.index("--") if "--" in args else len(args)
        args[:end] = [f"{arg}=" if arg == "--add-noqa" else arg for arg in args[:end]]
        return super().parse_args(ctx, [word for arg in args for word in expanded(arg)])

    sections: ClassVar[Mapping[str, Sequence[str]]] = {
        heading: [option.name for option in options] for heading, options in SECTIONS.items() if heading
    }


def _with_all_options(function: FC) -> FC:
    for option in reversed([option for option in OPTIONS if option.flags]):
        function = declared(option.name)(function)
    return function


@click.command(
    cls=_Check,
    short_help="Lint Python files and folders, and fix them.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("paths", nargs=-1, type=click.Path(readable=False))
@_with_all_options
@click.pass_obj
def check(key: str | None, /, **given: Any) -> int:
    """Lint Python files and folders (default: this folder; - is standard input).

    \b
    Examples:
      torchlint check                          lint the project in this folder
      torchlint check src train.py --fix       lint and fix
      torchlint check --fix --accept rounding  also fixes that change rounding
      torchlint check --fix --interactive      decide on each fix with its diff
      torchlint check --diff > fixes.patch     save the fixes for later
      torchlint check --select TL1,legacy-tensor-constructor
      torchlint check --since origin/main      only what this branch changed
      torchlint check --explain-hot agent.py:88
      torchlint check --profile train.prof     ranked by measured cost
      torchlint check @files.txt               arguments from a file, one a line
      torchlint check - --stdin-filename agent.py < agent.py

    The exit code is 0 without findings or with notes alone, 1 with findings of the failing level
    (--fail-level, default: warning), and 2 after an error.
    """
    # The key of the command line in the cache is there when it could be read without click.
    return perform(**given, wanted=key if key and is_repeatable(given) else "")

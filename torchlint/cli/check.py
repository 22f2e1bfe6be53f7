"""``torchlint check``: lint, and fix."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click

from torchlint.cli.checking import perform
from torchlint.cli.help import Sectioned
from torchlint.cli.nearest import SELECTORS, FilePatterns, Words, choice_option
from torchlint.rule import Change
from torchlint.settings.check import COLORS, DEVICES, FAIL_LEVELS, OUTPUT_FORMATS, PYTHONS, WrongKeyError, torch_version

if TYPE_CHECKING:
    from click.decorators import FC

_Item = TypeVar("_Item")
_SELECTOR = Words(SELECTORS)
_PATTERN = Words("patterns")
_CHANGE = Words("changes", [change.value for change in Change])


def _joined(
    _context: click.Context, _parameter: click.Parameter, values: tuple[tuple[_Item, ...], ...]
) -> tuple[_Item, ...] | None:
    """The words of a repeated option in one tuple; ``None`` when it was not given, so that settings files count."""
    return tuple(word for words in values for word in words) if values else None


def _list_option(*names: str, kind: Words, text: str) -> Callable[[FC], FC]:
    return click.option(*names, type=kind, multiple=True, callback=_joined, help=text)


def _torch(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    try:
        return value if value is None else torch_version(value)
    except WrongKeyError as error:
        raise click.BadParameter(error.message) from error


def _flag(*names: str, text: str) -> Callable[[FC], FC]:
    return click.option(*names, is_flag=True, default=None, help=text)


def expanded(argument: str) -> list[str]:
    """The lines of the file that ``@FILE`` names: more arguments than a command line holds, one a line."""
    if not argument.startswith("@") or os.path.exists(argument):
        return [argument]
    try:
        return Path(argument[1:]).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise click.UsageError(f"{argument}: cannot read arguments from {argument[1:]}: {reason}") from error


class _Check(Sectioned):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let ``--add-noqa`` stand alone: what follows it is a path and no reason."""
        end = args.index("--") if "--" in args else len(args)
        args[:end] = [f"{arg}=" if arg == "--add-noqa" else arg for arg in args[:end]]
        return super().parse_args(ctx, [word for arg in args for word in expanded(arg)])

    sections: ClassVar[Mapping[str, Sequence[str]]] = {
        "Fixes": (
            "fix",
            "interactive",
            "unsafe_fixes",
            "accept",
            "diff",
            "fix_only",
            "show_fixes",
            "fixable",
            "unfixable",
        ),
        "Rules": ("select", "ignore", "extend_select", "extend_ignore", "per_file_ignores", "preview"),
        "Measured": ("profile", "mapping", "observations"),
        "Known findings": ("baseline", "since", "add_noqa", "ignore_noqa"),
        "Files": ("exclude", "extend_exclude", "force_exclude", "respect_gitignore", "stdin_filename", "no_context"),
        "Settings": ("config", "isolated", "device", "target_torch", "target_version"),
        "Speed": ("jobs", "cache_dir", "no_cache"),
        "Output": (
            "output_format",
            "output_file",
            "html",
            "save",
            "compare",
            "badge",
            "top",
            "show_all",
            "color",
            "statistics",
            "watch",
            "explain_hot",
            "show_files",
            "show_settings",
            "quiet",
            "silent",
            "verbose",
        ),
        "Exit code": ("fail_level", "exit_zero", "exit_non_zero_on_fix"),
    }


@click.command(
    cls=_Check,
    short_help="Lint Python files and folders, and fix them.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("paths", nargs=-1, type=click.Path(readable=False))
@_flag("--fix/--no-fix", text="Apply the fixes that change nothing but the time, and those accepted.")
@click.option("--interactive", is_flag=True, help="With --fix: ask about each group of findings first, with its diff.")
@_flag("--unsafe-fixes", text="Take every fix, whatever it may change.")
@_list_option("--accept", kind=_CHANGE, text="Take the fixes that change no more than this, e.g. rounding,validation.")
@_flag("--diff", text="Show what --fix would change, and change nothing.")
@_flag("--fix-only", text="Apply the fixes, and report nothing else.")
@_flag("--show-fixes", text="List what was fixed.")
@_list_option("--fixable", kind=_SELECTOR, text="Rules whose fixes are offered, in place of all.")
@_list_option("--unfixable", kind=_SELECTOR, text="Rules whose fixes are not offered.")
@_list_option("--select", kind=_SELECTOR, text="Rules to run: codes, prefixes, names, or ALL.")
@_list_option("--ignore", kind=_SELECTOR, text="Rules not to run.")
@_list_option("--extend-select", kind=_SELECTOR, text="Rules to run on top of the selected ones.")
@_list_option("--extend-ignore", kind=_SELECTOR, text="Rules not to run on top of the ignored ones.")
@click.option(
    "--per-file-ignores",
    type=FilePatterns(),
    multiple=True,
    callback=_joined,
    help="Rules not to run in some files, e.g. 'tests/*:TL1'.",
)
@_flag("--preview/--no-preview", text="Run preview rules, too.")
@click.option("--baseline", type=click.Path(path_type=Path), help="A file of findings that are known and not shown.")
@click.option(
    "--observations",
    type=click.Path(path_type=Path),
    help="A file with what a run of yours showed (torchlint verify --observe); fixes may rest on it.",
)
@click.option("--since", metavar="REV", help="Report on lines changed since a git revision only, e.g. origin/main.")
@click.option("--add-noqa", metavar="[=REASON]", help="Silence what is found with noqa comments.")
@_flag("--ignore-noqa", text="Show what comments silence, too.")
@_list_option("--exclude", kind=_PATTERN, text="Files and folders to leave out, in place of the defaults.")
@_list_option("--extend-exclude", kind=_PATTERN, text="Files and folders to leave out besides.")
@_flag("--force-exclude", text="Leave excluded files out even if they are given.")
@_flag("--respect-gitignore/--no-respect-gitignore", text="Leave out what git ignores (the default).")
@_flag("--no-context", text="Read the given files alone, not the rest of the project.")
@click.option("--config", metavar="PATH|'KEY = VALUE'", multiple=True, help="A settings file, or one setting.")
@click.option("--isolated", is_flag=True, help="Read no settings file, and quote no figures of this machine.")
@choice_option("--output-format", choices=OUTPUT_FORMATS, envvar="TORCHLINT_OUTPUT_FORMAT", text="How to print.")
@click.option("-o", "--output-file", type=click.Path(path_type=Path, dir_okay=False), help="Write findings to a file.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write a page with the findings, too.")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Keep the findings for --compare, too.")
@click.option(
    "--compare",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Show only what is new since --save wrote this file, and count the rest.",
)
@click.option("--badge", type=click.Path(path_type=Path, dir_okay=False), help="Write a badge for shields.io, too.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    help="Print the N dearest entries (default on a terminal: what fits on two screens).",
)
@click.option("--all", "show_all", is_flag=True, help="Print every entry and every place on a terminal, too.")
@choice_option("--color", choices=COLORS, text="Whether to colour; auto: on a terminal.")
@click.option("--stdin-filename", type=click.Path(path_type=Path), help="The name of what comes on standard input.")
@choice_option("--fail-level", choices=FAIL_LEVELS, text="The least level that makes the exit code 1.")
@_flag("-e", "--exit-zero", text="Exit with 0 even if there are findings.")
@_flag("--exit-non-zero-on-fix", text="Exit with 1 if something was fixed, even if nothing is left.")
@click.option("--profile", type=click.Path(path_type=Path), help="Rank by what a profile of the program says.")
@click.option(
    "--map", "mapping", metavar="FROM=TO", multiple=True, help="What a prefix of paths in the profile is here."
)
@click.option("--explain-hot", metavar="FILE:LINE", help="Say how often a line runs, and why.")
@choice_option("--device", choices=DEVICES, text="Where the code runs; auto: what it says itself.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    envvar="TORCHLINT_JOBS",
    help="Lint with so many processes at most (default: as many as pay).",
)
@click.option(
    "--cache-dir",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="TORCHLINT_CACHE_DIR",
    help="Where to keep results (default: .torchlint_cache in the project).",
)
@click.option("--no-cache", is_flag=True, envvar="TORCHLINT_NO_CACHE", help="Neither read nor keep results.")
@click.option(
    "--target-torch",
    metavar="VERSION",
    callback=_torch,
    help="The oldest torch that the code has to run with, e.g. 2.2; else what the project says.",
)
@choice_option("--target-version", choices=PYTHONS, text="The oldest Python that the code has to run with.")
@click.option("--statistics", is_flag=True, help="Count the findings of each rule instead of listing them.")
@click.option("-w", "--watch", is_flag=True, help="Lint again whenever a file changes.")
@click.option("--show-files", is_flag=True, help="List the files that would be linted.")
@click.option(
    "--show-settings", is_flag=True, help="Show the settings that hold for the paths, and where they are from."
)
@click.option("-q", "--quiet", is_flag=True, help="Print findings and nothing else.")
@click.option("-s", "--silent", is_flag=True, help="Print nothing but errors; the exit code tells.")
@click.option("-v", "--verbose", is_flag=True, help="Say which settings, rules and files were read.")
def check(**given: Any) -> int:
    """Lint Python files and folders (default: this folder; - is standard input).

    \b
    Examples:
      torchlint check                          lint the project in this folder
      torchlint check src train.py --fix       lint and fix
      torchlint check --fix --accept rounding  also where results may round
      torchlint check --fix --interactive      decide on each fix with its diff
      torchlint check --diff > fixes.patch     keep the fixes for later
      torchlint check --select TL1,legacy-tensor-constructor
      torchlint check --since origin/main      only what this branch changed
      torchlint check --explain-hot agent.py:88
      torchlint check --profile train.prof     costliest first, as measured
      torchlint check @files.txt               arguments from a file, one a line
      torchlint check - --stdin-filename agent.py < agent.py

    The exit code is 0 when nothing is left, or only notes; 1 when there are findings of the level that fails
    (--fail-level, else warning); and 2 when something went wrong.
    """
    return perform(**given)

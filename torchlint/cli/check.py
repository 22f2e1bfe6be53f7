"""``torchlint check``: lint, and fix."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import click

from torchlint.cli.help import Sectioned
from torchlint.cli.nearest import Words, choice_option
from torchlint.cli.run import check_files, check_stdin, describe_hotness
from torchlint.rule import Change
from torchlint.settings.check import DEVICES, FAIL_LEVELS, OUTPUT_FORMATS
from torchlint.settings.load import load_settings
from torchlint.settings.model import Settings

if TYPE_CHECKING:
    from click.decorators import FC

_STDIN = "-"
_SELECTOR = Words("selectors")
_PATTERN = Words("patterns")
_CHANGE = Words("changes", [change.value for change in Change])


def _joined(
    _context: click.Context, _parameter: click.Parameter, values: tuple[tuple[str, ...], ...]
) -> tuple[str, ...] | None:
    """The words of a repeated option in one tuple; ``None`` when it was not given, so that settings files count."""
    return tuple(word for words in values for word in words) if values else None


def _list_option(*names: str, kind: Words, text: str) -> Callable[[FC], FC]:
    return click.option(*names, type=kind, multiple=True, callback=_joined, help=text)


def _flag(*names: str, text: str) -> Callable[[FC], FC]:
    return click.option(*names, is_flag=True, default=None, help=text)


class _Check(Sectioned):
    sections: ClassVar[Mapping[str, Sequence[str]]] = {
        "Fixes": ("fix", "unsafe_fixes", "accept", "diff"),
        "Rules": ("select", "ignore", "extend_select", "preview"),
        "Files": ("exclude", "extend_exclude", "force_exclude", "respect_gitignore", "stdin_filename"),
        "Settings": ("config", "isolated", "device"),
        "Output": ("output_format", "output_file", "quiet", "explain_hot"),
        "Exit code": ("fail_level", "exit_zero", "exit_non_zero_on_fix"),
    }


@click.command(cls=_Check, short_help="Lint Python files and folders, and fix them.")
@click.argument("paths", nargs=-1, type=click.Path())
@_flag("--fix", text="Apply the fixes that change nothing but the time, and those accepted.")
@_flag("--unsafe-fixes", text="Take every fix, whatever it may change.")
@_list_option("--accept", kind=_CHANGE, text="Take the fixes that change no more than this, e.g. rounding,validation.")
@_flag("--diff", text="Show what --fix would change, and change nothing.")
@_list_option("--select", kind=_SELECTOR, text="Rules to run: codes, prefixes, names, or ALL.")
@_list_option("--ignore", kind=_SELECTOR, text="Rules not to run.")
@_list_option("--extend-select", kind=_SELECTOR, text="Rules to run on top of the selected ones.")
@_flag("--preview", text="Run preview rules, too.")
@_list_option("--exclude", kind=_PATTERN, text="Files and folders to leave out, in place of the defaults.")
@_list_option("--extend-exclude", kind=_PATTERN, text="Files and folders to leave out besides.")
@_flag("--force-exclude", text="Leave excluded files out even if they are given.")
@_flag("--respect-gitignore/--no-respect-gitignore", text="Leave out what git ignores (the default).")
@click.option("--config", metavar="PATH|'KEY = VALUE'", help="A settings file, or one setting.")
@click.option("--isolated", is_flag=True, help="Read no settings file, and quote no figures of this machine.")
@choice_option("--output-format", choices=OUTPUT_FORMATS, envvar="TORCHLINT_OUTPUT_FORMAT", text="How to print.")
@click.option("-o", "--output-file", type=click.Path(path_type=Path, dir_okay=False), help="Write findings to a file.")
@click.option("--stdin-filename", type=click.Path(path_type=Path), help="The name of what comes on standard input.")
@choice_option("--fail-level", choices=FAIL_LEVELS, text="The least level that makes the exit code 1.")
@_flag("-e", "--exit-zero", text="Exit with 0 even if there are findings.")
@_flag("--exit-non-zero-on-fix", text="Exit with 1 if something was fixed, even if nothing is left.")
@click.option("--explain-hot", metavar="FILE:LINE", help="Say how often a line runs, and why.")
@choice_option("--device", choices=DEVICES, text="Where the code runs; auto: what it says itself.")
@click.option("-q", "--quiet", is_flag=True, help="Print findings and nothing else.")
def check(
    paths: tuple[str, ...],
    *,
    config: str | None,
    isolated: bool,
    stdin_filename: Path | None,
    explain_hot: str | None,
    quiet: bool,
    **overrides: object,
) -> int:
    """Lint Python files and folders (default: this folder; - is standard input).

    \b
    Examples:
      torchlint check                           lint the project in this folder
      torchlint check src train.py --fix        lint and fix
      torchlint check --fix --accept rounding   take fixes that may round otherwise, too
      torchlint check --diff > fixes.patch      keep the fixes for later
      torchlint check --select TL1,legacy-tensor-constructor
      torchlint check --explain-hot agent.py:88
      torchlint check - --stdin-filename agent.py < agent.py

    The exit code is 0 when nothing was found, 1 when something was, and 2 when something went wrong.
    """
    if explain_hot is not None:
        path, row = _place(explain_hot)
        return describe_hotness(path, row, _settings(path, config, isolated, overrides))
    given = tuple(map(Path, paths)) or (Path(),)
    from_stdin = _STDIN in paths
    if from_stdin and len(paths) > 1:
        raise click.UsageError("- (standard input) cannot be given together with other paths")
    if stdin_filename is not None and not from_stdin:
        raise click.UsageError("--stdin-filename is for standard input: give - as the path")
    start = (stdin_filename or Path()) if from_stdin else _common(given)
    settings = _settings(start, config, isolated, overrides)
    if from_stdin:
        return check_stdin(stdin_filename, settings, quiet=quiet)
    return check_files(given, settings, quiet=quiet)


def _place(text: str) -> tuple[Path, int]:
    path, _, row = text.rpartition(":")
    if not path or not row.isdecimal() or int(row) < 1:
        raise click.UsageError(f"--explain-hot takes FILE:LINE, e.g. agent.py:88, not {text!r}")
    if not Path(path).is_file():
        raise click.UsageError(f"--explain-hot: no such file: {path}")
    return Path(os.path.abspath(path)), int(row)


def _common(paths: Sequence[Path]) -> Path:
    """The closest folder that holds all paths; of one path, itself."""
    absolute = [os.path.abspath(path) for path in paths]
    try:
        return Path(os.path.commonpath(absolute))
    except ValueError:
        # Paths on different drives have nothing in common.
        return Path(absolute[0])


def _settings(start: Path, config: str | None, isolated: bool, overrides: dict[str, object]) -> Settings:
    settings = load_settings(start, config=config, isolated=isolated, overrides=overrides)
    # What is only shown is not written.
    return dataclasses.replace(settings, fix=settings.fix and not settings.diff)

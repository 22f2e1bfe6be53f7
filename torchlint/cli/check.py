"""``torchlint check``: lint, and fix."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

import click

from torchlint.cli.help import Sectioned
from torchlint.cli.nearest import SELECTORS, FilePatterns, Words, choice_option
from torchlint.cli.printing import Volume
from torchlint.cli.run import Run, describe_hotness
from torchlint.rule import Change
from torchlint.settings.check import DEVICES, FAIL_LEVELS, OUTPUT_FORMATS, PYTHONS, WrongKeyError, torch_version
from torchlint.settings.load import Nested, load_settings
from torchlint.settings.model import Settings

if TYPE_CHECKING:
    from click.decorators import FC

_Item = TypeVar("_Item")
_STDIN = "-"
_ON_LINE = re.compile(r"(.+):([1-9][0-9]*)", re.DOTALL)
_IN_CELL = re.compile(r"(.+\.ipynb):(?:cell )?([1-9][0-9]*):([1-9][0-9]*)", re.DOTALL)
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


def _expanded(argument: str) -> list[str]:
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
        return super().parse_args(ctx, [word for arg in args for word in _expanded(arg)])

    sections: ClassVar[Mapping[str, Sequence[str]]] = {
        "Fixes": ("fix", "unsafe_fixes", "accept", "diff", "fix_only", "show_fixes", "fixable", "unfixable"),
        "Rules": ("select", "ignore", "extend_select", "per_file_ignores", "preview"),
        "Known findings": ("baseline", "since", "add_noqa", "ignore_noqa"),
        "Files": ("exclude", "extend_exclude", "force_exclude", "respect_gitignore", "stdin_filename", "no_context"),
        "Settings": ("config", "isolated", "device", "target_torch", "target_version"),
        "Output": (
            "output_format",
            "output_file",
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


@click.command(cls=_Check, short_help="Lint Python files and folders, and fix them.")
@click.argument("paths", nargs=-1, type=click.Path())
@_flag("--fix", text="Apply the fixes that change nothing but the time, and those accepted.")
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
@click.option(
    "--per-file-ignores",
    type=FilePatterns(),
    multiple=True,
    callback=_joined,
    help="Rules not to run in some files, e.g. 'tests/*:TL1'.",
)
@_flag("--preview", text="Run preview rules, too.")
@click.option("--baseline", type=click.Path(path_type=Path), help="A file of findings that are known and not shown.")
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
@click.option("--stdin-filename", type=click.Path(path_type=Path), help="The name of what comes on standard input.")
@choice_option("--fail-level", choices=FAIL_LEVELS, text="The least level that makes the exit code 1.")
@_flag("-e", "--exit-zero", text="Exit with 0 even if there are findings.")
@_flag("--exit-non-zero-on-fix", text="Exit with 1 if something was fixed, even if nothing is left.")
@click.option("--explain-hot", metavar="FILE:LINE", help="Say how often a line runs, and why.")
@choice_option("--device", choices=DEVICES, text="Where the code runs; auto: what it says itself.")
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
def check(  # long: a parameter for each option that is no setting, and their help
    paths: tuple[str, ...],
    *,
    config: tuple[str, ...],
    isolated: bool,
    stdin_filename: Path | None,
    explain_hot: str | None,
    add_noqa: str | None,
    statistics: bool,
    watch: bool,
    show_files: bool,
    show_settings: bool,
    quiet: bool,
    silent: bool,
    verbose: bool,
    **overrides: object,
) -> int:
    """Lint Python files and folders (default: this folder; - is standard input).

    \b
    Examples:
      torchlint check                          lint the project in this folder
      torchlint check src train.py --fix       lint and fix
      torchlint check --fix --accept rounding  also where results may round
      torchlint check --diff > fixes.patch     keep the fixes for later
      torchlint check --select TL1,legacy-tensor-constructor
      torchlint check --since origin/main      only what this branch changed
      torchlint check --explain-hot agent.py:88
      torchlint check @files.txt               arguments from a file, one a line
      torchlint check - --stdin-filename agent.py < agent.py

    The exit code is 0 when nothing is left, or only notes; 1 when there are findings of the level that fails
    (--fail-level, else warning); and 2 when something went wrong.
    """
    _check_combination(click.get_current_context().params)
    if explain_hot is not None:
        path, cell, row = _place(explain_hot)
        return describe_hotness(path, cell, row, settings_of(path, config, isolated, overrides))
    start = start_of(paths, stdin_filename)

    def prepare() -> Run:
        given = tuple(map(Path, paths)) or (Path(),)
        settings = settings_of(start, config, isolated, overrides)
        own = Nested(settings, overrides, config)
        return Run(given, settings, own, Volume.of(quiet, silent, verbose), statistics)

    run = prepare()
    if show_settings:
        return run.show_settings()
    if show_files:
        return run.show_files()
    if _STDIN in paths:
        return run.check_stdin(stdin_filename)
    if add_noqa is not None:
        return run.add_noqa(add_noqa)
    if watch:
        from torchlint.cli.watch import watch as lint_and_watch

        lint_and_watch(run, prepare)
    return run.check()


# Options of which at most one makes sense.
_ONE_OF = (
    ("watch", "show_files", "show_settings", "explain_hot", "add_noqa"),
    ("add_noqa", "fix"),
    ("add_noqa", "diff"),
    ("quiet", "silent", "verbose"),
)


def _check_combination(given: Mapping[str, object]) -> None:
    """Raise if options are given that exclude each other."""
    names = {name for name, value in given.items() if value or (name in ("add_noqa", "explain_hot") and value == "")}
    for group in _ONE_OF:
        both = [f"--{name.replace('_', '-')}" for name in group if name in names]
        if len(both) > 1:
            raise click.UsageError(f"{both[0]} and {both[1]} cannot be given together")
    paths = given["paths"]
    if isinstance(paths, tuple) and _STDIN in paths:
        for name in ("watch", "add_noqa", "show_files"):
            if name in names:
                raise click.UsageError(f"- (standard input) and --{name.replace('_', '-')} cannot be given together")


def start_of(paths: Sequence[str], stdin_filename: Path | None) -> Path:
    """Where the settings of a run are looked for."""
    if _STDIN in paths:
        if len(paths) > 1:
            raise click.UsageError("- (standard input) cannot be given together with other paths")
        return stdin_filename or Path()
    if stdin_filename is not None:
        raise click.UsageError("--stdin-filename is for standard input: give - as the path")
    return _common([Path(path) for path in paths] or [Path()])


def _place(text: str) -> tuple[Path, int | None, int]:
    """The file, cell and line of ``agent.py:88`` or ``nb.ipynb:cell 3:12``."""
    match = _IN_CELL.fullmatch(text) or _ON_LINE.fullmatch(text)
    if match is None:
        raise click.UsageError(f"--explain-hot takes FILE:LINE, e.g. agent.py:88, not {text!r}")
    path, *cell, row = match.groups()
    if not Path(path).is_file():
        raise click.UsageError(f"--explain-hot: no such file: {path}")
    if path.endswith(".ipynb") and not cell:
        raise click.UsageError(f"--explain-hot: in a notebook give the cell, too: '{path}:cell 3:{row}'")
    return Path(os.path.abspath(path)), int(cell[0]) if cell else None, int(row)


def _common(paths: Sequence[Path]) -> Path:
    """The closest folder that holds all paths; of one path, itself."""
    absolute = [os.path.abspath(path) for path in paths]
    try:
        return Path(os.path.commonpath(absolute))
    except ValueError:
        # Paths on different drives have nothing in common.
        return Path(absolute[0])


def settings_of(start: Path, config: Sequence[str], isolated: bool, overrides: dict[str, object]) -> Settings:
    """The settings of a run.

    Raises:
        SettingsError: a settings file or a flag is wrong.
    """
    settings = load_settings(start, config=config, isolated=isolated, overrides=overrides)
    # What is only shown is not written, and who wants nothing but fixes wants them.
    return dataclasses.replace(settings, fix=(settings.fix or settings.fix_only) and not settings.diff)

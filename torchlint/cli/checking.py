"""``torchlint check`` once its command line is read, by whichever reader."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from torchlint.cache.place import common
from torchlint.cli.failure import Failure
from torchlint.cli.printing import Extent, Volume
from torchlint.cli.records import Records
from torchlint.cli.run import CheckRun, Keeping, describe_hotness
from torchlint.late import regex
from torchlint.settings.load import Nested, load_settings
from torchlint.settings.model import Settings

if TYPE_CHECKING:
    from torchlint.cli.measuring import Measuring

_STDIN = "-"
_ON_LINE = regex(r"(.+):([1-9][0-9]*)", re.DOTALL)
_IN_CELL = regex(r"(.+\.ipynb):(?:cell )?([1-9][0-9]*):([1-9][0-9]*)", re.DOTALL)


def perform(  # long: a parameter for each option that is not a setting
    paths: tuple[str, ...],
    *,
    config: tuple[str, ...],
    isolated: bool,
    stdin_filename: Path | None,
    interactive: bool,
    explain_hot: str | None,
    profile: Path | None,
    mapping: tuple[str, ...],
    add_noqa: str | None,
    statistics: bool,
    top: int | None,
    show_all: bool,
    html: Path | None,
    save: Path | None,
    compare: Path | None,
    badge: Path | None,
    watch: bool,
    show_files: bool,
    show_settings: bool,
    quiet: bool,
    silent: bool,
    verbose: bool,
    cache_dir: Path | None,
    no_cache: bool,
    wanted: str = "",
    **overrides: object,
) -> int:
    """Do what was asked for; the arguments are the parameters of the command, ``overrides`` those that are settings.

    ``wanted`` stands for the run in the cache, where it may be repeated from there.

    Raises:
        SettingsError: a settings file or a flag is wrong.
        Failure: options contradict each other, or something cannot be read or written.
    """
    flags = {"watch": watch, "show_files": show_files, "show_settings": show_settings, "quiet": quiet}
    flags |= {"silent": silent, "verbose": verbose, "explain_hot": explain_hot is not None}
    flags |= {"add_noqa": add_noqa is not None, "profile": profile is not None}
    flags |= {"top": top is not None, "all": show_all, "html": html is not None, "save": save is not None}
    flags |= {"compare": compare is not None, "badge": badge is not None, "interactive": interactive}
    _check_combination(paths, {**flags, **{name: bool(overrides.get(name)) for name in ("fix", "diff")}})
    if explain_hot is not None:
        path, cell, row = _place(explain_hot)
        settings = settings_of(_around(paths, path), config, isolated, overrides)
        given = [Path(each) for each in paths or (os.curdir,)]
        settings = _measured(profile, mapping, given, settings, Nested(settings, overrides, config))[1]
        return describe_hotness(path, cell, row, given, settings)
    start = start_of(paths, stdin_filename)
    extent = Extent(statistics, top, show_all)
    records = Records(html, save, badge, compare)

    def prepare() -> CheckRun:
        given = tuple(map(Path, paths)) or (Path(),)
        settings = settings_of(start, config, isolated, overrides)
        own = Nested(settings, overrides, config)
        measuring, settings = _measured(profile, mapping, given, settings, own)
        keeping = Keeping(not no_cache, cache_dir, config, wanted)
        return CheckRun(given, settings, own, Volume.of(quiet, silent, verbose), extent, keeping, measuring, records)

    run = prepare()
    if show_settings:
        return run.show_settings()
    if show_files:
        return run.show_files()
    if _STDIN in paths:
        return run.check_stdin(stdin_filename)
    if add_noqa is not None:
        return run.add_noqa(add_noqa)
    if interactive:
        return run.interact()
    return _watched(run, prepare) if watch else run.check()


def _measured(
    profile: Path | None, mapping: Sequence[str], paths: Sequence[Path], settings: Settings, own: Nested
) -> tuple[Measuring | None, Settings]:
    """What a profile says of the functions in the files to lint, and settings that heed it.

    Raises:
        Failure: the profile cannot be used.
    """
    if profile is None:
        if mapping:
            raise Failure("--map is for paths in a profile: give --profile, too")
        return None, settings
    from torchlint.cli.measuring import Measuring, mapping_of

    measuring = Measuring.of(profile, [mapping_of(each) for each in mapping], paths, settings, own)
    return measuring, measuring.applied(settings, lowering=True)


def _watched(run: CheckRun, prepare: Callable[[], CheckRun]) -> NoReturn:
    from torchlint.cli.watch import watch

    watch(run, prepare)


# Options of which at most one makes sense.
_ONE_OF = (
    ("watch", "show_files", "show_settings", "explain_hot", "add_noqa"),
    ("add_noqa", "fix"),
    ("add_noqa", "diff"),
    ("interactive", "add_noqa"),
    ("interactive", "diff"),
    ("interactive", "watch"),
    ("interactive", "silent"),
    ("interactive", "compare"),
    ("interactive", "profile"),
    ("quiet", "silent", "verbose"),
    ("top", "all"),
)


def _check_combination(paths: Sequence[str], given: Mapping[str, bool]) -> None:
    """Raise if options are given that exclude each other."""
    for group in _ONE_OF:
        both = [f"--{name.replace('_', '-')}" for name in group if given[name]]
        if len(both) > 1:
            raise Failure(f"{both[0]} and {both[1]} cannot be given together")
    if _STDIN in paths:
        for name in ("interactive", "watch", "add_noqa", "show_files", "profile", "html", "save", "compare", "badge"):
            if given[name]:
                raise Failure(f"- (standard input) and --{name.replace('_', '-')} cannot be given together")


def start_of(paths: Sequence[str], stdin_filename: Path | None) -> Path:
    """Return the folder in which the search for the settings of a run starts."""
    if _STDIN in paths:
        if len(paths) > 1:
            raise Failure("- (standard input) cannot be given together with other paths")
        return stdin_filename or Path()
    if stdin_filename is not None:
        raise Failure("--stdin-filename is for standard input: give - as the path")
    return Path(common(paths or [os.curdir]))


def _around(paths: Sequence[str], file: Path) -> Path:
    """Where settings are looked for: where those of a run over the paths are, if it would lint the file."""
    start = Path(common(paths or [os.curdir]))
    return start if file.is_relative_to(start) else file


def _place(text: str) -> tuple[Path, int | None, int]:
    """The file, cell and line of ``agent.py:88`` or ``nb.ipynb:cell 3:12``."""
    match = _IN_CELL.fullmatch(text) or _ON_LINE.fullmatch(text)
    if match is None:
        raise Failure(f"--explain-hot takes FILE:LINE, e.g. agent.py:88, not {text!r}")
    path, *cell, row = match.groups()
    if not os.path.isfile(path):
        raise Failure(f"--explain-hot: no such file: {path}")
    if path.endswith(".ipynb") and not cell:
        raise Failure(f"--explain-hot: in a notebook give the cell, too: '{path}:cell 3:{row}'")
    return Path(os.path.abspath(path)), int(cell[0]) if cell else None, int(row)


def settings_of(start: Path, config: Sequence[str], isolated: bool, overrides: dict[str, object]) -> Settings:
    """Return the settings of a run.

    Raises:
        SettingsError: a settings file or a flag is wrong.
    """
    settings = load_settings(start, config=config, isolated=isolated, overrides=overrides)
    # What is only shown is not written, and who wants nothing but fixes wants them.
    return dataclasses.replace(settings, fix=(settings.fix or settings.fix_only) and not settings.diff)

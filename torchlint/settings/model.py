"""The settings of a run as one value, handed down from the command line."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.late import dataclass
from torchlint.rule.observed import Observed
from torchlint.settings.defaults import DEFAULT_EXCLUDE

if TYPE_CHECKING:
    from torchlint.models import Rows
    from torchlint.rule import Change
    from torchlint.rule.sight import Sight


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that steers a run. Keys mirror the flags of ``torchlint check`` (see the interface documentation).

    Attributes:
        root: the folder in which the project begins (``torchlint.cache.place``).
        select, ignore, extend_select, extend_ignore: selectors: codes, prefixes, ``ALL`` or
            names. Empty ``select``: the default set.
        preview: also run preview rules.
        fix, diff: apply fixes; or only show what they would do.
        unsafe_fixes: take every fix. accept: take the fixes that may change no more than these.
        exclude, extend_exclude, force_exclude, respect_gitignore: what is linted.
        per_file_ignores: pairs of a glob and selectors.
        fixable, unfixable: selectors of the rules whose fixes are offered (empty ``fixable``: all) and of those not.
        fix_only: apply fixes and report nothing else. show_fixes: list what was fixed.
        ignore_noqa: comments silence nothing. baseline: a file of findings that are known and not shown.
        since: a revision; only lines changed since then are reported on. no_context: read the given files alone.
        docs_url: where the documentation of rules lies, for links to the page of a rule; ``None``: nowhere.
        fail_level: ``note``, ``warning`` or ``never``: the least level that makes the exit code 1.
        output_format: name of a format, ``None``: by where the output goes.
        output_file: where the findings go, ``None``: standard output.
        hot, cold: functions as ``package.module:function`` whose hotness is corrected.
        ignore_guards: names of guards that keep no code from being hot (``torchlint.facts.hotness.guards``).
        observed: which functions ran in a profile, and how often, which corrects hotness, too.
        observations: a file with what a run of the user's program showed of expressions. sights: what it holds, read
            when a run begins.
        device: ``auto``, ``cpu`` or ``cuda``.
        jobs: how many processes may work at once; ``None``: as many as pay.
        target_torch, target_version: the oldest torch and Python that linted code has to run with, e.g. ``2.2`` and
            ``py310``. ``None``: neither the settings nor the project says.
        line_length: how long lines are in the project, where its formatter or linter is told; no setting of ours.
        distributed: whether the project is packaged, so that programs elsewhere may import it; no setting of ours.
        pinned_torch: the only torch that the project allows, e.g. ``1.6``, if it allows one; no setting of ours.
        target_stated: ``target_torch`` is what files of the project state, if they do, and no setting; what files of a
            folder below state holds for that folder then.
        packages: the folders of its packages, with ``/``; empty where none is seen; no setting of ours.
        plugins: installed packages whose rules are loaded beside the built-in ones.
        models: rows about functions and methods that the project uses, besides those about libraries.
        isolated: no settings file was read, and only shipped figures are quoted.
        color: ``auto`` (as the stream and the environment say), ``always`` or ``never``.
        file: the settings file these come from, where there is one. files: all that were read.
    """

    root: Path
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()
    preview: bool = False
    fix: bool = False
    diff: bool = False
    unsafe_fixes: bool = False
    accept: frozenset[Change] = frozenset()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool = True
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    fixable: tuple[str, ...] = ()
    unfixable: tuple[str, ...] = ()
    fix_only: bool = False
    show_fixes: bool = False
    ignore_noqa: bool = False
    baseline: Path | None = None
    since: str | None = None
    no_context: bool = False
    docs_url: str | None = None
    fail_level: str = "warning"
    output_format: str | None = None
    output_file: Path | None = None
    exit_zero: bool = False
    exit_non_zero_on_fix: bool = False
    hot: tuple[str, ...] = ()
    cold: tuple[str, ...] = ()
    ignore_guards: tuple[str, ...] = ()
    observed: Observed = field(default_factory=Observed)
    observations: Path | None = None
    sights: tuple[Sight, ...] = ()
    device: str = "auto"
    jobs: int | None = None
    target_torch: str | None = None
    target_version: str | None = None
    line_length: int | None = None
    distributed: bool = True
    packages: tuple[str, ...] = ()
    pinned_torch: str | None = None
    target_stated: bool = field(default=False, compare=False)
    isolated: bool = False
    color: str = "auto"
    plugins: tuple[str, ...] = ()
    rules: dict[str, dict[str, object]] = field(default_factory=dict)
    models: Rows = field(default_factory=dict)
    file: Path | None = field(default=None, compare=False)
    files: tuple[Path, ...] = field(default=(), compare=False)

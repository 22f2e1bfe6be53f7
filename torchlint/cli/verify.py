"""``torchlint verify``: keep the fixes with which a command of the user passes."""

from __future__ import annotations

import dataclasses
import os
import shlex
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from torchlint.cli import FAILED, FOUND, OK
from torchlint.cli.check import check, expanded
from torchlint.cli.checking import settings_of, start_of
from torchlint.cli.ending import SIGNALS
from torchlint.cli.failure import Failure
from torchlint.cli.help import Sectioned
from torchlint.cli.output import complain, complain_of, write, write_diff
from torchlint.cli.progress import waiting
from torchlint.cli.terminal import look_of, write_bytes
from torchlint.engine.result import UnusableError
from torchlint.report.escape import defused, defused_json, visible
from torchlint.settings.load import Nested

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from torchlint.engine.fixing import FixOutcome
    from torchlint.engine.result import Result
    from torchlint.engine.run import EngineRun
    from torchlint.settings.model import Settings
    from torchlint.verify.command import Ended
    from torchlint.verify.result import Verified
    from torchlint.verify.verifying import Plan

# The options of ``check`` that say which fixes there are.
_CHOOSING = (
    *("unsafe_fixes", "accept", "fixable", "unfixable", "select", "ignore", "extend_select", "per_file_ignores"),
    *("preview", "baseline", "observations", "since", "ignore_noqa", "exclude", "extend_exclude", "force_exclude"),
    *("respect_gitignore", "no_context", "config", "isolated", "device", "target_torch", "target_version", "jobs"),
)


class _Verify(Sectioned):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words after ``--`` as the command to run, whatever they look like."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[_COMMAND] = tuple(args[end + 1 :])
        try:
            left = super().parse_args(ctx, [word for arg in args[:end] for word in expanded(arg)])
        except click.UsageError:
            if end == len(args):
                self._ask_for_dashes(ctx, args)
            raise
        if end == len(args) and not ctx.resilient_parsing:
            self._ask_for_dashes(ctx, args)
        return left

    def _ask_for_dashes(self, ctx: click.Context, args: list[str]) -> None:
        """Say where the ``--`` is missing, if a command is there that begins with a word that is not a path."""
        options = {name: param for param in self.get_params(ctx) for name in param.opts}
        words = iter(enumerate(args))
        for number, word in words:
            option = options.get(word)
            if isinstance(option, click.Option) and not option.is_flag:
                next(words, None)
            elif not word.startswith(("-", "@")) and not os.path.lexists(word):
                whole = shlex.join(("torchlint", "verify", *args[:number], "--", *args[number:]))
                raise click.UsageError(f"there is no -- before the command, as in: {whole}", ctx)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Show the command in the usage."""
        return [*super().collect_usage_pieces(ctx), "-- CMD..."]

    sections: ClassVar[Mapping[str, Sequence[str]]] = {
        "Trying": ("timeout", "copy", "link", "show_output"),
        "Measuring": ("metric", "metric_lower", "repeats"),
        "Observing": ("observe", "counted"),
        "Output": ("diff", "as_json", "verbose"),
        "Which fixes (as for torchlint check)": _CHOOSING,
    }


_COMMAND = "torchlint.command"


@click.command(cls=_Verify, short_help="Keep the fixes with which your command passes.")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time limit of a run; a longer run fails.",
)
@click.option(
    "--copy",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="A git-ignored path that the command needs.",
)
@click.option(
    "--link",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="Like --copy, but linked: the command uses the original.",
)
@click.option("--show-output", is_flag=True, help="Show what the command prints after each run, on standard error.")
@click.option(
    "--metric",
    metavar="REGEX|time|count:EVENT",
    help="Measure the number in the first group, e.g. 'fps: ([0-9.]+)', or the time of a run; or count GPU syncs "
    "(waits), launches, copies or bytes on the counted device, and keep only fixes that save some.",
)
@click.option("--metric-lower", is_flag=True, help="A lower value of --metric is better.")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=5,
    metavar="N",
    help="Number of runs with and without fixes (default: 5).",
)
@click.option(
    "--observe",
    is_flag=True,
    help="Run the command once without fixes, and record kinds, dtypes, ranks, devices and classes that fixes need.",
)
@click.option("--counted", is_flag=True, help="With --observe: run on the counted device, which needs no GPU.")
@click.option("--diff", is_flag=True, help="Show what the kept fixes change, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option("-v", "--verbose", is_flag=True, help="Print how each run ended.")
@click.pass_context
def verify(
    context: click.Context,
    /,
    paths: tuple[str, ...],
    config: tuple[str, ...],
    isolated: bool,
    diff: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Run your command with the fixes, and keep those with which it passes.

    \b
    The command runs in a copy of the project, first unchanged, then with all
    fixes. If it fails, bisection finds the fixes that make it fail. The others
    are written at the end, to files that did not change meanwhile. A failure
    counts when it occurs twice in a row.

    \b
    Examples:
      torchlint verify -- pytest -q
      torchlint verify src --accept rounding -- python -m pytest tests
      torchlint verify --unsafe-fixes --timeout 600 -- python train.py
      torchlint verify --metric 'fps: ([0-9.]+)' -- python train.py --steps 2000
      torchlint verify --metric count:waits -- python train.py --steps 200
      torchlint verify --diff -- sh -c 'python train.py | grep -q solved'
      torchlint verify --observe --timeout 60 -- python train.py

    The exit code is 0 when all fixes are kept, or there are none; 1 when some
    are rejected; and 2 when something went wrong, such as a command that fails
    before any fix.
    """
    words = _words(context)
    overrides = {name: given.pop(name) for name in _CHOOSING if name in given}
    settings = settings_of(start_of(paths, None), config, isolated, {**overrides, "fix": not diff, "diff": diff})
    # Output files and formats that the settings name are for what is found.
    settings = dataclasses.replace(settings, output_file=None, fix_only=False)
    listener = _Listener(given["verbose"], given["show_output"])
    if given["observe"] or given["counted"]:
        _check_observing(context, diff, given)
        return _observe(paths, settings, lambda own: Nested(own, overrides, config), words, given, as_json, listener)
    from torchlint.engine.run import EngineRun

    try:
        plan = _plan(words, given)
        run = EngineRun.prepare(tuple(map(Path, paths)) or (Path(),), settings, {}, Nested(settings, overrides, config))
        verified, outcome = _tried(run, plan, listener)
        result = _written(run, outcome)
    except UnusableError as error:
        raise Failure(str(error)) from error
    if not result.files and not result.problems:
        complain(f"warning: no Python files found in {', '.join(map(str, paths)) or '.'}")
    complain_of(result.problems, verified.remarks)
    _show(verified, result, run, given["metric"] or "", as_json=as_json, diff=diff)
    return FAILED if result.problems else _status(verified)


def _words(context: click.Context) -> tuple[str, ...]:
    """The command to run."""
    words: tuple[str, ...] = context.meta[_COMMAND]
    if not words:
        raise click.UsageError("give a command after --, as in: torchlint verify -- pytest -q", context)
    return words


def _status(verified: Verified) -> int:
    from torchlint.verify.result import Status

    return FOUND if verified.count(Status.KEPT) < len(verified.fixes) else OK


verify.params += [param for param in check.params if param.name in _CHOOSING]


def _observe(
    paths: tuple[str, ...],
    settings: Settings,
    own: Callable[[Settings], Nested],
    words: tuple[str, ...],
    given: Mapping[str, Any],
    as_json: bool,
    listener: _Listener,
) -> int:
    """Run the command once, and keep what it shows; the exit code."""
    from torchlint.cli.observing import Observer

    observer = Observer(paths, settings, own, given["counted"], as_json)
    return observer.run(_plan(words, given), listener, _print_output)


def _check_observing(context: click.Context, diff: bool, given: Mapping[str, Any]) -> None:
    if not given["observe"]:
        raise click.UsageError("--counted requires --observe; to count events, use --metric count:waits", context)
    if diff or given["metric"] is not None:
        raise click.UsageError("--observe tries no fixes, so it excludes --diff and --metric", context)


def _plan(words: tuple[str, ...], given: Mapping[str, Any]) -> Plan:
    from torchlint.verify.failure import CannotVerifyError
    from torchlint.verify.metric import Metric
    from torchlint.verify.verifying import Plan

    try:
        metric = Metric.of(given["metric"], lower=given["metric_lower"]) if given["metric"] is not None else None
    except CannotVerifyError as error:
        raise Failure(str(error)) from error
    return Plan(
        words,
        Path.cwd(),
        os.environ,
        given["timeout"],
        metric,
        given["repeats"],
        tuple(Path(os.path.realpath(path)) for path in given["copy"]),
        tuple(Path(os.path.realpath(path)) for path in given["link"]),
    )


def _tried(run: EngineRun, plan: Plan, listener: _Listener) -> tuple[Verified, FixOutcome]:
    from torchlint.verify.failure import CannotVerifyError
    from torchlint.verify.verifying import verify as try_fixes

    try:
        return try_fixes(run, plan, listener)
    except CannotVerifyError as error:
        if error.output:
            _print_output(error.output)
        raise Failure(f"{error}; nothing was changed") from error


def _print_output(output: str) -> None:
    """Print what the command printed, to standard error."""
    text = "".join(f"  | {visible(line, keep=chr(9))}\n" for line in output.split("\n"))
    write(sys.stderr, defused(text))


def _written(run: EngineRun, outcome: FixOutcome) -> Result:
    """Write the kept fixes, all or, where the run is ended before, none of them."""
    numbers = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        return run.written(outcome)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@dataclasses.dataclass(frozen=True, slots=True)
class _Listener:
    """Tells the user what goes on, on standard error."""

    verbose: bool
    output: bool

    def running(self, doing: str) -> AbstractContextManager[None]:
        """Return a context that shows a sign of life on a terminal."""
        return waiting(f"torchlint: {doing}")

    def ran(self, doing: str, ended: Ended) -> None:
        """Print how a run ended, if the user asked for that."""
        if self.output:
            write(sys.stderr, ended.output.read_bytes().decode("utf-8", "replace"))
        if self.verbose or self.output:
            how = "passed" if ended.passed else ended.reason
            complain(f"{doing}: {how} ({ended.seconds:.3g} s)")


def _show(verified: Verified, result: Result, run: EngineRun, metric: str, *, as_json: bool, diff: bool) -> None:
    """Print the table or the JSON, and the diff where one is wanted."""
    from torchlint.report.context import Context
    from torchlint.report.diff import render
    from torchlint.verify.result import as_json as json_of
    from torchlint.verify.table import as_text

    written = () if diff else tuple(result.fixed)
    look = look_of(sys.stdout)
    context = dataclasses.replace(Context.of(result, run.settings.root), color=look.color, terminal=look.terminal)
    if as_json:
        plain = dataclasses.replace(context, color=False, terminal=False)
        told = json_of(verified, run.settings.root, written, result.problems, render(plain))
        write_bytes(sys.stdout, defused_json(told).encode())
        return
    stream = sys.stderr if diff else sys.stdout
    look = look_of(stream)
    text = as_text(verified, metric, len(written), color=look.color, unicode=look.unicode, width=look.width)
    write(stream, text if look.terminal else defused(text))
    if diff:
        write_diff(sys.stdout, context)

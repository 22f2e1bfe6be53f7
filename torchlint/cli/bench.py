"""``torchlint bench``: run the rules' examples before and after their fixes on this machine."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from torchlint import __version__
from torchlint.cli import FOUND, INTERRUPTED, OK
from torchlint.cli.nearest import SELECTORS, Words, choice_option
from torchlint.cli.output import complain, write, write_file
from torchlint.cli.rulebook import plugins_here, rules_here
from torchlint.cli.terminal import look_of, write_bytes
from torchlint.settings.select import matching

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchlint.bench.device import BenchDevice
    from torchlint.bench.result import ResultRow, Results
    from torchlint.bench.suite import Thoroughness
    from torchlint.rule import Rule


_SELECTORS = Words(SELECTORS)


@click.command(short_help="Test and time the fixes on this machine.")
@click.argument("codes", nargs=-1, type=_SELECTORS)
@click.option("--rule", "more", type=_SELECTORS, multiple=True, help="Rules to run: codes, prefixes, names, or ALL.")
@choice_option("--device", choices=("cpu", "cuda"), default="cpu", text="Where to run (default: cpu).")
@click.option("--quick", is_flag=True, help="Measure quickly and roughly; do not store the results.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write a page with plots to this file.")
def bench(
    codes: tuple[tuple[str, ...], ...],
    more: tuple[tuple[str, ...], ...],
    device: str,
    quick: bool,
    as_json: bool,
    html: Path | None,
) -> int:
    """Run the examples of rules (default: of all) before and after their fix.

    \b
    First the results are compared, on ordinary inputs and on edge cases: a fix
    may change only what it declares. Then both programs are timed.

    \b
    Examples:
      torchlint bench                       all rules, a few minutes
      torchlint bench TL1 --quick           one family, roughly
      torchlint bench --device cuda --html bench.html
      torchlint bench --json > results.json

    Results are stored and shown by torchlint rule and by the format full, next
    to the figures that ship with the rules. With --device cuda, the counts of
    each example are compared with torch's profiler. The exit code is 1 when a
    fix changes more than it declares, an example fails, or the profiler
    disagrees with the counts.
    """
    available = rules_here()
    wanted = [word for words in (*codes, *more) for word in words]
    chosen = [rule for rule in available if not wanted or rule.code in matching(wanted, available, "bench")]
    place, plan = _prepared(device, quick)
    gc.enable()  # the run is long, and programs may make cycles
    results = _run(chosen, place, plan)
    if html is not None:
        _write_page(html, results)
    if as_json:
        from torchlint.bench.result import to_json

        write_bytes(sys.stdout, to_json(results).encode())
    else:
        _show(results, chosen)
    if not quick:
        _keep(results, device, tell=not as_json)
    return _exit_code(results)


def _prepared(device: str, quick: bool) -> tuple[BenchDevice, Thoroughness]:
    """The device to run on, and how thoroughly.

    Raises:
        click.ClickException: torch or NumPy is missing, or torch sees no such device.
    """
    try:
        for name in ("numpy", "torch"):
            import_module(name)
    except ImportError as error:
        raise click.ClickException(
            f"torchlint bench needs torch and numpy ({error}): pip install 'torchlint[bench]'"
        ) from error
    from torchlint.bench.device import NoDeviceError, device_of
    from torchlint.bench.suite import QUICK, Thoroughness

    try:
        return device_of(device), QUICK if quick else Thoroughness()
    except NoDeviceError as error:
        raise click.ClickException(f"--device {device}: {error}") from error


def _run(rules: Sequence[type[Rule]], device: BenchDevice, plan: Thoroughness) -> Results:
    """Run the suite with progress on standard error; an interrupt ends it early."""
    from torchlint.bench.result import Results
    from torchlint.bench.suite import examples_of, row_of, running

    rows: list[ResultRow] = []
    complete = False
    try:
        with running(), _progress(len(examples_of(rules))) as advance:
            for rule, example in examples_of(rules):
                advance(f"{rule.code} {example.name}")
                rows.append(row_of(rule, example, device, plan))
        complete = True
    except KeyboardInterrupt:
        complain("interrupted; the results so far follow")
    return Results(device.machine(), tuple(rows), complete, __version__)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """A bar on standard error where that is a terminal; the function tells it what comes next."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        started = False

        def advance(name: str) -> None:
            nonlocal started
            progress.update(task, description=name, advance=int(started))
            started = True

        yield advance


def _show(results: Results, rules: Sequence[type[Rule]]) -> None:
    from torchlint.bench.table import as_text
    from torchlint.engine.figures import figures_by_example

    look = look_of(sys.stdout)
    text = as_text(
        results, figures_by_example(plugins_here()), rules, color=look.color, unicode=look.unicode, width=look.width
    )
    write(sys.stdout, text)


def _write_page(path: Path, results: Results) -> None:
    from torchlint.bench.page import as_html
    from torchlint.engine.figures import figures_by_example

    write_file(path, as_html(results, figures_by_example(plugins_here())))


def _keep(results: Results, device: str, *, tell: bool) -> None:
    """Keep what was measured; that it cannot be kept is not a reason to fail."""
    from torchlint.bench.result import ExampleStatus
    from torchlint.bench.store import keep

    if not any(row.status is ExampleStatus.MEASURED for row in results.rows):
        return
    try:
        path = keep(results, device)
    except OSError as error:
        complain(f"warning: cannot store the results: {error}")
        return
    if tell:
        write(sys.stderr, f"Kept in {path}; torchlint rule and the format full show it.\n")


def _exit_code(results: Results) -> int:
    from torchlint.bench.result import ExampleStatus, disagreements

    if not results.complete:
        return INTERRUPTED
    bad = (ExampleStatus.FAILED, ExampleStatus.DIFFERENT)
    return FOUND if any(row.status in bad or disagreements(row) for row in results.rows) else OK

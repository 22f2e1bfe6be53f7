"""``torchlint count``: run a program with a counted device in place of CUDA."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import click

from torchlint.cli import INTERRUPTED
from torchlint.cli.check import expanded
from torchlint.cli.checking import settings_of, start_of
from torchlint.cli.declared import declared
from torchlint.cli.failure import Failure
from torchlint.cli.help import Sectioned
from torchlint.cli.output import complain, write, write_file
from torchlint.cli.terminal import look_of, write_bytes
from torchlint.settings.load import Nested

if TYPE_CHECKING:
    from torchlint.count.result import CountedRun
    from torchlint.count.run import Tally
    from torchlint.settings.model import Settings

_COMMAND = "torchlint.command"
_TOP = 20
_STDERR = 2  # what the program prints goes there, where the report needs standard output


class _Count(Sectioned):
    sections: ClassVar[Mapping[str, Sequence[str]]] = {
        "Running": ("steps", "seconds"),
        "Output": ("top", "as_json", "html"),
        "Findings (as for torchlint check)": ("config", "isolated"),
    }

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words after ``--`` as the command to run, whatever they look like."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[_COMMAND] = tuple(args[end + 1 :])
        return super().parse_args(ctx, [word for arg in args[:end] for word in expanded(arg)])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Show the command in the usage."""
        return [*super().collect_usage_pieces(ctx), "-- CMD..."]


@click.command(cls=_Count, short_help="Count GPU syncs, launches and copies without a GPU.")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--steps", type=click.IntRange(min=1), metavar="N", help="Stop after N environment steps.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Stop S seconds after the first use of the device.",
)
@click.option("--top", type=click.IntRange(min=1), default=_TOP, metavar="N", help="Rows of the table (default: 20).")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), help="Write a page with the code and its counts."
)
@declared("config")
@declared("isolated", help="Ignore settings files.")
@click.pass_context
def count(
    context: click.Context,
    paths: tuple[str, ...],
    steps: int | None,
    seconds: float | None,
    top: int,
    as_json: bool,
    html: Path | None,
    config: tuple[str, ...],
    isolated: bool,
) -> int:
    """Run a program on the counted device, and show the GPU syncs, launches and copies of each line.

    \b
    The program runs unchanged. torch reports one CUDA device to it; tensors on
    that device are computed on the CPU, and every kernel launch, GPU sync and
    copy is counted for the line of PATHS (default: this folder) that causes it.
    Counts are exact and need no GPU. torch.compile is disabled.

    \b
    Examples:
      torchlint count -- python train.py
      torchlint count --steps 500 -- python train.py --env CartPole-v1
      torchlint count src --seconds 60 --json -- python -m agents.ppo > counts.json

    Ctrl-C ends the program and shows what was counted so far. The exit code is
    the program's own, 0 after a limit, 130 after Ctrl-C, or 2 when nothing could
    be counted.
    """
    words: tuple[str, ...] = context.meta[_COMMAND]
    if not words:
        raise click.UsageError("give a program after --, as in: torchlint count -- python train.py", context)
    from torchlint.count.run import CannotCountError, StoppedError, run

    roots = tuple(Path(path) for path in paths) or (Path(),)
    _make_sure(roots, html)
    overrides: dict[str, object] = {"device": "cuda", "preview": True}
    settings = settings_of(start_of(tuple(map(str, roots)), None), config, isolated, overrides)
    try:
        tally = run(words, [root.resolve() for root in roots], steps, seconds, _STDERR if as_json else None)
    except StoppedError as error:
        complain(str(error))
        return INTERRUPTED
    except CannotCountError as error:
        raise Failure(str(error)) from error
    counted = _joined(tally, roots, settings, Nested(settings, overrides, config))
    if not counted.totals:
        raise Failure(f"{words[0]} imported torch but put nothing on a device")
    if html is not None:
        from torchlint.count.page import as_html

        write_file(html, as_html(counted, settings.root, shlex.join(words)))
    _show(counted, top, as_json=as_json)
    if tally.stopped:
        return INTERRUPTED
    return tally.code if tally.code >= 0 else 128 - tally.code


def _make_sure(roots: tuple[Path, ...], html: Path | None) -> None:
    """Find what is wrong with paths before the program runs, which may take hours.

    Raises:
        Failure: there is no such file or folder.
    """
    for root in roots:
        if not root.exists():
            raise Failure(f"{root}: No such file or directory")
    if html is not None and not html.parent.is_dir():
        raise Failure(f"{html} cannot be written: there is no folder {html.parent}")


def _joined(tally: Tally, roots: tuple[Path, ...], settings: Settings, own: Nested) -> CountedRun:
    """Lint the paths, and join the findings to the counts."""
    from torchlint.count.join import excused, joined, rows_without_finding
    from torchlint.engine.needed import reasons
    from torchlint.engine.run import EngineRun

    run = EngineRun.prepare(roots, settings, {}, own)
    result = run.checked()
    for problem in result.problems:
        complain(f"warning: {problem.path}: {problem.message}")
    rows = rows_without_finding(tally, settings.root, result.findings)
    return excused(joined(tally, settings.root, result.findings, reasons(run, rows) if rows else {}))


def _show(counted: CountedRun, top: int, *, as_json: bool) -> None:
    if as_json:
        from torchlint.count.as_json import as_json as rendered

        write_bytes(sys.stdout, rendered(counted).encode())
        return
    from torchlint.count.table import as_text

    look = look_of(sys.stdout)
    write(sys.stdout, as_text(counted, top, color=look.color, unicode=look.unicode, width=look.width))

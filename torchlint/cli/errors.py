"""From exceptions to one line on standard error and an exit code."""

from __future__ import annotations

import errno
import sys
from types import TracebackType

import click

from torchlint.cli import FAILED, INTERRUPTED, OK
from torchlint.cli.app import application
from torchlint.cli.output import complain, forget
from torchlint.settings.check import SettingsError, nearest
from torchlint.settings.load import described


def guarded(args: list[str]) -> int:
    """Run the application; every exception becomes an exit code."""
    crash = _Crash()
    with crash:
        return _run(args)
    return FAILED


def _run(args: list[str]) -> int:
    try:
        code = application.main(args, prog_name="torchlint", standalone_mode=False)
    except click.NoSuchOption as error:
        complain(f"error: no such option: {error.option_name}{nearest(error.option_name, _options(error))}")
    except click.ClickException as error:
        complain(f"error: {error.format_message()}")
    except SettingsError as error:
        complain(f"error: {described(error)}")
    except SystemExit:
        # Click's answer to a pipe that nobody reads any more: whoever read our help has seen enough.
        forget(sys.stdout)
        return OK
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        # Help texts are written by click itself.
        forget(sys.stdout)
        complain(f"error: cannot write the output: {error.strerror}")
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted")
        return INTERRUPTED
    else:
        return code if isinstance(code, int) else OK
    return FAILED


def _options(error: click.NoSuchOption) -> list[str]:
    """The options of the command that was called."""
    if error.ctx is None:
        return []
    return [name for param in error.ctx.command.get_params(error.ctx) for name in (*param.opts, *param.secondary_opts)]


class _Crash:
    """Reports an exception that nobody expected, with the place in our code where it came from, for a bug report."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        import traceback

        sys.stderr.write("".join(traceback.format_exception(kind, error, trace)))
        complain(f"internal error: {type(error).__name__}: {error}; please report it with the lines above")
        return True

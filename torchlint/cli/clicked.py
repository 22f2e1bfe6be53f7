"""The command line as click reads it."""

from __future__ import annotations

import errno
import sys

import click

from torchlint.cli import FAILED, OK
from torchlint.cli.app import application
from torchlint.cli.nearest import InterruptedCommandError
from torchlint.cli.output import complain
from torchlint.cli.terminal import forget
from torchlint.settings.check import nearest


def clicked(args: list[str], key: str | None) -> int:
    """Run the application; what click has to say becomes one line and an exit code.

    ``key`` stands for the command line in the cache, where a run with it may be kept.

    Raises:
        Failure, SettingsError, KeyboardInterrupt: as the command does.
    """
    try:
        code = application.main(args, prog_name="torchlint", standalone_mode=False, obj=key)
    except click.NoSuchOption as error:
        complain(f"error: no such option: {error.option_name}{nearest(error.option_name, _options(error))}")
    except click.BadParameter as error:
        complain(f"error: {_variable(error) or error.format_message()}")
    except click.ClickException as error:
        complain(f"error: {error.format_message()}")
    except SystemExit:
        # Click's answer to a pipe that nothing reads any more: whoever read our help has seen enough.
        forget(sys.stdout)
        return OK
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        # Help texts are written by click itself.
        forget(sys.stdout)
        complain(f"error: cannot write the output: {error.strerror}")
    except (click.Abort, InterruptedCommandError) as error:
        raise KeyboardInterrupt from error
    else:
        return code if isinstance(code, int) else OK
    return FAILED


def _variable(error: click.BadParameter) -> str:
    """What is wrong with an environment variable; empty: the value was typed."""
    if error.param is None or error.param.name is None or error.ctx is None:
        return ""
    if error.ctx.get_parameter_source(error.param.name) is not click.core.ParameterSource.ENVIRONMENT:
        return ""
    return f"environment variable {error.param.envvar}: {error.message}"


def _options(error: click.NoSuchOption) -> list[str]:
    """The options of the command that was called."""
    if error.ctx is None:
        return []
    return [name for param in error.ctx.command.get_params(error.ctx) for name in (*param.opts, *param.secondary_opts)]

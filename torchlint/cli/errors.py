"""From exceptions to one line on standard error and an exit code."""

from __future__ import annotations

import sys
from types import TracebackType

from torchlint.cli import FAILED, INTERRUPTED
from torchlint.cli.ending import Ending
from torchlint.cli.failure import Failure
from torchlint.cli.output import complain
from torchlint.settings.check import SettingsError
from torchlint.settings.load import described


def guarded(args: list[str], key: str | None, ending: Ending | None) -> int:
    """Run the application; every exception becomes an exit code.

    ``key`` stands for the command line in the cache, where a run with it may be kept. ``ending`` knows whether this
    process was asked to end, and answers for what comes of that.
    """
    crash = _Crash(ending)
    with crash:
        return _run(args, key)
    return FAILED


def _run(args: list[str], key: str | None) -> int:
    from torchlint.cli.clicked import clicked

    try:
        return clicked(args, key)
    except Failure as error:
        complain(f"error: {error}")
        return FAILED
    except SettingsError as error:
        complain(f"error: {described(error)}")
        return FAILED
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED


class _Crash:
    """Reports an exception that no one expected, with the place in our code where it came from, for a bug report."""

    def __init__(self, ending: Ending | None) -> None:
        self._ending = ending

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception) or (self._ending is not None and self._ending.status is not None):
            return False
        import traceback

        sys.stderr.write("".join(traceback.format_exception(kind, error, trace)))
        complain(f"internal error: {type(error).__name__}: {error}; please report it with the lines above")
        return True

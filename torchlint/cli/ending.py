"""A process that is asked to end: it cleans up, says so in one line, and has the exit status that shells expect."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, TracebackType

# Those that ask a process to end, where the system has them.
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_OF_SIGNALS = 128
_SIGINT = 2
# In seconds: an interrupt that came where Python can raise nothing comes again.
_AGAIN = 0.01


class Ending:
    """Turns signals into ``KeyboardInterrupt``, and whatever comes of that into an exit status.

    An interrupt may come at any place, and some code makes another exception of it or swallows it; so what ended the
    process is what counts, and not the exception that arrives.
    """

    __slots__ = ("interrupted", "number")

    def __init__(self) -> None:
        """Begin without a signal; the system does with one what it always does until ``listen``."""
        self.number = 0
        self.interrupted = False

    def listen(self) -> None:
        """Make signals raise ``KeyboardInterrupt`` from now on; ignored signals, as under nohup, stay ignored."""
        import signal

        for name in SIGNALS:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self)
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, self)
            sys.unraisablehook = self._unraisable

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        """Take note of a signal; later ones change nothing about the status."""
        self.number = self.number or number
        raise KeyboardInterrupt

    def _unraisable(self, found: sys.UnraisableHookArgs) -> None:
        if isinstance(found.exc_value, KeyboardInterrupt):
            import signal

            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        else:
            sys.__unraisablehook__(found)

    @property
    def status(self) -> int | None:
        """The exit status of a process that was asked to end; ``None``: it was not."""
        return _OF_SIGNALS + (self.number or _SIGINT) if self.number or self.interrupted else None

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Answer for an exception that an interrupt is behind: a line in the place of a traceback."""
        self.interrupted = self.interrupted or isinstance(error, KeyboardInterrupt)
        if error is None or self.status is None:
            return False
        try:  # noqa: SIM105  contextlib would be one more import of each warm run
            os.write(2, b"torchlint: interrupted\n")
        except (OSError, KeyboardInterrupt):
            pass
        return True

"""What a program raises, kept: programs under test may fail in any way, and others go on."""

from __future__ import annotations

import traceback
from types import TracebackType


class Caught:
    """A context manager that keeps an exception of the code inside; interrupts and exits pass.

    ``error`` is ``None`` when nothing was raised.
    """

    def __init__(self) -> None:
        """Nothing was raised yet."""
        self.error: Exception | None = None

    def __enter__(self) -> Caught:
        """Start to listen."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Keep an ordinary exception."""
        if not isinstance(error, Exception):
            return False
        self.error = error
        return True

    @property
    def story(self) -> str:
        """The traceback as Python prints it, empty when nothing was raised."""
        return "".join(traceback.format_exception(self.error)) if self.error is not None else ""

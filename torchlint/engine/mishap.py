"""What goes wrong inside torchlint itself: told with file, rule and line, while the rest of the work goes on."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import TracebackType

from torchlint.engine.result import Problem


class kept_going:
    """Reports any exception of a block as a problem: what goes wrong with one file or rule must not stop the others."""

    __slots__ = ("_tell",)

    def __init__(self, tell: Callable[[Exception], None]) -> None:
        """Take what is told of an exception; ``KeyboardInterrupt`` and its like are raised."""
        self._tell = tell

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Tell of what the block raised."""
        if not isinstance(error, Exception):
            return False
        self._tell(error)
        return True


def mishap(path: str, doing: str, error: Exception, code: str = "", fixing: bool = False) -> Problem:
    """Return an exception as a problem; ``doing`` says what failed, ``code`` is that of a rule."""
    return mishaps([path], doing, error, code, fixing)[0]


def mishaps(paths: Sequence[str], doing: str, error: Exception, code: str = "", fixing: bool = False) -> list[Problem]:
    """Return an exception as one problem for each of some files; what they share is found out once."""
    import traceback

    row = row_of(error)
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=-8))
    places = [path if row is None else f"{path}:{row}" for path in paths]
    return [
        Problem(path, f"{doing} failed at {place}: {reason}", True, code, fixing, trace)
        for path, place in zip(paths, places, strict=True)
    ]


def row_of(error: Exception) -> int | None:
    """Return the row of the analysed code at which an exception was raised, ``None`` if that is not known."""
    row: int | None = None
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        nodes = (value for value in trace.tb_frame.f_locals.values() if isinstance(value, (ast.stmt, ast.expr)))
        row = next((node.lineno for node in nodes), row)
        trace = trace.tb_next
    return row

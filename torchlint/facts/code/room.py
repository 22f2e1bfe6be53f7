"""Room for functions that call themselves as deep as code makes them: a chain of names, calls or imports of any length.

Where half of the frames that Python allows are in use, a call goes on in a thread of its own, which begins with none,
and the caller waits. So what is found depends on no depth: neither on that of the code nor on that of whoever asks. At
most ``MOST`` threads wait for each other; a chain that needs more is one that never ends, and fails as in Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

MOST = 1000
_STACK = 16 << 20
_NAME = "torchlint, deeper "


def roomy(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Decorate a function that calls itself, perhaps through others, at most once in a hundred frames."""

    @wraps(function)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        if is_deep():
            return _apart(lambda: function(*args, **kwargs))
        return function(*args, **kwargs)

    return call


def is_deep() -> bool:
    """Return whether half of the frames that Python allows are in use."""
    try:
        sys._getframe(sys.getrecursionlimit() >> 1)
    except ValueError:
        return False
    return True


def _apart(call: Callable[[], Result]) -> Result:
    """What a call gives, or raises, in a new thread."""
    import threading

    name = threading.current_thread().name
    depth = int(name.removeprefix(_NAME)) + 1 if name.startswith(_NAME) else 1
    if depth > MOST:
        raise RecursionError(f"more than {MOST} stacks are full")
    given: list[Result] = []
    end = _End()

    def work() -> None:
        with end:
            given.append(call())

    before = threading.stack_size(_STACK)
    try:
        thread = threading.Thread(target=work, name=f"{_NAME}{depth}", daemon=True)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if end.error is not None:
        raise end.error
    return given.pop()


class _End:
    """Keeps the exception that ends a thread, for the caller who waits."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        self.error = error
        return True

"""Count the environment steps and the optimizer steps of a program."""

from __future__ import annotations

import builtins
import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any


class Pace:
    """How often the program stepped an environment and an optimizer.

    An environment is any object with ``reset`` and a ``step`` that takes an action. Of environments inside others, as
    wrappers and vectors are, the outermost counts.
    """

    def __init__(self, limit: int | None, stop: Callable[[], None]) -> None:
        """Call ``stop`` after ``limit`` environment steps, or as many optimizer steps where no environment steps."""
        self.steps = 0
        self.updates = 0
        self._limit = limit
        self._stop = stop
        self._inside = threading.local()

    def watch(self) -> None:
        """Watch every class that is defined from now on."""
        build = builtins.__build_class__

        def build_class(*args: Any, **kwargs: Any) -> Any:
            made = build(*args, **kwargs)
            self._watch_class(made)
            return made

        builtins.__build_class__ = build_class

    def start_again(self) -> None:
        """Count from nothing and without a limit, in a process that was forked."""
        self.steps = self.updates = 0
        self._limit = None

    def updated(self, *_: object) -> None:
        """Count an optimizer step."""
        self.updates += 1
        if self._limit is not None and not self.steps and self.updates >= self._limit:
            self._stop()

    def _watch_class(self, made: Any) -> None:
        """Count the calls of ``step`` of a class of environments."""
        step = getattr(made, "__dict__", {}).get("step")
        if inspect.isfunction(step) and hasattr(made, "reset") and _takes_action(step):
            made.step = self._counted(step)

    def _counted(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method ``step`` that counts when it is not part of another environment's step."""

        @functools.wraps(step)
        def counted(*args: Any, **kwargs: Any) -> Any:
            if getattr(self._inside, "step", False):
                return step(*args, **kwargs)
            self._inside.step = True
            try:
                result = step(*args, **kwargs)
            finally:
                self._inside.step = False
            self.steps += 1
            if self._limit is not None and self.steps >= self._limit:
                self._stop()
            return result

        return counted


def _takes_action(step: Callable[..., Any]) -> bool:
    """Whether a method takes one argument besides ``self``."""
    code = step.__code__
    return code.co_argcount >= 2 or bool(code.co_flags & inspect.CO_VARARGS)

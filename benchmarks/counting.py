"""Runs a training script and counts the calls of every function of some code, per environment step and per update.

    python counting.py OUT FOLDER STEPPED RESET SCRIPT [ARGUMENTS]

Of the functions below FOLDER, OUT tells as JSON how often each was called, and in how many of the intervals between
two steps and between two updates. STEPPED and RESET (``module:Class``) are the environments whose ``step`` and
``reset`` are counted; an update is a step of an optimizer, of several that step in turn one round.

Calls are counted by name of file, first row and name of the function. A generator counts once, when it begins.
"""

from __future__ import annotations

import json
import runpy
import sys
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType

from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook


@dataclass(slots=True)
class Calls:
    """The calls of one function: all of them, and the intervals that held one.

    ``entry`` is the instruction at which its frames begin; generators are seen again each time that they go on.
    """

    entry: int
    number: int = 0
    steps: int = 0
    updates: int = 0
    last_step: int = -1
    last_update: int = -1


class Counting:
    """Counts calls while a program runs; environment steps and updates are its clocks."""

    def __init__(self, folder: Path, step: CodeType, reset: CodeType) -> None:
        """Count the functions below a folder, by the clock of an environment's ``step`` and ``reset``."""
        self.folder = f"{folder.resolve()}/"
        self.step = step
        self.reset = reset
        self.calls: dict[CodeType, Calls | None] = {}
        self.steps = 0
        self.resets = 0
        self.rounds: Counter[int] = Counter()
        self.updates = 0

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        """What ``sys.setprofile`` calls on every call and return."""
        if event != "call":
            return
        code = frame.f_code
        if code is self.step:
            self.steps += 1
        elif code is self.reset:
            self.resets += 1
        if code not in self.calls:
            followed = code.co_filename.startswith(self.folder)
            self.calls[code] = Calls(frame.f_lasti) if followed else None
        calls = self.calls[code]
        if calls is None or calls.entry != frame.f_lasti:
            return
        calls.number += 1
        if calls.last_step != self.steps:
            calls.last_step = self.steps
            calls.steps += 1
        if calls.last_update != self.updates:
            calls.last_update = self.updates
            calls.updates += 1

    def updated(self, optimizer: Optimizer, *_: object) -> None:
        """Count a step of an optimizer, which is an update unless another one has begun this round."""
        self.rounds[id(optimizer)] += 1
        self.updates = max(self.updates, self.rounds[id(optimizer)])

    def told(self) -> dict[str, object]:
        """What was counted, as OUT holds it."""
        rows = [
            {
                "file": code.co_filename.removeprefix(self.folder),
                "row": code.co_firstlineno,
                "name": code.co_name,
                "calls": calls.number,
                "steps": calls.steps,
                "updates": calls.updates,
            }
            for code, calls in self.calls.items()
            if calls is not None and not code.co_name.startswith("<")
        ]
        return {"steps": self.steps, "updates": self.updates, "resets": self.resets, "functions": rows}


def method(of: str, name: str) -> CodeType:
    """The code of a method of a class ``module:Class``."""
    module, _, owner = of.partition(":")
    return getattr(getattr(import_module(module), owner), name).__code__


def main(out: str, folder: str, stepped: str, reset: str, script: str, *arguments: str) -> None:
    """Run the script as Python would, and write what was counted."""
    program = Path(script).resolve()
    sys.argv = [str(program), *arguments]
    sys.path.insert(0, str(program.parent))
    counting = Counting(Path(folder), method(stepped, "step"), method(reset, "reset"))
    register_optimizer_step_post_hook(counting.updated)
    sys.setprofile(counting.profile)
    try:
        runpy.run_path(str(program), run_name="__main__")
    finally:
        sys.setprofile(None)
    Path(out).write_text(json.dumps(counting.told()), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

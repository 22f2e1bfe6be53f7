"""Run a training script, and note how often each line of some code ran and which parameters came out.

    python lines.py OUT FOLDERS SCRIPT [ARGUMENTS]

FOLDERS are separated as in PATH, and may be none. OUT gets JSON: the ``digest`` of all parameters that an optimizer
stepped, the number of ``optimizers``, the ``updates``, by file below the folders how often each of the ``rows`` ran and
in how many intervals between two updates, and in ``validated`` which lines let distributions validate that which
other lines built.
"""

from __future__ import annotations

import hashlib
import json
import os
import runpy
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.distributions import Distribution
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook


class Lines:
    """Counts the lines that run below some folders, and the intervals between two updates in which each ran."""

    def __init__(self, folders: Sequence[str], optimizers: Optimizers) -> None:
        """Count for the files below the folders, which are absolute."""
        self._optimizers = optimizers
        self._folders = tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)
        self._rows: dict[CodeType, dict[int, list[int]] | None] = {}

    def trace(self, frame: FrameType, _: str, __: object) -> Any:
        """Return what Python calls for each line of a frame; ``sys.settrace`` takes it."""
        code = frame.f_code
        if code not in self._rows:
            inside = os.path.realpath(code.co_filename).startswith(self._folders)
            self._rows[code] = {} if inside else None
        rows = self._rows[code]
        if rows is None:
            return None

        def line(frame: FrameType, event: str, _: object) -> Any:
            if event == "line":
                updates = self._optimizers.updates
                counts = rows.setdefault(frame.f_lineno, [0, 0, -1])
                counts[0] += 1
                if counts[2] != updates:
                    counts[1] += 1
                    counts[2] = updates
            return line

        return line

    def counted(self) -> dict[str, dict[int, tuple[int, int]]]:
        """Return how often each row of each file ran, and in how many intervals between two updates."""
        files: dict[str, dict[int, tuple[int, int]]] = {}
        for code, rows in self._rows.items():
            found = files.setdefault(os.path.realpath(code.co_filename), {}) if rows else {}
            for row, (times, updates, _) in (rows or {}).items():
                before = found.get(row, (0, 0))
                found[row] = before[0] + times, max(before[1], updates)
        return files


class Validations:
    """Which lines below some folders let a distribution validate a value, and which lines had built it."""

    def __init__(self, folders: Sequence[str]) -> None:
        """Watch all distributions of torch from now on."""
        self._folders = tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)
        self._built: WeakKeyDictionary[Distribution, tuple[str, int]] = WeakKeyDictionary()
        self.found: set[tuple[str, int, str, int]] = set()
        build, validate = Distribution.__init__, Distribution._validate_sample

        def built(distribution: Distribution, *args: Any, **kwargs: Any) -> None:
            build(distribution, *args, **kwargs)
            self._built[distribution] = self._here()

        def validated(distribution: Distribution, value: torch.Tensor) -> None:
            if distribution in self._built:
                self.found.add((*self._here(), *self._built[distribution]))
            validate(distribution, value)

        Distribution.__init__ = built
        Distribution._validate_sample = validated

    def _here(self) -> tuple[str, int]:
        """Return the innermost line below the folders."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            path = os.path.realpath(frame.f_code.co_filename)
            if path.startswith(self._folders):
                return path, frame.f_lineno
            frame = frame.f_back
        return "", 0


class Optimizers:
    """The optimizers of a program, in the order of their first steps.

    Several that step in turn make one update, so ``updates`` is the steps of the one that stepped most often.
    """

    def __init__(self) -> None:
        """Start with none."""
        self._steps: dict[Optimizer, int] = {}
        self.updates = 0

    def stepped(self, optimizer: Optimizer, *_: object) -> None:
        """Take up a step of an optimizer."""
        self._steps[optimizer] = steps = self._steps.get(optimizer, 0) + 1
        self.updates = max(self.updates, steps)

    def __len__(self) -> int:
        return len(self._steps)

    def digest(self) -> str:
        """Return a digest of the bytes of all parameters."""
        digest = hashlib.sha256()
        for optimizer in self._steps:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    digest.update(parameter.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()


def main(out: str, folders: str, script: str, *arguments: str) -> None:
    """Run the script as Python would, and write what was noted."""
    program = Path(script).resolve()
    sys.argv = [str(program), *arguments]
    sys.path.insert(0, str(program.parent))
    torch.set_num_threads(1)
    optimizers = Optimizers()
    register_optimizer_step_post_hook(optimizers.stepped)
    followed = [folder for folder in folders.split(os.pathsep) if folder]
    lines, validations = Lines(followed, optimizers), None
    if folders:
        validations = Validations(followed)
        threading.settrace(lines.trace)
        sys.settrace(lines.trace)
    try:
        runpy.run_path(str(program), run_name="__main__")
    finally:
        sys.settrace(None)
        threading.settrace(None)
    noted: dict[str, Any] = {
        "digest": optimizers.digest(),
        "optimizers": len(optimizers),
        "updates": optimizers.updates,
    }
    noted.update(rows=lines.counted(), validated=sorted(validations.found) if validations else [])
    Path(out).write_text(json.dumps(noted), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""From the arguments of a tool to a command line of torchlint.

A value never becomes an option: options are written ``--name=value``, and paths stand behind ``--``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def check(paths: Sequence[str], select: Sequence[str], since: str, top: int, *, everything: bool) -> list[str]:
    """Lint, and print the findings for agents."""
    words = ["check", "--output-format=agent", "--color=never", "--exit-zero"]
    words += [*_given("select", select), *_given("since", [since])]
    words += [f"--top={top}"] if top > 0 else []
    words += ["--all"] if everything and top <= 0 else []
    return [*words, *_paths(paths)]


def explain(file: str, row: int) -> list[str]:
    """Explain how often a line runs, and why."""
    return ["check", "--color=never", f"--explain-hot={file}:{row}"]


def fix(paths: Sequence[str], select: Sequence[str], accept: Sequence[str], *, unsafe: bool) -> list[str]:
    """Show what fixes would change, and change nothing."""
    words = ["check", "--diff", "--exit-zero", "--color=never", *_given("select", select), *_given("accept", accept)]
    return [*words, *(["--unsafe-fixes"] if unsafe else []), *_paths(paths)]


def rule(code: str) -> list[str]:
    """Explain a rule."""
    return ["rule", "--output-format=markdown", "--", code]


def count(command: Sequence[str], paths: Sequence[str], steps: int, seconds: float, top: int) -> list[str]:
    """Run a program on the counted device."""
    words = ["count", f"--top={max(top, 1)}"]
    words += [f"--steps={steps}"] if steps > 0 else []
    words += [f"--seconds={seconds}"] if seconds > 0 else []
    return [*words, *_inside(paths), "--", *command]


def verify(command: Sequence[str], paths: Sequence[str], accept: Sequence[str], *, write: bool) -> list[str]:
    """Try the fixes on a command."""
    words = ["verify", *_given("accept", accept), *([] if write else ["--diff"])]
    return [*words, *_inside(paths), "--", *command]


def _given(name: str, values: Iterable[str]) -> Iterator[str]:
    return (f"--{name}={value}" for value in values if value)


def _paths(paths: Sequence[str]) -> list[str]:
    return ["--", *paths] if paths else []


def _inside(paths: Sequence[str]) -> list[str]:
    """Paths that stand before the command, where a word that begins with a dash would be an option."""
    return [f"./{path}" if path.startswith(("-", "@")) else path for path in paths]

"""Which of several definitions of one name is meant, where a program chooses its framework when it starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torchlint.facts.code.model import FileFacts, Scope

_FRAMEWORKS = frozenset({"torch", "paddle", "tensorflow", "jax", "flax", "mxnet", "keras"})
_TORCH = frozenset({"torch"})
_WRITERS = frozenset({"tensorflow"})  # programs that train with torch import it to write summaries


class Backends:
    """Answers for which framework code is written: by its imports, or by a folder that bears the name."""

    def __init__(self, files: Iterable[FileFacts]) -> None:
        """Note the frameworks that the files of each folder import."""
        self._folders: dict[str, set[str]] = {}
        for facts in files:
            self._folders.setdefault(_folder(facts), set()).update(_frameworks(facts))

    def kept(self, folder: str, found: Mapping[str, Scope | None]) -> list[str]:
        """Return the definitions for the framework of a folder, else those for torch, else all."""
        wanted = self._folders.get(folder) or _TORCH
        fitting = [name for name, scope in found.items() if scope is None or wanted & _frameworks(scope.file)]
        return fitting or list(found)


def is_foreign(facts: FileFacts) -> bool:
    """Return whether a file is written for another framework than torch."""
    found = _frameworks(facts) - _WRITERS
    return bool(found) and not found & _TORCH


def _folder(facts: FileFacts) -> str:
    return facts.path.rpartition("/")[0]


def _frameworks(facts: FileFacts) -> set[str]:
    """The frameworks that a file imports or whose name its module bears."""
    roots = {name.partition(".")[0] for name in facts.imports}
    return {*roots, *facts.module.split(".")} & _FRAMEWORKS

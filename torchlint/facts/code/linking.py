"""Which file an import means, from the names of the files alone, and which files are connected by imports."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Generic, Protocol, TypeVar

from torchlint.late import dataclass

EVERYWHERE = "*"
"""Among what a file imports: it is connected with all files, for it sets a default of torch."""

ANY = ".*"
"""The end of a name among what a file imports: any module of a package, which a setting chooses."""

# Packages that a file or folder of the same name in a package (``agents/torch/``) does not hide: ``import torch``.
_LIBRARIES = frozenset(
    ("torch", "numpy", "jax", "flax", "tensorflow", "keras", "gym", "gymnasium", "ray", "scipy", "pandas", "wandb")
)

# Frameworks of which projects hold copies: a folder of that name at the root hides the installed framework, and a file
# inside of a package does not: ``trainers/trl.py`` holds code that uses ``import trl``.
_FRAMEWORKS = frozenset(
    ("accelerate", "deepspeed", "diffusers", "megatron", "peft", "transformers", "trl", "verl", "vllm")
)


class ModuleFile(Protocol):
    """A file of the project: its path relative to the root, and its dotted name."""

    @property
    def path(self) -> str:
        """With ``/``."""

    @property
    def module(self) -> str:
        """Unique in the project."""


_File = TypeVar("_File", bound=ModuleFile)


def module_name(path: str) -> tuple[str, bool]:
    """Return the dotted name of a file, unique below the project root, and whether it is a package."""
    parts = path.removesuffix(".py").split("/")
    package = parts[-1] == "__init__" and len(parts) > 1
    if package:
        parts.pop()
    return ".".join(part.replace(".", "·") for part in parts), package


@dataclass(eq=False, slots=True)
class Modules(Generic[_File]):
    """The files of a project by dotted name, and by every end of it.

    ``hidden`` are the paths of modules beside a package of the same name: no import can mean them. ``packages`` are the
    folders that are packages: a bare name means a module in one only where no folder above has such a module.
    """

    hidden: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    by_name: dict[str, _File] = field(default_factory=dict)
    _by_suffix: dict[str, list[_File]] = field(default_factory=dict)
    _links: dict[tuple[str, str], _File | None] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Iterable[_File]) -> Modules[_File]:
        """Index files."""
        listed = list(files)
        packages = {file.path.removesuffix("/__init__.py") for file in listed if file.path.endswith("/__init__.py")}
        hidden = frozenset(file.path for file in listed if file.path.removesuffix(".py") in packages)
        found = cls(hidden, frozenset(packages))
        for file in listed:
            if file.path in found.hidden:
                continue
            found.by_name[file.module] = file
            parts = file.module.split(".")
            for start in range(len(parts)):
                found._by_suffix.setdefault(".".join(parts[start:]), []).append(file)
        return found

    def imported(self, path: str, dotted: str) -> _File | None:
        """Return the project file that an absolute import of ``dotted`` in a file means, ``None`` if there is none."""
        key = (path.rpartition("/")[0], dotted)
        if key not in self._links:
            self._links[key] = self._find(path, dotted)
        return self._links[key]

    def beside(self, path: str, parts: Sequence[str]) -> _File | None:
        """Return the module beside a file that a dotted name begins with, where a package elsewhere has that name too.

        The package holds a module of the name's second part, which the name does not mean if the one beside has such.
        """
        other = self.by_name.get(".".join(parts[:2])) if len(parts) > 1 else None
        found = self.imported(path, parts[0]) if other is not None else None
        return None if found is other or (found is not None and found.path.endswith("/__init__.py")) else found

    def is_inner(self, file: _File, parts: Sequence[str]) -> bool:
        """Return whether a file is in a package in another package, and some parts of a name are the end of its own.

        An absolute import cannot mean it, unless its folder is where Python looks for modules, or its one part is
        the name of a module beside the code that imports it.
        """
        folder, _, last = file.path.rpartition("/")
        outer = folder.rpartition("/")[0]
        return (last == "__init__.py" or len(parts) > 1) and outer in self.packages and file.module != ".".join(parts)

    def meant(self, path: str, dotted: str) -> list[_File]:
        """Return all project files that a name among the imports of a file may mean."""
        if dotted.endswith(ANY):
            package = dotted.removesuffix(ANY)
            parents = ((name.rpartition(".")[0], file) for name, file in self.by_name.items())
            return [file for parent, file in parents if parent == package or parent.endswith(f".{package}")]
        found = self.imported(path, dotted)
        if found is None:
            return []
        top = self.by_name.get(dotted)  # a package of the root that a module beside the file has the name of
        return [found, top] if top is not None and top.path.endswith("/__init__.py") else [found]

    def _find(self, path: str, dotted: str) -> _File | None:
        exact = self.by_name.get(dotted)
        if exact is not None and "." in dotted:
            return exact
        candidates = self._by_suffix.get(dotted, [])
        if not candidates:
            return None
        here = path.split("/")[:-1]
        first = dotted.partition(".")[0]
        foreign = is_standard(dotted) or first in _LIBRARIES
        best: tuple[bool, int, int, str] | None = None
        found = None
        elsewhere: list[_File] = []
        for candidate in candidates:
            parts = candidate.module.split(".")
            above = tuple(parts[: len(parts) - len(dotted.split("."))])
            common = 0
            for mine, theirs in zip(here, above, strict=False):
                if mine.replace(".", "·") != theirs:
                    break
                common += 1
            outside = len(above) - common
            if above and (foreign or (first in _FRAMEWORKS and "/".join(above) in self.packages)):
                continue
            if outside and "." not in dotted:
                elsewhere.append(candidate)  # a bare name is a sibling or lies in a folder above
                continue
            inside = "." not in dotted and candidate.path.rpartition("/")[0] in self.packages
            rank = (inside, -common, outside, candidate.path)
            if best is None or rank < best:
                best, found = rank, candidate
        return self._installed(elsewhere) if found is None else found

    def _installed(self, files: Sequence[_File]) -> _File | None:
        """The package among files in other folders, if there is one: ``src/`` holds what is installed."""
        found = [file for file in files if file.path.endswith("/__init__.py")]
        folder = found[0].path.removesuffix("__init__.py") if len(found) == 1 else ""
        if not folder or not all(file.path.startswith(folder) for file in files):
            return None
        return None if folder.rstrip("/").rpartition("/")[0] in self.packages else found[0]


@dataclass(frozen=True, slots=True)
class _Name:
    """A file of which only the name is known."""

    path: str
    module: str


def is_standard(module: str) -> bool:
    """Return whether a module by its name is one of Python's own: the ``builtins``, or of the standard library."""
    return module in sys.stdlib_module_names


def connected(imports: Mapping[str, Sequence[str]]) -> list[frozenset[str]]:
    """Return the groups of files that are connected by imports in either direction, from what each imports, by path.

    A file that imports ``EVERYWHERE`` ties all of them together.
    """
    if any(EVERYWHERE in names for names in imports.values()):
        return [frozenset(imports)]
    modules = Modules.of([_Name(path, module_name(path)[0]) for path in imports])
    group = {path: path for path in imports}

    def root(path: str) -> str:
        while group[path] != path:
            group[path] = group[group[path]]
            path = group[path]
        return path

    for path, names in imports.items():
        for dotted in names:
            for target in modules.meant(path, dotted):
                group[root(path)] = root(target.path)
    members: dict[str, list[str]] = {}
    for path in imports:
        members.setdefault(root(path), []).append(path)
    return [frozenset(paths) for paths in members.values()]

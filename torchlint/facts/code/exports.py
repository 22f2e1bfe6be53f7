"""What dotted names mean: through imports, what modules give on, and star imports, to where a thing is defined."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from torchlint.facts.code.backends import Backends
from torchlint.facts.code.model import Bind, FileFacts
from torchlint.late import dataclass

if TYPE_CHECKING:
    from torchlint.facts.code.project import Project

# How many star imports of star imports are followed.
_DEEPEST = 5


@dataclass(eq=False, slots=True)
class Exports:
    """Follows names that files import, with a memory."""

    project: Project
    _canonical: dict[tuple[str, str], str] = field(default_factory=dict)
    _backends: Backends | None = None

    def learn(self, other: Exports) -> None:
        """Copy what is known of a project with the same names."""
        self._canonical.update(other._canonical)

    def canonical(self, facts: FileFacts, dotted: str) -> str:
        """Follow an absolute dotted name into the project (see ``Project.canonical``)."""
        key = (facts.path.rpartition("/")[0], dotted)
        found = self._canonical.get(key)
        if found is None:
            found = self._canonical[key] = self._follow(facts, dotted, 0, key[0])
        return found

    def _follow(self, facts: FileFacts, dotted: str, depth: int, folder: str, through: Collection[str] = ()) -> str:
        """One step of ``canonical``; ``through`` are the files by whose star imports the name came here."""
        parts = dotted.split(".")
        beside = self.project.names.beside(facts.path, parts)
        defined = beside is not None and beside.defines(parts[1])  # and no module of a package elsewhere
        for cut in range(1 if defined else len(parts), 0, -1):
            file = self.project.module(facts, ".".join(parts[:cut]))
            if file is None:
                continue
            rest = parts[cut:]
            if not rest and self._is_covered(facts, file, parts):
                continue  # to the package, which knows the name
            if not rest:
                return file.module
            found = file.top.bindings.get(rest[0])
            if found is None:
                # A file whose star import names a module that is not there may be taken for that module.
                starred = file.star_imports if depth < _DEEPEST and file.path not in through else ()
                passed = (*through, file.path)
                given = {base: self._follow(file, f"{base}.{rest[0]}", depth + 1, folder, passed) for base in starred}
                ours = [name for base, name in given.items() if self._leads(file, base, name)]
                if not ours and cut == 1 and (other := self._above(file, parts, depth, passed)):
                    return other
                if not ours and self.project.names.is_inner(file, parts[:cut]):
                    return dotted  # of a library: ``megatron.core`` beside a folder ``megatron`` without a ``core``
                return ".".join([self._fitting(folder, ours)[0] if ours else f"{file.module}.{rest[0]}", *rest[1:]])
            found = self.project.lasting(file, rest[0])
            binding = found[-1]
            if binding.how is Bind.IMPORT and depth < 8:
                targets = dict.fromkeys(each.target for each in found if each.how is Bind.IMPORT)
                full = [".".join([target, *rest[1:]]) for target in targets]
                names = [self._follow(file, name, depth + 1, folder, through) for name in full]
                ours = self._fitting(folder, filter(self._defines, names))
                if len(ours) > 1:
                    return ".".join([file.module, *rest])  # one of several, as the value of the name tells
                return ours[0] if ours else names[-1]
            if (
                len(found) == 1
                and binding.how is Bind.ASSIGN
                and (name := self.project.binding_name(file, binding) or "")
            ):
                return ".".join([name, *rest[1:]])  # zeros = torch.zeros
            return ".".join([file.module, *rest])
        return dotted

    def _is_covered(self, facts: FileFacts, file: FileFacts, parts: Sequence[str]) -> bool:
        """Whether the package of a module gives the module's name to what it takes out of it, as Python sees it.

        With ``from .sac import sac`` in the file of the package, ``from agents import sac`` imports no module.
        """
        *above, name = parts
        package = self.project.module(facts, ".".join(above)) if above else None
        if package is None or not package.package or file.module != f"{package.module}.{name}":
            return False
        if name not in package.top.bindings:
            starred = any(self.project.module(package, base) is file for base in package.star_imports)
            return starred and name in file.top.bindings
        found = (each for each in self.project.lasting(package, name) if each.how is Bind.IMPORT)
        froms = (each.target.rpartition(".") for each in found)
        return any(last == name and self.project.module(package, base) is file for base, _, last in froms)

    def _above(self, beside: FileFacts, parts: Sequence[str], depth: int, passed: Collection[str]) -> str | None:
        """What the module of the root gives under a name that the one beside the code, of the same name, does not have.

        Where programs start at the root, folders without an ``__init__`` are packages, and ``utils`` is never beside.
        """
        file = self.project.modules.get(parts[0])
        if file is None or file is beside or depth >= _DEEPEST:
            return None
        name = self._follow(file, ".".join(parts), depth + 1, file.path.rpartition("/")[0], passed)
        return name if any(self._defines(".".join(name.split(".")[:end])) for end in (None, -1)) else None

    def _leads(self, facts: FileFacts, base: str, name: str) -> bool:
        """Whether a name that a star import may give leads to what some file defines or imports.

        Else it has not been found: it is still a name of the module itself, of which no other is known.
        """
        if self._defines(name) or name.startswith("torch."):
            return True
        file = self.project.module(facts, base)
        return file is not None and name.rpartition(".")[0] not in (base, file.module)

    def _defines(self, name: str) -> bool:
        """Whether a class or function of the project has a qualified name."""
        return name in self.project.classes or name in self.project.functions

    def _fitting(self, folder: str, names: Iterable[str]) -> list[str]:
        """Of definitions of one name for several frameworks those that a folder's code can mean."""
        if self._backends is None:
            self._backends = Backends(self.project.files.values())
        classes, functions = self.project.classes, self.project.functions
        return self._backends.kept(folder, {name: classes.get(name) or functions.get(name) for name in names})

    def starred(self, facts: FileFacts, name: str, depth: int = 0) -> str | None:
        """Return what a name means when it can only come from a star import.

        A package whose file imports all of its module ``math`` by a star has what that binds as ``math``, and the
        module only where it binds nothing of this name.
        """
        for base in facts.star_imports:
            file = self.project.module(facts, base)
            if file is None:
                continue
            full = self.canonical(facts, f"{base}.{name}")
            if self._leads(facts, base, full) or name in file.top.bindings:
                return full
            if full in self.project.modules:
                inner = self.starred(file, name, depth + 1) if depth < _DEEPEST else None
                if inner is not None or "__all__" in file.top.bindings:
                    return inner or full
        return None

    def module_alias(self, facts: FileFacts, module: str) -> str | None:
        """Return the name under which a star import of a file of the project gives a module: ``np`` for ``numpy``."""
        files = (self.project.module(facts, base) for base in facts.star_imports)
        tops = (file.top for file in files if file is not None and "__all__" not in file.top.bindings)
        names = (name for top in tops if (name := top.imported.get(module, "_"))[0] != "_")
        return next((name for name in names if self.starred(facts, name) == module), None)

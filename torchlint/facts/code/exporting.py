"""Which functions and classes belong to a library, so that programs that are not seen may use them."""

from __future__ import annotations

from collections.abc import Sequence

from torchlint.facts.code.model import Scope
from torchlint.facts.code.project import Project


def of_library(project: Project, scope: Scope) -> bool:
    """Return whether code belongs to a library, so that programs that are not seen may call it."""
    outermost = scope
    while outermost.parent is not None and outermost.parent.kind != "module":
        outermost = outermost.parent
    return exported(project, outermost)


def exported(project: Project, scope: Scope) -> bool:
    """Return whether a function or class belongs to a library: a package whose ``__init__`` imports from its module."""
    parts: Sequence[str] = scope.file.module.split(".")
    for cut in range(len(parts), 0, -1):
        package = project.modules.get(".".join(parts[:cut]))
        if package is None or not package.package:
            continue
        name = scope.qualname.partition(".")[0]
        starred = scope.file.module in package.star_imports and not name.startswith("_")
        if starred or package.top.bindings.get(name):
            return True
    return False

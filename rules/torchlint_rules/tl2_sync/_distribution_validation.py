"""What TL205 asks about a site."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.code.project import Project
from torchlint.rule.site import Site


def constructor(site: Site, call: cst.Call) -> str | None:
    """The class whose ``__init__`` a call runs, by qualified name; of other calls the name of the function.

    ``super().__init__()`` runs that of a base, and so does the name of a project class that inherits it.
    """
    twin = site.expression(call)
    return (site.fact(Project).constructor(site.file, twin.func) or None) if isinstance(twin, ast.Call) else None

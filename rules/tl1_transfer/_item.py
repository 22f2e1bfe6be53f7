"""Whether code gives one item of a dataset: what TL107 asks about a site."""

from __future__ import annotations

import ast

from torchlint.facts.hotness.hotness import Heat
from torchlint.rule.site import Site

_GIVES = "__getitem__"


def gives_items(site: Site) -> bool:
    """Return whether a loader calls the method that holds a node for each single item, to make a batch of them."""
    methods = (each for each in site.file.ancestors(site.place) if isinstance(each, ast.FunctionDef))
    method = next((each for each in methods if each.name == _GIVES), None)
    if method is None:
        return False
    entry = site.fact(Heat).roots.protocols.get(site.file.scope_of(method.body[0]).function)
    return entry is not None and entry.host

"""What rules about calls of networks in loops have in common."""

from __future__ import annotations

from torchlint import cst
from torchlint.rule.site import Site
from torchlint.rule.value import Kind


def runs_module(site: Site, func: cst.BaseExpression) -> bool:
    """Return whether a call runs a module itself or one of its methods, and no function that is handed its results."""
    if site.values.of(func).kind is Kind.MODULE:
        return True
    return isinstance(func, cst.Attribute) and site.values.of(func.value).kind is Kind.MODULE


def same_in_all_rounds(site: Site, call: cst.Call) -> bool:
    """Return whether every round of the innermost loop calls the same network, and no optimizer moves it in between."""
    loops = site.loops.around(call.func)
    return bool(loops) and not (loops[0].item or loops[0].carried or loops[0].learns)

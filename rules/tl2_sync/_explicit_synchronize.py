"""What TL207 asks about a site."""

from __future__ import annotations

import ast
import re

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Scope
from torchlint.facts.code.occurrences import Occurrences
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import names_in, walk
from torchlint.late import regex
from torchlint.rule.site import Site

_FEW_CALLS = 5
_TIMER = regex(r"(^|_)(profil\w*|timers?|timing|timeit|stopwatch|record_function|nvtx)($|_)", re.IGNORECASE)


def shares_memory(site: Site) -> bool:
    """Return whether connected files put tensors into memory that other processes read (``share_memory_``)."""
    return site.fact(Occurrences).mentioned(site.file, "share_memory")


def copies_aside(site: Site) -> bool:
    """Return whether the function around the node starts non-blocking copies: ``x.copy_(y, non_blocking=True)``."""
    calls = site.file.scope_of(site.place).function.calls
    options = (option for call in calls for option in call.keywords if option.arg == "non_blocking")
    return any(not (isinstance(option.value, ast.Constant) and not option.value.value) for option in options)


def timed(site: Site) -> bool:
    """Return whether a ``with`` block around the node times it: one whose name mentions a timer or a profile."""
    around = (node for node in site.file.ancestors(site.place) if isinstance(node, ast.With))
    words = (word for node in around for item in node.items for word in names_in(item.context_expr))
    return any(_TIMER.search(word) for word in words)


def clocked(site: Site, clocks: frozenset[str]) -> bool:
    """Return whether the next statement reads a clock: a call of a timer, or of a function of the project that does.

    ``stopwatch.lap("forward")`` right after the wait.
    """
    after = (block[index + 1 : index + 2] for block, index in site.file.blocks(site.place))
    following = next(filter(None, after), [])
    simple = [each for each in following if isinstance(each, (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign))]
    calls = [node for each in simple for node in walk(each) if isinstance(node, ast.Call)]
    if any(_TIMER.search(word) for call in calls for word in names_in(call.func)):
        return True
    graph = site.fact(CallGraph)
    return any(_calls_one_of(site, function, clocks) for call in calls for function in graph.sure(call))


def nearby(site: Site, names: frozenset[str]) -> bool:
    """Return whether the function that holds the node calls one of these, or of a short helper all its callers do."""
    scope = site.file.scope_of(site.place).function
    if any(_calls_one_of(site, function, names) for function in [scope, *_other_end(scope)]):
        return True
    callers = site.fact(CallGraph).callers.get(scope, ()) if len(scope.calls) <= _FEW_CALLS else ()
    around = [caller.facts.scope_of(caller.call).function for caller in callers]
    return bool(around) and all(_calls_one_of(site, function, names) for function in around)


def _calls_one_of(site: Site, function: Scope, names: frozenset[str]) -> bool:
    """Whether a function calls one of these functions, or of these methods of anything."""
    qualified = site.fact(Project).qualified
    return any(
        qualified(function.file, call.func) in names
        or (isinstance(call.func, ast.Attribute) and call.func.attr in names)
        for call in function.calls
    )


def _other_end(function: Scope) -> list[Scope]:
    """Of a context manager's ``__exit__`` its ``__enter__``, and the other way round."""
    other = {"__enter__": "__exit__", "__exit__": "__enter__"}.get(function.name)
    bound = function.method_of.bindings.get(other, ()) if other is not None and function.method_of is not None else ()
    return [binding.scope for binding in bound if binding.scope is not None]

"""NEW406: TL406, which asks the site, and a fact of torchlint."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint import cst
from torchlint.facts.hotness.collecting import RolloutLoops
from torchlint.rule import Call, Level, Report, Rule, Site

_BOTH = ("accelerate.utils.memory.release_memory", "accelerate.utils.release_memory")


class CollectPerStep(Rule):
    """The garbage collector runs in every step or update."""

    code = "NEW406"
    name = "new-collect-per-step"
    summary = "the garbage collector runs in every step or update"
    trigger = Call("gc.collect", "torch.cuda.empty_cache", *_BOTH)

    def check(self, site: Site) -> Iterator[Report]:
        """Report a collection of everything, and an emptied cache."""
        if site.fact(RolloutLoops).around(site.file, site.twin):
            return
        rarer = "do it at intervals or not at all"
        match site.node:
            case cst.Call(func=func) as call if site.names.of(func) in _BOTH and not site.flow.handles_error():
                if _makes_room(site):
                    return
                yield Report(call, f"`release_memory()` walks through all objects and empties the cache; {rarer}")
            case cst.Call(func=func, args=[]) as call if not site.flow.handles_error():
                if site.names.of(func) == "gc.collect":
                    yield Report(call, f"`gc.collect()` walks through all objects of the process each time; {rarer}")
                elif (
                    site.names.of(func) == "torch.cuda.empty_cache"
                    and site.device.may_be_cuda()
                    and not _makes_room(site)
                ):
                    waits = "`empty_cache()` forces a GPU sync and gives back memory that is asked for again"
                    yield Report(call, f"{waits}; {rarer}", level=Level.NOTE)


def _makes_room(site: Site) -> bool:
    """Whether a statement before this one moves a model to the host, or one of its block wakes or loads another."""
    stmt = site.file.statement(site.twin)
    block, place = site.file.places[stmt] if stmt is not None else ((), 0)
    calls = [each.value for each in block if isinstance(each, (ast.Expr, ast.Assign))]
    funcs = [call.func for call in calls if isinstance(call, ast.Call)]
    if any(isinstance(func, ast.Attribute) and func.attr in ("wake_up", "from_pretrained") for func in funcs):
        return True
    moves = [ast.unparse(each.value) for each in block[:place] if isinstance(each, ast.Expr)]
    return any(text.endswith((".cpu()", ".to('cpu')")) for text in moves)

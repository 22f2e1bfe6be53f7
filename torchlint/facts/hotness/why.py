"""Why a line runs as often as it does: every path that makes it hot, what limits it, or why nothing does."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from torchlint.facts.code.graph import How
from torchlint.facts.code.live import outermost
from torchlint.facts.code.model import LOOPS, FileFacts, Scope
from torchlint.facts.code.receiver import ANY, Receiver
from torchlint.facts.hotness.around import enclosing_loop
from torchlint.facts.hotness.coldness import cold_file
from torchlint.facts.hotness.edges import Edge
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.hotness.paths import weight
from torchlint.facts.hotness.places import Hold, Local
from torchlint.late import dataclass
from torchlint.rule import Frequency, Hop, Hotness
from torchlint.rule.frequency import Limit, Way, Why

_MOST_STEPS = 20_000
_MOST_CALLERS = 5


@dataclass(frozen=True, slots=True)
class _Link:
    """One step of a path, seen from below: where a node stands, the edge that leaves from there, and the object."""

    facts: FileFacts
    scope: Scope
    local: Local
    edge: Edge | None
    receiver: Receiver


def explain(heat: Heat, facts: FileFacts, node: ast.AST) -> Why:
    """Explain how often a node runs; the paths are sorted, the most frequent and most certain first."""
    scope = facts.scope_of(node).function
    found = heat.at(facts, node)
    ways = _ways(heat, facts, node) if found.told else []
    unique: dict[Hotness, Way] = {}
    for _, way in sorted(ways, key=_order):
        hot = replace(way.hot, when=found.when) if way.hot.frequency is found.frequency else way.hot
        unique.setdefault(hot, replace(way, hot=hot))
    reasons = () if found.told else tuple(_reasons(heat, facts, node, scope))
    return Why(found.frequency, tuple(unique.values()), reasons, when=found.when)


def _order(each: tuple[int, Way]) -> tuple[bool, int, int, int]:
    faith, way = each
    return not way.proven, -way.hot.frequency, faith, len(way.hot.path)


# paths ----------------------------------------------------------------------------------------------------------------


def _ways(heat: Heat, facts: FileFacts, node: ast.AST) -> list[tuple[int, Way]]:
    """All paths without circles from a root to a node, each with the faith that it needs."""
    into: dict[tuple[Scope, bool], list[Edge]] = {}
    for edges in heat.edges.values():
        for edge in edges:
            into.setdefault((edge.target, edge.how is How.ITEMS), []).append(edge)
    scope = facts.scope_of(node).function
    own = Receiver(scope.method_of.dotted) if scope.method_of is not None else ANY
    first = _Link(facts, scope, heat.local(facts, node, scope), None, own)
    todo: deque[tuple[_Link, ...]] = deque([(first,)])
    found: list[tuple[int, Way]] = []
    for _ in range(_MOST_STEPS):
        if not todo:
            break
        links = todo.popleft()
        found += _ended(heat, links)
        last = links[-1]
        if last.local.root is not None and last.local.root is not last.scope.node:
            continue
        seen = {link.scope for link in links}
        places = heat.choosing.of(last.scope, last.local)
        allowed = {place.node: place.handed for place in places} if places is not None else None
        for edge in into.get((last.scope, last.local.item is not None), ()):
            home = edge.facts.scope_of(edge.node).function
            above = heat.receivers.above(edge.node, home, last.receiver)
            if home in seen or above is None or (allowed is not None and edge.node not in allowed):
                continue
            if heat.delivered(edge) > Frequency.ONCE and heat.comes(edge, home, above):
                local = heat.local(edge.facts, edge.node, home).under(allowed[edge.node] if allowed is not None else ())
                todo.append((*links, _Link(edge.facts, home, local, edge, above)))
    return found


def _ended(heat: Heat, links: tuple[_Link, ...]) -> Iterator[tuple[int, Way]]:
    """The ways that begin where some links have come to: at a loop, or at a function that someone calls."""
    last = links[-1]
    scope, local = last.scope, last.local
    faith = sum(weight(link.edge) for link in links if link.edge is not None)
    if local.root is not None:
        kinds = heat.roots.loops.get(local.root) or heat.roots.functions.get(scope) or {"step"}
        inside = local.root is not scope.node
        frequency = heat.rooted(scope, local.root)
        yield (
            faith + (0 if inside else 100),
            _way(heat, links, frequency, _origin(kinds, local), local.root if inside else None),
        )
        if inside:
            return
    entry = heat.entry(scope, local)
    seed = entry.first if entry is not None else None
    if seed is not None:
        yield faith, _way(heat, links, seed.frequency, seed.label, None)
    if local.episode is not None:
        generates = local.episode in heat.roots.generating
        origin = "has a model generate" if generates else "around loops that step or train"
        yield faith + 50, _way(heat, links, Frequency.ONCE, origin, local.episode)


def _origin(kinds: frozenset[str] | set[str], local: Local) -> str:
    """What a root does, and the loop that goes over what it collects."""
    later = f"; the loop in line {getattr(local.reader, 'lineno', 0)} goes over what it collects"
    return _work(kinds) + (later if local.reader is not None else "")


def _work(kinds: frozenset[str] | set[str]) -> str:
    texts = {"step": "steps an environment", "update": "runs gradient updates"}
    return " and ".join(texts[kind] for kind in sorted(kinds) if kind in texts)


def _way(heat: Heat, links: tuple[_Link, ...], frequency: Frequency, origin: str, loop: ast.AST | None) -> Way:
    """A way: hops from the outermost, and what is left of the frequency on the way down."""
    hops: list[Hop] = []
    limits: list[Limit] = []
    for link in reversed(links):
        scope = link.scope
        if hops or loop is None:
            hops.append(Hop(link.facts.path, scope.row, scope.qualname or scope.name))
        else:
            hops.append(Hop(link.facts.path, getattr(loop, "lineno", 1), "loop"))
        frequency = _inside(link.local, frequency)
        if frequency is Frequency.EPISODE and heat.generates_often(scope, link.local):
            frequency = Frequency.UPDATE
        limits += [_limit(link.facts, hold) for hold in link.local.holds if hold.limit < frequency]
        frequency = min(frequency, link.local.cap) if link.local.cap is not None else frequency
        if link.edge is not None and link.edge.how is How.EACH and frequency >= Frequency.UPDATE:
            frequency = Frequency.INNER
        if link.edge is not None and frequency > Frequency.EPISODE:
            seldom = heat.seldom_called(link.edge)
            if seldom is not None:
                frequency = seldom.limit
                place = Hop(link.facts.path, getattr(link.edge.node, "lineno", 1), "")
                limits.append(Limit(place, frequency, seldom.guard))
    proven = not any(link.edge.doubtful for link in links if link.edge is not None)
    return Way(Hotness(frequency, tuple(hops)), origin, tuple(dict.fromkeys(limits)), proven)


def _inside(local: Local, frequency: Frequency) -> Frequency:
    if local.loops and frequency >= Frequency.UPDATE:
        return Frequency.INNER
    return max(frequency, Frequency.EPISODE) if local.episode is not None else frequency


def _limit(facts: FileFacts, hold: Hold) -> Limit:
    """A limit with the line of the source that sets it, and the name of the guard."""
    row = getattr(hold.node, "lineno", 1)
    text = facts.source.utf8.splitlines()[row - 1].decode("utf-8", "replace").strip()
    return Limit(Hop(facts.path, row, text), hold.limit, hold.guard)


# what keeps a line cold -----------------------------------------------------------------------------------------------


def _reasons(heat: Heat, facts: FileFacts, node: ast.AST, scope: Scope) -> Iterator[str]:
    cold = _cold(heat, scope)
    if cold:
        yield cold
        return
    local = heat.local(facts, node, scope)
    guards = [_limit(facts, hold) for hold in local.holds if hold.limit is Frequency.ONCE]
    for guard in guards:
        yield f"it is {_guarded(guard)}"
    if guards:
        return
    exempt = _exempt(heat, facts, node, scope)
    if exempt:
        yield exempt
    elif scope.kind == "class":
        yield f"the body of the class {scope.name} runs once, when it is defined"
    elif scope.kind == "module":
        yield "it runs when the module is run, in no loop that steps an environment or runs gradient updates"
    elif heat.live.is_dead(scope):
        yield _dead(scope)
    else:
        yield from _uncalled(heat, scope)


def _exempt(heat: Heat, facts: FileFacts, node: ast.AST, scope: Scope) -> str:
    """Why the steps or updates around a node make nothing hot, empty if there are none of that kind.

    They are around it where they lie in the same loop, or in no loop of its function.
    """
    for found, exemption in heat.roots.exempt.items():
        if found not in facts.parent or facts.scope_of(found).function is not scope or found in heat.roots.loops:
            continue
        loop = found if isinstance(found, LOOPS) else enclosing_loop(facts, found, scope)
        if loop is None or loop in facts.ancestors(node) or node is loop:
            row = getattr(found, "lineno", 1)
            return f"nothing hot begins at {facts.path}:{row} ({exemption.name}): {exemption.says}"
    return ""


def _guarded(limit: Limit) -> str:
    """What guards a line: the name of the guard, where it stands, and the text of that line."""
    return f"guarded ({limit.guard}) at {limit.place.path}:{limit.place.row}: {limit.place.name}"


def _cold(heat: Heat, scope: Scope) -> str:
    """Why a function never counts as hot, empty if it may."""
    if not heat.is_cold(scope):
        return ""
    name = scope.qualname or scope.name
    if scope.file.marks.get(scope.row) == "cold" or f"{scope.file.module}:{scope.qualname}" in heat.cold:
        return f"{name} is cold by your settings"
    if heat.observed.never(scope):
        return f"{name} never ran in the profile"
    if heat.live.is_left(scope):
        return _dead(scope)
    if cold_file(scope.file):
        return f"{scope.file.path} is a test, a demo, a plot or a profiling script by its name"
    if {"cache", "lru_cache", "cached_property"}.intersection(scope.decorator_names):
        return f"{name} keeps its results, so it runs once for each set of arguments"
    if scope.name == "__init__":
        return f"{name} builds a module, which happens once"
    return f"{name} sets up, saves, shows or tests something by its name"


def _dead(scope: Scope) -> str:
    return f"no program of the project mentions {outermost(scope).name}, and no setup.py or pyproject.toml packages it"


def _uncalled(heat: Heat, scope: Scope) -> Iterator[str]:
    """What is known of the callers of a function that is not hot."""
    name = scope.qualname
    places = list(heat.graph.places(scope))
    if not places:
        yield f"no call of {name} was found in the project"
        if scope.name in heat.graph.open:
            yield f"there are calls of .{scope.name}() on unknown objects, but too many methods have that name"
    for facts, node in places[:_MOST_CALLERS]:
        yield f"{facts.path}:{getattr(node, 'lineno', 1)} runs {name}, but {_seldom(heat, Edge(facts, node, scope))}"
    if len(places) > _MOST_CALLERS:
        yield f"and {len(places) - _MOST_CALLERS} more places like these"


def _seldom(heat: Heat, edge: Edge) -> str:
    """Why a place that runs a function does not make it hot."""
    facts, node = edge.facts, edge.node
    scope = facts.scope_of(node).function
    cold = _cold(heat, scope)
    if cold:
        return cold
    for hold in heat.local(facts, node, scope).holds:
        if hold.limit is Frequency.ONCE:
            return _guarded(_limit(facts, hold))
    exempt = _exempt(heat, facts, node, scope)
    if exempt:
        return exempt
    called = heat.seldom_called(edge)
    if called is not None and called.limit is Frequency.ONCE:
        return _guarded(_limit(facts, Hold(called.limit, called.guard, node)))
    if scope.kind == "module":
        return "in no loop that steps an environment or runs gradient updates"
    return f"nothing makes {scope.qualname or scope.name} hot"


def shortened(why: Why, most: int) -> Why:
    """Return the same with at most that many paths, and how many were left out."""
    return replace(why, ways=why.ways[:most], more=max(0, len(why.ways) - most))

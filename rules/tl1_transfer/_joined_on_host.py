"""Items that a comprehension moves to a device one by one and a call joins: how TL107 moves them at once."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import mentions_of
from torchlint.facts.code.nesting import unconditional
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.state.effects import Sides, together
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import function_names
from torchlint.rule import Device, Fix, Kind
from torchlint.rule.site import Site

from ._index_uses import is_chain

_MAKERS = ("torch.tensor", "torch.as_tensor")
_JOINS = function_names(joins="parts")
_ON_HOST = frozenset({Kind.NDARRAY, Kind.NUMBER, Kind.SCALAR})
_DEVICES = frozenset({Kind.DEVICE, Kind.STRING})


@dataclass(frozen=True, slots=True)
class JoinedItems:
    """How items are moved at once.

    Attributes:
        replaced: the call that makes and moves an item and the call that joins them, with the text that takes the place
            of each, or only the latter where the former is a part of it.
        doubt: what is not proven, in words; empty: nothing.
    """

    replaced: tuple[tuple[ast.expr, str], ...]
    doubt: str


@dataclass(eq=False, slots=True)
class JoiningItems(Fact):
    """Finds items of a comprehension that are moved to a device each, joined by one call, and read by nothing else."""

    project: Project
    values: Values
    sides: Sides

    def of(self, facts: FileFacts, call: ast.Call) -> JoinedItems | None:
        """Return how the items that a call moves are joined on the host and moved at once.

        The result is ``None`` where that is not seen.
        """
        listed = facts.parent.get(call)
        if not isinstance(listed, ast.ListComp) or listed.elt is not call or "#" in facts.text_of(call):
            return None
        item = self._item(facts, call)
        join = self._join(facts, listed)
        if item is None or join is None or "#" in facts.text_of(join):
            return None
        device, text, source = item
        if not self._stays(facts, device, listed, join) or not (_copies(call) or _is_next(facts, listed, join)):
            return None
        known = self.values.of(facts, source)
        proven = known.kind in _ON_HOST or (known.kind is Kind.TENSOR and known.device is Device.CPU)
        wrong = [] if proven else ["the items lie on the host"]
        if self.values.of(facts, device).kind not in _DEVICES:
            wrong.append(f"`{ast.unparse(device)}` is a device")
        doubt = " and ".join(wrong)
        joined, item_text = facts.text_of(join), facts.text_of(call)
        if call not in set(walk(join)):
            return JoinedItems(((call, text), (join, f"{joined}.to({ast.unparse(device)})")), doubt)
        if joined.count(item_text) != 1:
            return None
        return JoinedItems(((join, f"{joined.replace(item_text, text)}.to({ast.unparse(device)})"),), doubt)

    def _item(self, facts: FileFacts, call: ast.Call) -> tuple[ast.expr, str, ast.expr] | None:
        """The device that an item is moved to, the text that makes it on the host, and what it is made of."""
        match call:
            case ast.Call(func=func, args=[source], keywords=keywords) if (
                self.project.qualified(facts, func) in _MAKERS
            ):
                given = {keyword.arg: keyword.value for keyword in keywords}
                device = given.get("device")
                if device is None or not given.keys() <= {"dtype", "device"} or not is_chain(device):
                    return None
                kept = [facts.text_of(source)]
                kept += [f"{each.arg}={facts.text_of(each.value)}" for each in keywords if each.arg != "device"]
                return device, f"{facts.text_of(func)}({', '.join(kept)})", source
            case ast.Call(func=ast.Attribute(value=source, attr="to"), args=[device], keywords=[]) if is_chain(device):
                kind = self.values.of(facts, source).kind
                return (device, facts.text_of(source), source) if kind is Kind.TENSOR else None
        return None

    def _join(self, facts: FileFacts, listed: ast.ListComp) -> ast.Call | None:
        """The call that joins what a comprehension makes, by itself or under a name that nothing else mentions."""
        node: ast.expr = listed
        above = facts.parent.get(listed)
        if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
            scope = facts.scope_of(above)
            own = scope.kind == "function" and above.targets[0].id not in (*scope.globals, *scope.shared, *scope.params)
            mentions = mentions_of(facts, scope.function.node, above.targets[0].id)
            reads = [each for each in mentions if isinstance(each.ctx, ast.Load)]
            if not own or len(mentions) != 2 or len(reads) != 1:
                return None
            node = reads[0]
            stmt = facts.statement(node)
            if stmt is None or stmt not in facts.places or facts.places[stmt][0] is not facts.places[above][0]:
                return None
            if node not in unconditional(stmt):
                return None
        join = facts.parent.get(node)
        if not isinstance(join, ast.Call) or not join.args or join.args[0] is not node:
            return None
        name = self.project.qualified(facts, join.func) or ""
        written = any(keyword.arg in ("out", None) for keyword in join.keywords)
        return join if name.startswith("torch.") and name in _JOINS and not written else None

    def _stays(self, facts: FileFacts, device: ast.expr, listed: ast.ListComp, join: ast.Call) -> bool:
        """Whether a device is the same for all items and where they are joined."""
        bound = {part.id for loop in listed.generators for part in walk(loop.target) if isinstance(part, ast.Name)}
        root = ast.unparse(device).partition(".")[0]
        first, last = facts.statement(listed), facts.statement(join)
        if root in bound or first is None or last is None:
            return False
        block, start = facts.places[first]
        between = [part for stmt in block[start : facts.places[last][1] + 1] for part in walk(stmt)]
        if any(
            isinstance(part, ast.Name) and part.id == root and not isinstance(part.ctx, ast.Load) for part in between
        ):
            return False
        if isinstance(device, ast.Name):
            return True
        calls = (part for part in between if isinstance(part, ast.Call))
        effects = together(self.sides.call(facts, each) for each in calls)
        written = (ast.unparse(part) for part in between if isinstance(part, ast.Attribute) and _is_store(part))
        return effects.known and not self.sides.overlaps(ast.unparse(device), effects.writes | frozenset(written))


def _copies(call: ast.Call) -> bool:
    """Whether a call copies what it is given also where that lies on the host: ``torch.tensor``."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "tensor"


def _is_next(facts: FileFacts, listed: ast.ListComp, join: ast.Call) -> bool:
    """Whether nothing runs from a comprehension to the call that joins its items, which may change what they share."""
    first, last = facts.statement(listed), facts.statement(join)
    if first is None or last is None or facts.places[last][1] - facts.places[first][1] > 1:
        return False
    around = {join, *facts.ancestors(join)}
    calls = (part for part in walk(last) if isinstance(part, ast.Call) and part not in around)
    return first is last or not any(call not in set(walk(join)) for call in calls)


def _is_store(node: ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load)


def joined_items(site: Site, call: cst.Call) -> JoinedItems | None:
    """Return how the items that a call moves are joined on the host and moved at once.

    The result is ``None`` where that is not seen.
    """
    twin = site.expression(call)
    return site.fact(JoiningItems).of(site.file, twin) if isinstance(twin, ast.Call) else None


def moved_at_once(site: Site, found: JoinedItems | None) -> Fix | None:
    """Return the fix that moves what is joined in place of each item."""
    if found is None or site.compiling.scripted():
        return None
    return Fix(
        message="join the items, then move them at once",
        replace=(),
        elsewhere=found.replaced,
        assumes=found.doubt,
    )

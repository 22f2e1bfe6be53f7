"""Collections of objects that only ever grow, that batches are drawn from, and datasets that lie in memory."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import stores_of
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.tree import subscripted, walk
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import function_names, method_names
from torchlint.rule import Frequency

_ADDING = method_names("list deque", adds="element", at=False)
_READING = method_names("list deque dict", removes=False, reorders=False)
_READERS = frozenset({"builtins", "numpy", "torch", "statistics", "math", "random"})
_DRAWS = function_names("random numpy.random torch", draws=("items", "integer"))
_LOOKS = (
    ast.Compare,
    ast.For,
    ast.comprehension,
    ast.If,
    ast.BoolOp,
    ast.UnaryOp,
    ast.FormattedValue,
    ast.IfExp,
)
_DATASETS = function_names(loads="items")
_TENSORS = function_names(loads="tensors")


@dataclass(eq=False, slots=True)
class Hoards(Fact):
    """Answers what becomes of the collections of objects."""

    values: Values
    graph: CallGraph
    heat: Heat

    def grown(self, facts: FileFacts, call: ast.Call) -> str | None:
        """Return the source of an object's list that a call appends to and nothing empties or trims, or ``None``."""
        attribute = self._own(facts, call)
        if attribute is None:
            return None
        owner = facts.scope_of(attribute).function.owner
        assert owner is not None
        made = list(stores_of(self.values.project, owner.dotted, attribute.attr))
        if not made or any(
            store.scope.name != "__init__" or not self._empty(store.scope.file, store.binding.value) for store in made
        ):
            return None
        if self._is_short_lived(owner) or any(not self.only_reads(*use) for use in self.mentions(attribute.attr)):
            return None
        func = call.func
        return ast.unparse(func.value) if isinstance(func, ast.Attribute) else None

    def drawn(self, facts: FileFacts, call: ast.Call) -> bool:
        """Return whether a call appends to a list or deque of an object that draws from it at random."""
        attribute = self._own(facts, call)
        owner = facts.scope_of(call).function.owner
        if attribute is None or owner is None:
            return False
        project = self.values.project
        for cls in [*project.family(owner.dotted), *project.descendants(owner.dotted)]:
            for method in (inner for inner in cls.inner if inner.kind == "function"):
                draws = any(project.qualified(cls.file, inner.func) in _DRAWS for inner in method.calls)
                if draws and any(
                    isinstance(part, ast.Attribute) and part.attr == attribute.attr for part in walk(method.node)
                ):
                    return True
        return False

    def in_memory(self, facts: FileFacts, node: ast.expr) -> bool:
        """Return whether a dataset is a ``TensorDataset``, or one of the project whose items are only indexed."""
        value = self.values.of(facts, node)
        project = self.values.project
        built = project.reaching(facts, node).value or node
        if isinstance(built, ast.Call) and project.qualified(facts, built.func) in _TENSORS:
            return True
        if value.name not in project.classes or (_DATASETS | _TENSORS).isdisjoint(project.ancestry(value.name)):
            return False
        items = [b.scope for cls in project.family(value.name) for b in cls.bindings.get("__getitem__", ())]
        return bool(items) and all(scope is not None and not _works(scope) for scope in items)

    def _own(self, facts: FileFacts, call: ast.Call) -> ast.Attribute | None:
        """The attribute of the object itself that a call appends to, or to an element of."""
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr not in _ADDING or len(call.args) != 1:
            return None
        base = subscripted(func.value)
        return base if isinstance(base, ast.Attribute) and facts.is_own(base) else None

    def _empty(self, facts: FileFacts, value: ast.expr | None) -> bool:
        """Whether an expression makes an empty list or dictionary without a bound."""
        if isinstance(value, (ast.List, ast.Dict)):
            parts = value.values if isinstance(value, ast.Dict) else value.elts
            return all(self._empty(facts, part) for part in parts)
        name = self.values.project.qualified(facts, value.func) if isinstance(value, ast.Call) else None
        if name is None or not isinstance(value, ast.Call):
            return False
        if name == "collections.deque":
            return len(value.args) < 2 and not any(keyword.arg == "maxlen" for keyword in value.keywords)
        if name == "collections.defaultdict":
            return [ast.unparse(argument) for argument in value.args] == ["list"]
        return name in ("builtins.list", "builtins.dict")

    def _is_short_lived(self, owner: Scope) -> bool:
        """Whether objects of a class are built again and again."""
        inits = [binding.scope for binding in owner.bindings.get("__init__", ()) if binding.scope is not None]
        callers = [caller for init in inits for caller in self.graph.callers.get(init, ())]
        return any(self.heat.frequency(caller.facts, caller.call) is not Frequency.ONCE for caller in callers)

    def mentions(self, name: str) -> Iterator[tuple[FileFacts, ast.Attribute]]:
        """Yield every mention of an attribute of this name in the project, whatever it belongs to."""
        for facts in self.values.project.files.values():
            if name.encode() in facts.source.utf8:
                yield from ((facts, node) for node in facts.nodes(ast.Attribute) if node.attr == name)

    def only_reads(self, facts: FileFacts, node: ast.Attribute | ast.Name) -> bool:
        """Return whether a mention neither empties nor trims, nor hands the collection to code that may."""
        if isinstance(node.ctx, ast.Store):
            return facts.scope_of(node).function.name == "__init__"
        current = facts.last_item(node)
        above = facts.parent.get(current)
        if isinstance(current, ast.Subscript) and not isinstance(current.ctx, ast.Load):
            return False
        if isinstance(above, ast.Attribute):
            call = facts.parent.get(above)
            return isinstance(call, ast.Call) and call.func is above and above.attr in _READING
        if isinstance(above, ast.Call):
            name = self.values.project.qualified(facts, above.func) or ""
            return name.partition(".")[0] in _READERS
        return isinstance(above, _LOOKS) or (isinstance(current, ast.Subscript) and _is_read_out(current))


def _is_read_out(node: ast.Subscript) -> bool:
    """Whether a subscript takes elements out of a list, by number or by slice, and gives no list of a dictionary."""
    index = node.slice.operand if isinstance(node.slice, ast.UnaryOp) else node.slice
    return isinstance(index, ast.Slice) or (isinstance(index, ast.Constant) and isinstance(index.value, int))


def _works(scope: Scope) -> bool:
    """Whether a function does more than index: it calls something that is not a view of an element."""
    return any(isinstance(part, ast.Call) and _called(part) not in ("len", "int", "tuple") for part in walk(scope.node))


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""

"""An index on the host that tensors on a device are indexed with, each time copied there: what TL107 asks."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from torchlint.facts.code.callers import methods
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FUNCTIONS, Bind, Binding, FileFacts, Scope
from torchlint.facts.code.naming import fresh_name, mentions_of
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import arguments_of, root_of, walk
from torchlint.facts.finders import Finder
from torchlint.facts.flow.whereabouts import Whereabouts
from torchlint.facts.state.effects import Sides, together
from torchlint.facts.values.operators import is_part_along_axes, knows_no_arrays
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Device, Kind
from torchlint.rule.site import Site

from ._index_uses import (
    Use,
    anchor_of,
    comprehension_over,
    is_conditional,
    is_repeated,
    may_copy_again,
    names_in_index,
    parts_of_index,
    place_in,
)

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
_WIDE = "int64"
_WHOLE = frozenset({"int8", "int16", "int32", _WIDE})
_LIBRARIES = ("numpy.", "torch.", "random.", "builtins.")
# What these make is new, whatever they are given.
_DRAWING = ("numpy.random.", "torch.rand", "random.")
_PLAIN = frozenset({Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.SIZE, Kind.DTYPE, Kind.DEVICE, Kind.SCALAR})
_FIXED = _PLAIN | {
    *(Kind.DICT, Kind.TUPLE, Kind.OPTIMIZER, Kind.MODULE, Kind.DISTRIBUTION, Kind.ENV, Kind.INSTANCE),
    *(Kind.CLASS, Kind.FUNCTION, Kind.NAMESPACE),
}
"""What has no elements that an index may share."""
_KeptUse = tuple[ast.Subscript, ast.Attribute]


@dataclass(frozen=True, slots=True)
class HostIndex:
    """An index on the host, and how it is moved once.

    Attributes:
        name: what it is called. moved: the expression that moves it, with the module ``torch`` called ``{torch}``;
            empty where no tensor says where to. target: the name of what that gives.
        first: the statement before which it is moved.
        replaced: where a new name takes the place of the old one; nothing where the name stays, as in a function
            without types whose index is for tensors alone.
        doubt: what is not proven, in words; empty: nothing. count: how many subscripts copy it.
    """

    name: str
    moved: str
    target: str
    first: ast.stmt
    replaced: tuple[ast.Name, ...]
    doubt: str
    count: int


@dataclass(eq=False, slots=True)
class HostIndices(Finder):
    """Finds the first of several subscripts that copy one index to the device."""

    project: Project
    graph: CallGraph
    values: Values
    sides: Sides
    whereabouts: Whereabouts
    _named: dict[FileFacts, dict[tuple[Scope, str], list[Use]]] = field(default_factory=dict)
    _kept: dict[FileFacts, dict[tuple[Scope, str], list[_KeptUse]]] = field(default_factory=dict)
    _found: dict[tuple[Scope, str], dict[ast.Subscript, HostIndex]] = field(default_factory=dict)

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the subscripts."""
        several = (uses for uses in self._uses(file).values() if may_copy_again(file, uses))
        kept = (uses for uses in self._kept_uses(file).values() if len(uses) > 1)
        nodes = dict.fromkeys([use[0] for uses in several for use in uses] + [use[0] for uses in kept for use in uses])
        return (node for node in nodes if wanted(node) and self.of(file, node) is not None)

    def of(self, facts: FileFacts, node: ast.Subscript) -> HostIndex | None:
        """Return the index that a subscript is the first to copy, of several; ``None`` of any other subscript."""
        function = facts.scope_of(node).function
        for part in parts_of_index(node):
            key = (function, part.id if isinstance(part, ast.Name) else ast.unparse(part))
            if key not in self._found:
                uses = self._uses(facts).get(key, ())
                self._found[key] = dict(self._of_name(facts, uses)) if may_copy_again(facts, uses) else {}
                self._found[key].update(self._of_attribute(facts, self._kept_uses(facts).get(key, ())))
            if node in self._found[key]:
                return self._found[key][node]
        return None

    # which subscripts -----------------------------------------------------------------------------------------------

    def _uses(self, facts: FileFacts) -> dict[tuple[Scope, str], list[Use]]:
        """The subscripts of a file by a name that is in their index, and the function they run in."""
        found = self._named.get(facts)
        if found is None:
            found = self._named[facts] = {}
            for node in facts.subscripts:
                for name in names_in_index(node):
                    found.setdefault((facts.scope_of(node).function, name.id), []).append((node, name))
        return found

    def _kept_uses(self, facts: FileFacts) -> dict[tuple[Scope, str], list[_KeptUse]]:
        """The subscripts of a file by an index that an object keeps, ``self.joints``, and the function they run in."""
        found = self._kept.get(facts)
        if found is None:
            found = self._kept[facts] = {}
            for node in facts.subscripts:
                for part in parts_of_index(node):
                    if isinstance(part, ast.Attribute):
                        key = (facts.scope_of(node).function, ast.unparse(part))
                        found.setdefault(key, []).append((node, part))
        return found

    def _of_attribute(self, facts: FileFacts, uses: Sequence[_KeptUse]) -> Iterator[tuple[ast.Subscript, HostIndex]]:
        """The first of several subscripts that copy what an object keeps on the host, and does not change meanwhile."""
        copied = [(node, part) for node, part in uses if self._is_copied(facts, node, part)]
        copied.sort(key=lambda use: (use[0].lineno, use[0].col_offset))
        if len(copied) < 2:
            return
        (node, part), first = copied[0], facts.statement(copied[0][0])
        function = facts.scope_of(node).function
        stored = (each for each in walk(function.node) if isinstance(each, ast.Attribute) and each.attr == part.attr)
        if first is not None and all(isinstance(each.ctx, ast.Load) for each in stored):
            yield node, HostIndex(ast.unparse(part), "", "", first, (), "", len(copied))

    def _of_name(self, facts: FileFacts, uses: Sequence[Use]) -> Iterator[tuple[ast.Subscript, HostIndex]]:
        """The first of each group of subscripts that copy an index of one name, with what the group shares."""
        by_binding: dict[Binding, list[Use]] = {}
        for node, name in uses:
            bindings = self.project.reaching(facts, name).bindings
            if len(bindings) == 1 and self._is_copied(facts, node, name) and not self._is_placed(facts, bindings[0]):
                by_binding.setdefault(bindings[0], []).append((node, name))
        for binding, found in by_binding.items():
            left = sorted(found, key=lambda use: (use[0].lineno, use[0].col_offset))
            while left:
                members = self._members(facts, left)
                if members and isinstance(binding.stmt, ast.stmt):
                    yield members[0][0], self._made(facts, binding, members, found)
                elif members := self._after_branches(facts, left):
                    first = facts.statement(members[0][0])
                    assert first is not None
                    yield members[0][0], HostIndex(members[0][1].id, "", "", first, (), "", len(members))
                left = [use for use in left[1:] if use not in members]

    def _is_copied(self, facts: FileFacts, node: ast.Subscript, part: ast.expr) -> bool:
        """Whether a subscript takes elements of a tensor, off the host, by several whole numbers on the host."""
        index = self.values.of(facts, part)
        match index.kind:
            case Kind.NDARRAY:
                copied = index.dtype in (None, *_WHOLE)
            case Kind.LIST if index.element.kind is Kind.NDARRAY:  # places along each axis, as `np.where` gives them
                copied = index.element.dtype in (None, *_WHOLE)
            case Kind.LIST:
                copied = index.element.kind is Kind.NUMBER and index.element.dtype in (None, "int")
            case Kind.UNKNOWN:  # a list in some calls, and in others ``slice(None)``
                copied = isinstance(part, ast.Name) and Kind.LIST in self.values.handed(facts, part)
            case _:
                whole = index.kind is Kind.TENSOR and index.device is Device.CPU and index.dtype in (None, *_WHOLE)
                copied = whole and index.has_axes
        return copied and self._is_away(facts, node)

    def _is_away(self, facts: FileFacts, node: ast.Subscript) -> bool:
        """Whether a subscript takes elements of a tensor off the host.

        Of what nothing else is known that is one where a network takes them, where a comprehension goes over it beside
        such a tensor, ``[x[rows] for x in (tokens, masks)]``, or where it is a part along axes and there are no arrays.
        """
        base = self.values.of(facts, node.value)
        if base.kind is Kind.TENSOR:
            return base.device is not Device.CPU
        if base.kind not in (Kind.UNKNOWN, Kind.NONE):
            return False
        call = facts.parent.get(node)
        if isinstance(call, ast.Call) and node in call.args and self.values.of(facts, call.func).kind is Kind.MODULE:
            return True
        only = self.project.reaching(facts, node.value).only if isinstance(node.value, ast.Name) else None
        if only is not None and only.how is Bind.ASSIGN and isinstance(only.value, ast.Subscript) and not only.path:
            return is_part_along_axes(only.value) and knows_no_arrays(facts)
        if only is None or only.how is not Bind.ELEMENT or not isinstance(only.value, (ast.Tuple, ast.List)):
            return False
        beside = [self.values.of(facts, each) for each in only.value.elts]
        alike = all(each.kind in (Kind.TENSOR, Kind.UNKNOWN) and each.device is not Device.CPU for each in beside)
        return alike and any(each.kind is Kind.TENSOR for each in beside)

    def _is_placed(self, facts: FileFacts, binding: Binding) -> bool:
        """Whether an index is put on a device that has a name: the host, where the settings say so, for all tensors."""
        node = binding.value if binding.how is Bind.ASSIGN and not binding.path else None
        while isinstance(node, ast.Call):
            given = (each for each in arguments_of(node) if not isinstance(each, (ast.Call, ast.Constant)))
            if any(self.values.of(facts, each).kind is Kind.DEVICE for each in given):
                return True
            node = node.func.value if isinstance(node.func, ast.Attribute) else None
        return False

    def _members(self, facts: FileFacts, uses: Sequence[Use]) -> list[Use]:
        """The first subscript with those that come after it in its block, where the index may be moved before it.

        Nothing where only one of them is sure to run, and once.
        """
        first = facts.statement(uses[0][0])
        if not isinstance(first, _SIMPLE) or first not in facts.places or facts.scope_of(first).kind == "class":
            return []
        block, index = facts.places[first]
        members = [use for use in uses if place_in(facts, use[0], block) >= index]
        certain = [use for use in members if not is_conditional(facts, use[0], block)]
        return members if len(certain) > 1 or any(is_repeated(facts, *use) for use in members) else []

    def _after_branches(self, facts: FileFacts, uses: Sequence[Use]) -> list[Use]:
        """The first subscript with those that come after it, where one is sure to run once its branches are left.

        Such as the second one of ``if ready: new = net(x[rows])`` and then ``z[rows] = new``.
        """
        statement = facts.statement(uses[0][0])
        for part in facts.ancestors(uses[0][0]):
            if isinstance(part, (*FUNCTIONS, ast.Lambda, ast.For, ast.While, ast.ClassDef)):
                break
            if part is statement or not isinstance(part, (ast.If, ast.With)) or part not in facts.places:
                continue
            block, index = facts.places[part]
            members = [use for use in uses if place_in(facts, use[0], block) >= index]
            later = [use for use in members if place_in(facts, use[0], block) > index]
            if any(not is_conditional(facts, use[0], block) for use in later):
                return members
        return []

    # the better form ------------------------------------------------------------------------------------------------

    def _made(self, facts: FileFacts, binding: Binding, members: Sequence[Use], found: Sequence[Use]) -> HostIndex:
        """How the index of some subscripts is moved once, with what has to be assumed for it.

        It keeps its name where nothing but subscripts of tensors, ``found``, reads it.
        """
        name, first = members[0][1], facts.statement(members[0][0])
        assert first is not None
        inside = {each for _, each in found}
        every = mentions_of(facts, facts.scope_of(name).function.node, name.id)
        others = [each for each in every if isinstance(each.ctx, ast.Load) and each not in inside]
        unread = not any(binding in self.project.reaching(facts, each).bindings for each in others)
        stays = unread and binding.how is Bind.ASSIGN and not facts.scope_of(name).function.annotated
        target = name.id if stays else fresh_name(facts, name, f"{name.id}_on_device")
        place, supposed = self._place_of(facts, first, members)
        moved = ""
        doubts: list[str] = []
        if place and self._is_one(facts, name) and not self._is_changed(facts, members):
            moved, doubts = self._moved(facts, name, binding, place)
            if supposed:
                doubts.append(f"the tensors lie on `{place}`")
            elif not self.whereabouts.alike(facts, [node.value for node, _ in (found if stays else members)]):
                doubts.append("the tensors lie on one device")
            further = stays and len(found) > len(members)  # subscripts that other code may run before
            if further or not self._stays(facts, binding, members):
                doubts.append(f"`{name.id}` is not changed in between")
        replaced = () if stays else tuple(each for _, each in members)
        return HostIndex(name.id, moved, target, first, replaced, ", and ".join(doubts), len(members))

    def _is_one(self, facts: FileFacts, name: ast.Name) -> bool:
        """Whether an index is one tensor, array or list: no places along each axis, and no slice in other calls."""
        value = self.values.of(facts, name)
        return value.known and value.element.kind is not Kind.NDARRAY

    def _place_of(self, facts: FileFacts, first: ast.stmt, members: Sequence[Use]) -> tuple[str, bool]:
        """The text of the device to move an index to, and whether it is only supposed that the tensors lie there.

        That is where a tensor lies that the first statement indexes in any case; else, of what an object keeps, the
        device on which its class makes tensors. Empty where neither is known.
        """
        if any(is_repeated(facts, *use) and comprehension_over(facts, *use) is None for use in members):
            return "", False  # it would have to be moved before the loop, where no tensor of it has a name
        anchor = anchor_of(first, members)
        if anchor is not None:
            return f"{ast.unparse(anchor)}.device", False
        function = facts.scope_of(first).function
        owner = function.method_of
        kept = all(facts.own_object(root_of(node.value)) is function for node, _ in members)
        if owner is None or not function.self_name or not kept:
            return "", False
        names = {name for scope in self.project.family(owner.dotted) for name in self._devices(scope)}
        return (f"{function.self_name}.{names.pop()}", True) if len(names) == 1 else ("", False)

    def _devices(self, cls: Scope) -> Iterator[str]:
        """The attributes of objects of a class that name the devices on which its methods make tensors."""
        for method in methods(cls):
            for call in method.run_calls():
                if not (self.project.qualified(method.file, call.func) or "").startswith("torch."):
                    continue
                for keyword in call.keywords:
                    match keyword:
                        case ast.keyword(arg="device", value=ast.Attribute(value=ast.Name(id=method.self_name))):
                            assert isinstance(keyword.value, ast.Attribute)
                            yield keyword.value.attr

    def _moved(self, facts: FileFacts, name: ast.Name, binding: Binding, place: str) -> tuple[str, list[str]]:
        """The expression that moves an index to a device, and what is not proven of the index."""
        value = self.values.of(facts, name)
        if value.kind is Kind.TENSOR and not self._may_be_other(facts, binding):
            return f"{name.id}.to({place})", []
        # A list may be empty, and whole numbers of fewer bits are no index of a tensor.
        narrow = value.kind is Kind.LIST or value.dtype in _WHOLE - {_WIDE}
        known = value.element.dtype == "int" if value.kind is Kind.LIST else value.dtype is not None
        wide = ", dtype={torch}.int64" if narrow else ""
        doubts = [] if known else [f"`{name.id}` holds whole numbers"]
        return f"{{torch}}.as_tensor({name.id}{wide}, device={place})", doubts

    def _may_be_other(self, facts: FileFacts, binding: Binding) -> bool:
        """Whether a parameter may be given something else than a tensor, by what is written of its type."""
        annotation = binding.annotation if binding.how is Bind.PARAM else None
        return annotation is not None and self.values.annotations.read(facts, annotation).kind is not Kind.TENSOR

    # proofs ---------------------------------------------------------------------------------------------------------

    def _between(self, facts: FileFacts, members: Sequence[Use]) -> list[ast.AST]:
        """All that runs from the statement of the first subscript to the last subscript."""
        first, last = facts.statement(members[0][0]), members[-1][0]
        assert first is not None
        block, start = facts.places[first]
        later = set(facts.ancestors(last))
        parts = (part for stmt in block[start : place_in(facts, last, block) + 1] for part in walk(stmt))
        return [part for part in parts if part not in later or isinstance(part, ast.stmt)]

    def _is_changed(self, facts: FileFacts, members: Sequence[Use]) -> bool:
        """Whether what runs between subscripts changes the index by its name, or is given it for nothing but that."""
        name = members[0][1].id
        parts = self._between(facts, members)
        calls = [part for part in parts if isinstance(part, ast.Call)]
        if self.sides.overlaps(name, together(self.sides.call(facts, call) for call in calls).writes):
            return True
        alone = [part for part in calls if isinstance(facts.parent.get(part), ast.Expr)]
        given = (each for call in alone for each in arguments_of(call))
        stored = (part.value for part in parts if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store))
        return any(isinstance(each, ast.Name) and each.id == name for each in (*given, *stored))

    def _stays(self, facts: FileFacts, binding: Binding, members: Sequence[Use]) -> bool:
        """Whether the elements of an index are proven to stay as they are from the first to the last subscript."""
        name = members[0][1]
        parts = self._between(facts, members)
        listed = self.values.of(facts, name).kind is Kind.LIST
        if not all(self._is_quiet(facts, part, listed=listed) for part in parts):
            return False
        calls = [part for part in parts if isinstance(part, ast.Call)]
        effects = together(self.sides.call(facts, call) for call in calls)
        runs_others = not effects.known or any(self.graph.callees.get(call) for call in calls)
        return not runs_others or self._is_own(facts, name, binding, 0)

    def _is_quiet(self, facts: FileFacts, part: ast.AST, *, listed: bool) -> bool:
        """Whether a node changes no array, list or tensor of the host in place, of which the index may be a part.

        What functions of the project do is asked elsewhere. ``listed``: whether the index is a list.
        """
        match part:
            case ast.Subscript(value=held, ctx=ast.Store() | ast.Del()):
                return self._is_apart(facts, held, listed=listed)
            case ast.AugAssign(target=target):
                held = target.value if isinstance(target, ast.Subscript) else target
                return self._is_apart(facts, held, listed=listed)
            case ast.Call(func=func, args=args, keywords=keywords) if isinstance(facts.parent.get(part), ast.Expr):
                if self._is_library(facts, func):
                    given = [*args, *(keyword.value for keyword in keywords)]
                    return all(self.values.of(facts, each).kind in _FIXED for each in given)
                return not isinstance(func, ast.Attribute) or self._is_apart(facts, func.value, listed=listed)
        return True

    def _is_apart(self, facts: FileFacts, node: ast.expr, *, listed: bool) -> bool:
        """Whether changing what an expression holds cannot change the index."""
        value = self.values.of(facts, node)
        if value.kind in (Kind.NDARRAY, Kind.LIST):
            return listed is not (value.kind is Kind.LIST)
        return value.kind in _FIXED or (value.kind is Kind.TENSOR and (listed or value.device is not Device.CPU))

    def _is_library(self, facts: FileFacts, function: ast.expr) -> bool:
        return (self.project.qualified(facts, function) or "").startswith(_LIBRARIES)

    def _is_own(self, facts: FileFacts, name: ast.Name, binding: Binding, depth: int) -> bool:
        """Whether only its function holds what a name is bound to: made there, and indexed or given to libraries."""
        if depth > 3 or binding.value is None or binding.path:
            return False
        function = facts.scope_of(name).function
        if function.kind == "module" or name.id in function.shared or name.id in function.globals:
            return False
        kept = all(self._is_passing(facts, each) for each in mentions_of(facts, function.node, name.id))
        if binding.how is Bind.ASSIGN:
            return kept and self._is_made(facts, binding.value, depth)
        return kept and binding.how is Bind.ELEMENT and self._gives_own(facts, binding.value, depth)

    def _is_passing(self, facts: FileFacts, name: ast.Name) -> bool:
        """Whether a mention of a name leaves what it holds in the function."""
        parent = facts.parent.get(name)
        if isinstance(parent, ast.keyword):
            parent = facts.parent.get(parent)
        if isinstance(parent, ast.Call):
            return self._is_library(facts, parent.func)
        inside = isinstance(parent, ast.Tuple) and isinstance(facts.parent.get(parent), ast.Subscript)
        return not isinstance(name.ctx, ast.Load) or inside or isinstance(parent, (ast.Subscript, ast.Yield, ast.For))

    def _is_made(self, facts: FileFacts, node: ast.expr, depth: int) -> bool:
        """Whether an expression gives something new, or a part of what only this function holds."""
        match node:
            case ast.Name():
                bindings = self.project.reaching(facts, node).bindings
                return len(bindings) == 1 and self._is_own(facts, node, bindings[0], depth + 1)
            case ast.Subscript(value=inner):
                return self._is_made(facts, inner, depth)
            case ast.ListComp():
                return True
            case ast.Call(func=func, args=args, keywords=keywords):
                name = self.project.qualified(facts, func) or ""
                if name.startswith(_DRAWING):
                    return True
                given = [*args, *(keyword.value for keyword in keywords)]
                library = name.startswith(_LIBRARIES)
                return library and all(
                    self._is_number(facts, each) or self._is_made(facts, each, depth) for each in given
                )
        return False

    def _is_number(self, facts: FileFacts, node: ast.expr) -> bool:
        return self.values.of(facts, node).kind in _PLAIN

    def _gives_own(self, facts: FileFacts, node: ast.expr, depth: int) -> bool:
        """Whether what a loop goes over gives elements that nothing else changes while the loop runs a round."""
        targets = self.graph.callees.get(node, ()) if isinstance(node, ast.Call) else ()
        if not targets:
            return self._is_made(facts, node, depth)
        if len(targets) != 1 or node in self.graph.weak:
            return False
        (function,) = targets
        given = [each.value if isinstance(each, ast.Yield) else None for each in function.yields]
        return bool(given) and all(
            value is not None and self._is_made(function.file, value, depth + 1) for value in given
        )


def host_index(site: Site) -> HostIndex | None:
    """Return the index that a subscript is the first to copy, of several; ``None`` of any other node."""
    return site.fact(HostIndices).of(site.file, site.twin) if isinstance(site.twin, ast.Subscript) else None

"""The fields of a batch that are moved to a device one by one: how TL704 moves all of them by one copy."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import addable, fresh_name, mentions_of
from torchlint.facts.code.nesting import unconditional
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.state.effects import Sides, together
from torchlint.late import dataclass
from torchlint.models import function_names
from torchlint.rule import Change, Fix
from torchlint.rule.site import Site

_MAKERS = ("torch.tensor", "torch.as_tensor")
_ARRAYS = ("numpy.array", "numpy.asarray", "numpy.stack", "numpy.vstack", "numpy.concatenate")
# Contexts in which a tensor of numbers is made as before them. Others choose a stream or a device; in inference mode
# tensors remember it.
_MODES = function_names(autograd=("pauses", "records", "sets"))
_INFERENCE = "torch.inference_mode"
_CASTING = frozenset({"torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast"})
_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await, ast.Try)
_WIDEST = 60
"""The most characters of the names in a row; more stand one below the other."""
_NAME = "moved_together"
_GATHERING = '''\
def moved_together(tensors, device):
    """Bring tensors of the host to a device, all of them by one copy of their bytes."""
    if str(device) == "cpu":
        return [tensor.to(device) for tensor in tensors]
    lengths = [tensor.numel() * tensor.element_size() for tensor in tensors]
    sizes = [-(-length // 16) * 16 for length in lengths]
    host = {torch}.empty(sum(sizes), dtype={torch}.uint8, device="cpu")
    for tensor, part, length in zip(tensors, host.split(sizes), lengths):
        part[:length].view(tensor.dtype).view(tensor.shape).copy_(tensor)
'''
HELPER = f"""{_GATHERING}\
    parts = zip(tensors, host.to(device=device).split(sizes), lengths)
    return [part[:length].view(tensor.dtype).view(tensor.shape) for tensor, part, length in parts]
"""
"""The function that the fix adds, with the module ``torch`` called ``{torch}``: its results share one memory."""
COPYING_HELPER = f"""{_GATHERING}\
    moved = []
    parts = host.to(device=device).split(sizes)
    for tensor, part, length in zip(tensors, parts, lengths):
        part = part[:length].view(tensor.dtype).view(tensor.shape)
        moved.append({{torch}}.empty_like(tensor, device=device).copy_(part))
    return moved
"""
"""The same, with a memory of its own for each result: the device copies each part, without a wait."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a batch: its name, the call that makes a tensor of it on a device, and what makes it on the host."""

    name: str
    call: ast.Call
    host: str


@dataclass(frozen=True, slots=True)
class MovedFields:
    """How fields are moved at once: the statement that unpacks them, the device, the fields, and what is not proven."""

    unpacked: ast.stmt
    device: str
    fields: Sequence[_Field]
    doubt: str


@dataclass(eq=False, slots=True)
class FieldsMoved(Fact):
    """Finds the fields of drawn rows that a function makes tensors of on one device, each by a copy of its own."""

    project: Project
    sides: Sides

    def of(self, facts: FileFacts, draw: ast.Call) -> MovedFields | None:
        """Return the fields of the rows that a call draws.

        The result is ``None`` where fewer than two are moved, in a way that is seen.
        """
        stmt = self._unpacking(facts, draw)
        if stmt is None or stmt not in facts.places or facts.scope_of(stmt).kind != "function":
            return None
        target = stmt.targets[0]
        assert isinstance(target, (ast.Tuple, ast.List))
        names = [part.id for part in target.elts if isinstance(part, ast.Name)]
        found = [field for name in names if (field := self._field(facts, stmt, name)) is not None]
        devices = {ast.unparse(device) for field in found if (device := _device(field.call)) is not None}
        if len(found) < 2 or len(devices) != 1:
            return None
        found.sort(key=lambda field: (field.call.lineno, field.call.col_offset))
        between = self._between(facts, stmt, found[-1].call)
        device = _device(found[0].call)
        around = set(facts.ancestors(found[-1].call))
        if device is None or any(isinstance(part, _LEAVING) and part not in around for part in between):
            return None
        root = ast.unparse(device).partition(".")[0]
        if any(isinstance(part, ast.Name) and part.id == root and _is_store(part) for part in between):
            return None
        inside = {part for field in found for part in walk(field.call)}
        calls = [part for part in between if isinstance(part, ast.Call) and part not in inside | around]
        effects = together(self.sides.call(facts, call) for call in calls)
        if self.sides.overlaps(ast.unparse(device), effects.writes):
            return None
        quiet = effects.known and not any(isinstance(part, ast.AugAssign | ast.Delete) for part in between)
        stored = any(isinstance(part, (ast.Subscript, ast.Attribute)) and _is_store(part) for part in between)
        doubt = "" if quiet and not stored else "nothing changes the rows before they are moved"
        return MovedFields(stmt, ast.unparse(device), found, doubt)

    def _unpacking(self, facts: FileFacts, draw: ast.Call) -> ast.Assign | None:
        """The statement that takes drawn rows apart into fields: ``a, b = zip(*rows)``."""
        stmt = facts.statement(draw)
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is draw and stmt in facts.places:
                mentions = mentions_of(facts, facts.scope_of(stmt).function.node, name)
                read = [each for each in mentions if isinstance(each.ctx, ast.Load)]
                taking = facts.statement(read[0]) if len(read) == 1 else None
                rows: ast.expr = read[0] if read else draw
                if taking is None or taking not in facts.places or facts.places[taking][0] is not facts.places[stmt][0]:
                    return None
                stmt = taking
            case _:
                rows = draw
        match stmt:
            case ast.Assign(
                targets=[ast.Tuple() | ast.List()],
                value=ast.Call(func=func, args=[ast.Starred(value=given)]),
            ) if given is rows and self.project.qualified(facts, func) == "builtins.zip":
                return stmt
        return None

    def _field(self, facts: FileFacts, stmt: ast.stmt, name: str) -> _Field | None:
        """How a field becomes a tensor on a device, where its name does nothing else; ``None`` where it does."""
        mentions = mentions_of(facts, facts.scope_of(stmt).function.node, name)
        reads = [each for each in mentions if isinstance(each.ctx, ast.Load)]
        if len(reads) != 1 or len(mentions) != 2:
            return None
        data: ast.AST = reads[0]
        above = facts.parent.get(data)
        if isinstance(above, ast.Call) and self.project.qualified(facts, above.func) in _ARRAYS:
            data, above = above, facts.parent.get(above)
        if not isinstance(above, ast.Call) or self.project.qualified(facts, above.func) not in _MAKERS:
            return None
        device = _device(above)
        options = {keyword.arg for keyword in above.keywords}
        if len(above.args) != 1 or above.args[0] is not data or device is None or not options <= {"dtype", "device"}:
            return None
        if not self._runs_after(facts, stmt, above) or "#" in facts.text_of(above):
            return None
        kept = [keyword for keyword in above.keywords if keyword.arg != "device"]
        host = ast.Call(func=above.func, args=above.args, keywords=kept)
        return _Field(name, above, ast.unparse(host))

    def _runs_after(self, facts: FileFacts, stmt: ast.stmt, call: ast.Call) -> bool:
        """Whether a call runs whenever what follows a statement in its block does, under modes of autograd alone."""
        own = facts.statement(call)
        if own is None or isinstance(own, (ast.With, ast.For, ast.While, ast.If)) or call not in unconditional(own):
            return False
        block, index = facts.places[stmt]
        for part in (own, *facts.ancestors(own)):
            if not isinstance(part, ast.stmt) or part not in facts.places:
                return False
            if facts.places[part][0] is block:
                return facts.places[part][1] > index
            above = facts.parent.get(part)
            if not isinstance(above, ast.With) or not all(self._is_mode(facts, item) for item in above.items):
                return False
        return False

    def _is_mode(self, facts: FileFacts, item: ast.withitem) -> bool:
        expression = item.context_expr
        name = self.project.qualified(facts, expression.func) if isinstance(expression, ast.Call) else None
        return name is not None and name != _INFERENCE and (name in _MODES or name in _CASTING)

    def _between(self, facts: FileFacts, stmt: ast.stmt, last: ast.Call) -> list[ast.AST]:
        """All that runs behind a statement until a call, with the statement of the call."""
        block, start = facts.places[stmt]
        above = {last, *facts.ancestors(last)}
        end = next(index for index, each in enumerate(block) if each in above)
        return [part for each in block[start + 1 : end + 1] for part in walk(each)]


def _device(call: ast.Call) -> ast.expr | None:
    """The device that a call is given, where its text is a name or an attribute."""
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "device"), None)
    node = given
    while isinstance(node, ast.Attribute):
        node = node.value
    return given if isinstance(node, ast.Name) else None


def _is_store(node: ast.Name | ast.Attribute | ast.Subscript) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _names(facts: FileFacts, moved: MovedFields) -> Iterator[str]:
    """What the moved fields are called: as before, in a function with types otherwise."""
    typed = facts.scope_of(moved.unpacked).function.annotated
    for field in moved.fields:
        yield fresh_name(facts, moved.unpacked, f"{field.name}_on_device") if typed else field.name


def fields_moved(site: Site) -> Fix | None:
    """Return the fix that moves the fields of the rows that a call draws by one copy.

    The fields stay views of it, or, where that is not accepted, get memories of their own. The result is ``None`` where
    they are not moved.
    """
    moved = site.fact(FieldsMoved).of(site.file, site.twin) if isinstance(site.twin, ast.Call) else None
    if moved is None or not site.device.may_be_cuda() or site.compiling.scripted():
        return None
    views = _fix(site, moved, HELPER, (Change.ALIASING, Change.MEMORY))
    copies = _fix(site, moved, COPYING_HELPER, ())
    return copies if views is None else replace(views, instead=copies)


def _fix(site: Site, moved: MovedFields, helper: str, may_change: tuple[Change, ...]) -> Fix | None:
    """The fix that moves fields by a function, which it adds; ``None`` where the file has another of its name."""
    definition = addable(site.file, helper)
    if definition is None:
        return None
    names = list(_names(site.file, moved))
    made = (f"        {field.host}," for field in moved.fields)
    row = ", ".join(names)
    if len(row) > _WIDEST:
        row = "\n".join(("(", *(f"    {name}," for name in names), ")"))
    row = "\n".join((f"{row} = {_NAME}(", "    [", *made, "    ],", f"    {moved.device},", ")"))
    return Fix(
        message="move the fields of the batch by one copy",
        replace=(),
        elsewhere=tuple((field.call, name) for field, name in zip(moved.fields, names, strict=True)),
        behind=((moved.unpacked, row),),
        may_change=may_change,
        assumes=moved.doubt,
        definitions=(definition,),
        less=True,
    )

"""Arrays that objects keep in float64 although every batch of them becomes a float32 tensor."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import own_mentions_of
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.tree import arguments_of
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import function_names
from torchlint.rule import Kind
from torchlint.rule.site import Site

_FLOAT_TENSORS = frozenset({"torch.FloatTensor", "torch.Tensor", "torch.cuda.FloatTensor"})
_MAKERS = function_names("torch", makes="data")
_CASTS = frozenset({"float", "to"})


@dataclass(eq=False, slots=True)
class Narrowing(Fact):
    """Answers where the rows of an array that an object keeps are cast to float32."""

    values: Values

    def cast(self, facts: FileFacts, call: ast.Call) -> int | None:
        """Return the row where a batch of an array that an object keeps becomes float32, or ``None``.

        ``call`` makes the array. The object writes rows into it; no other use of the array is looked at.
        """
        kept = self._kept(facts, call)
        owner = facts.scope_of(call).function.owner
        if kept is None or owner is None:
            return None
        project = self.values.project
        related = [*project.family(owner.dotted), *project.descendants(owner.dotted)]
        uses = [(cls.file, use) for cls in related for use in own_mentions_of(cls, kept)]
        if not any(_is_written(file, node) for file, node in uses):
            return None
        return next((row for file, node in uses if (row := self._row(file, node))), None)

    def _kept(self, facts: FileFacts, call: ast.Call) -> str | None:
        """The attribute of ``self`` that an array is assigned to, itself or as a value of a dictionary."""
        above = facts.parent.get(call)
        if isinstance(above, ast.Dict):
            above = facts.parent.get(above)
        if not isinstance(above, (ast.Assign, ast.AnnAssign)):
            return None
        targets = above.targets if isinstance(above, ast.Assign) else [above.target]
        own = facts.scope_of(call).function.self_name
        for target in targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == own:
                return target.attr
        return None

    def _row(self, facts: FileFacts, node: ast.Attribute) -> int | None:
        """Return the row where what is read of an array becomes float32, or ``None``."""
        batch = facts.last_item(node)
        call = facts.parent.get(batch)
        if batch is not node and isinstance(call, ast.Call) and batch in call.args[:1] and self._narrows(facts, call):
            return call.lineno
        return None

    def _narrows(self, facts: FileFacts, call: ast.Call) -> bool:
        name = self.values.project.qualified(facts, call.func) or ""
        if name in _FLOAT_TENSORS:
            return True
        if name in _MAKERS:
            dtypes = [keyword.value for keyword in call.keywords if keyword.arg == "dtype"]
            return any(self.values.of(facts, part).dtype == "float32" for part in dtypes) or self._cast_after(
                facts, call
            )
        return name == "torch.from_numpy" and self._cast_after(facts, call)

    def _cast_after(self, facts: FileFacts, call: ast.Call) -> bool:
        """``.float()`` or ``.to(torch.float32)`` on a new tensor."""
        method = facts.parent.get(call)
        after = facts.parent.get(method) if isinstance(method, ast.Attribute) and method.attr in _CASTS else None
        if not isinstance(method, ast.Attribute) or not isinstance(after, ast.Call):
            return False
        given = arguments_of(after)
        dtypes = [value.dtype for part in given if (value := self.values.of(facts, part)).kind is Kind.DTYPE]
        return method.attr == "float" or dtypes == ["float32"]


def _is_written(facts: FileFacts, node: ast.Attribute) -> bool:
    """Whether a mention stores rows: ``self.x[i] = y``, ``self.x["obs"][i] = y``."""
    item = facts.last_item(node)
    return isinstance(item, ast.Subscript) and isinstance(item.ctx, ast.Store)


def narrowed(site: Site, call: cst.Call) -> int | None:
    """Return the row where rows of an array that an object fills become a float32 tensor, else ``None``."""
    twin = site.expression(call)
    return site.fact(Narrowing).cast(site.file, twin) if isinstance(twin, ast.Call) else None

"""Numbers that a comprehension reads one by one from a list or dict of tensors: how TL203 reads all of them at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import addable
from torchlint.facts.flow.whereabouts import Whereabouts
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind
from torchlint.rule.site import Site

from ._scalar_readback import Readbacks
from ._single_numbers import READER, READING, Tensors, holds_comment

_LISTS = (Kind.LIST, Kind.TUPLE)
# Nothing stands closer to what these hold than a conditional expression may.
_LOOSE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr, ast.Call, ast.keyword, ast.Dict, ast.List)


@dataclass(frozen=True, slots=True)
class ReadEach:
    """A comprehension, what takes its place with ``{torch}`` for the module, and what is not proven, in words.

    ``definitions``: the source of the functions that it calls.
    """

    comprehension: ast.expr
    text: str
    doubt: str
    definitions: tuple[str, ...] = ()


@dataclass(eq=False, slots=True)
class ReadingEach(Fact):
    """Finds comprehensions that do nothing but read a number from each tensor of a list, or of the values of a dict."""

    values: Values
    readbacks: Readbacks
    tensors: Tensors
    whereabouts: Whereabouts

    def of(self, facts: FileFacts, call: ast.Call) -> ReadEach | None:
        """Return how the comprehension around a read reads all of its numbers at once; ``None`` where it does more."""
        comprehension = facts.parent.get(call)
        match comprehension:
            case ast.ListComp(
                elt=elt,
                generators=[ast.comprehension(target=ast.Name(id=name), iter=ast.Name() as over, ifs=[], is_async=0)],
            ) if elt is call and self.values.of(facts, over).kind in _LISTS:
                each = over.id
            case ast.DictComp(
                key=ast.Name(id=key),
                value=value,
                generators=[
                    ast.comprehension(
                        target=ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=name)]),
                        iter=ast.Call(func=ast.Attribute(value=ast.Name() as over, attr="items"), args=[], keywords=[]),
                        ifs=[],
                        is_async=0,
                    )
                ],
            ) if value is call and key == first and self.values.of(facts, over).kind is Kind.DICT:
                each = f"list({over.id}.values())"
            case _:
                return None
        read = self.readbacks.of(facts, call)
        if read is None or read.how == "int()" or self.tensors.is_whole(facts, read.source):
            return None
        if not isinstance(read.source, ast.Name) or read.source.id != name or holds_comment(facts, comprehension):
            return None
        wrong = list(self._wrong(facts, read.source))
        reader = addable(facts, READING) if wrong and read.how == ".item()" else None
        if reader is not None:
            text = f"{READER}({each})"
            text = f"dict(zip({over.id}, {text}))" if isinstance(comprehension, ast.DictComp) else text
            return ReadEach(comprehension, text, "", (reader,))
        flat = "" if self.tensors.rank(facts, read.source) == 0 else f".reshape(len({over.id}))"
        text = f"{{torch}}.stack({each}){flat}.tolist()"
        if isinstance(comprehension, ast.DictComp):
            text = f"dict(zip({over.id}, {text}))"
        if not self.values.of(facts, over).nonempty:
            text = f"{text} if {over.id} else {'{}' if isinstance(comprehension, ast.DictComp) else '[]'}"
            text = text if isinstance(facts.parent.get(comprehension), _LOOSE) else f"({text})"
        return ReadEach(comprehension, text, _doubt(over.id, wrong))

    def _wrong(self, facts: FileFacts, tensor: ast.Name) -> Iterator[str]:
        """What is not proven of the tensors that a name stands for in turn."""
        if self.tensors.rank(facts, tensor) != 0:
            yield "have one shape"
        if not self.whereabouts.on_the_accelerator(facts, tensor):
            yield "lie on one device"
        if not self.tensors.is_floating(facts, tensor):
            yield "hold numbers of one kind, floating-point or whole"


def _doubt(name: str, wrong: Sequence[str]) -> str:
    found = " and ".join(wrong)
    return f"the tensors in `{name}` {found}" if found else ""


def reads_each(site: Site, call: cst.Call) -> ReadEach | None:
    """Return how the comprehension around a read reads all of its numbers at once; ``None`` where it does more."""
    twin = site.expression(call)
    return site.fact(ReadingEach).of(site.file, twin) if isinstance(twin, ast.Call) else None

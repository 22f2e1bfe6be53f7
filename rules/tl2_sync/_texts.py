"""Tokens that become texts on the host: what TL202 and TL208 ask about them."""

from __future__ import annotations

import ast

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import bound_alike
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.nesting import is_above, unconditional
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import subscripted
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import Word, method_names
from torchlint.rule import Kind, Site

_TOKENIZER = Word("tokenizer")
_MAKING_TEXTS = method_names("transformers.PreTrainedTokenizerBase", text=True)


def becomes_text(site: Site, node: cst.CSTNode) -> bool:
    """Return whether a tokenizer makes a text of an expression, on the host: ``tokenizer.decode(ids[ids != pad])``."""
    twin = site.expression(node)
    above = site.file.parent.get(twin) if twin is not None else None
    return isinstance(above, ast.Call) and _spelled(above) is twin


def _spelled(call: ast.Call) -> ast.expr | None:
    """What a call makes a text of."""
    match call:
        case ast.Call(func=ast.Attribute(value=held, attr=method), args=[first, *_]):
            return first if method in _MAKING_TEXTS and _TOKENIZER.fits(last_name(held)) else None
    return None


@dataclass(eq=False, slots=True)
class SpelledBefore(Fact):
    """Answers which tests read a token of a row that a tokenizer has made a text of before.

    The row came to the host there, and the device was waited for: the test is a part of what is done with the text.
    """

    project: Project
    values: Values

    def of(self, facts: FileFacts, test: ast.expr) -> bool:
        """Return whether all tensors of a test are such tokens: ``if row[-1] != eos: text += "."``."""
        sides = [test.left, *test.comparators] if isinstance(test, ast.Compare) else [test]
        read = [side for side in sides if self.values.of(facts, side).kind is Kind.TENSOR]
        return bool(read) and all(self._is_spelled(facts, side) for side in read)

    def _is_spelled(self, facts: FileFacts, token: ast.expr) -> bool:
        row = subscripted(token)
        if row is token or not isinstance(row, ast.Name):
            return False
        for call in facts.scope_of(token).function.run_calls():
            given = _spelled(call)
            spelled = subscripted(given) if given is not None else None
            if not isinstance(spelled, ast.Name) or spelled.id != row.id:
                continue
            stmt = facts.statement(call)
            if stmt is None or not is_above(facts, stmt, token) or call not in set(unconditional(stmt)):
                continue
            if bound_alike(self.project, facts, spelled, row):
                return True
        return False


def spelled_before(site: Site, test: cst.CSTNode) -> bool:
    """Return whether a test reads tokens of a row that a tokenizer has made a text of before."""
    twin = site.expression(test)
    return isinstance(twin, ast.expr) and site.fact(SpelledBefore).of(site.file, twin)

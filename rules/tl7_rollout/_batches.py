"""What TL706 asks: what a sampler of batches goes over, and what becomes of the batches."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.nesting import code_of
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.late import dataclass
from torchlint.rule.site import Site

_RANGES = frozenset({"builtins.range", "numpy.arange", "torch.arange"})
IN_ORDER = "torch.utils.data.SequentialSampler"
SAMPLERS = frozenset({"torch.utils.data.SubsetRandomSampler", IN_ORDER, "torch.utils.data.RandomSampler"})


def drawn_from(site: Site, call: cst.Call) -> str | None:
    """Return the sampler over a range from which ``BatchSampler(...)`` makes batches, ``None`` for other batches.

    A list of the numbers of a range is what a ``SequentialSampler`` gives.
    """
    twin = site.expression(call)
    return site.fact(DrawnBatches).drawn_from(site.file, twin) if isinstance(twin, ast.Call) else None


@dataclass(eq=False, slots=True)
class DrawnBatches(Fact):
    """Answers what samplers of batches go over, also behind names."""

    project: Project

    def drawn_from(self, facts: FileFacts, call: ast.Call) -> str | None:
        """See the function of this name."""
        given = next((keyword.value for keyword in call.keywords if keyword.arg == "sampler"), None)
        sampler = self._meant(facts, given if given is not None else call.args[0]) if given or call.args else None
        if not isinstance(sampler, ast.Call) or self._takes_apart(facts, call):
            return None
        name = (self.project.qualified(facts, sampler.func) or "").replace("data.sampler.", "data.")
        rows = self._meant(facts, sampler.args[0]) if sampler.args else None
        if name in SAMPLERS:
            return name if rows is not None and self._is_range(facts, rows) else None
        if name == "builtins.list" and rows is not None:
            return IN_ORDER if self._is_range(facts, rows) else None
        return IN_ORDER if self._is_range(facts, sampler) else None

    def _is_range(self, facts: FileFacts, node: ast.expr) -> bool:
        """``range(n)``: what starts elsewhere gives no rows of a whole."""
        if not isinstance(node, ast.Call) or self.project.qualified(facts, node.func) not in _RANGES:
            return False
        return len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)

    def _meant(self, facts: FileFacts, node: ast.expr) -> ast.expr | None:
        """The expression, or what the one assignment to a name gives it."""
        return self.project.reaching(facts, node).value if isinstance(node, ast.Name) else node

    def _takes_apart(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a loop over the batches goes over the numbers of a batch, for which lists are right.

        Batches under a name over which no loop of the function goes are handed to other code.
        """
        above = facts.parent.get(call)
        own = list(code_of(facts.scope_of(call).function))
        loops = [node for node in own if isinstance(node, ast.For) and self._goes_over(facts, node, call, above)]
        if isinstance(above, ast.Assign) and not loops:
            return True
        overs = (node.iter for node in own if isinstance(node, (ast.For, ast.comprehension)))
        return any(isinstance(over, ast.Name) and self._is_bound_by(facts, over, loops) for over in overs)

    def _is_bound_by(self, facts: FileFacts, name: ast.Name, stmts: Sequence[ast.AST]) -> bool:
        return any(binding.stmt in stmts for binding in self.project.reaching(facts, name).bindings)

    def _goes_over(self, facts: FileFacts, loop: ast.For, call: ast.Call, assigned: ast.AST | None) -> bool:
        """Whether the head of a loop holds a call, or a name that a statement gives what the call makes."""
        for part in walk(loop.iter):
            if part is call:
                return True
            if isinstance(part, ast.Name) and isinstance(assigned, ast.Assign):
                if self._is_bound_by(facts, part, [assigned]):
                    return True
        return False

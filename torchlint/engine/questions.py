"""The questions that several rules ask, each answered by a fact about the node's counterpart in ``ast``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.autograd.holding import Holding
from torchlint.facts.autograd.makers import Makers
from torchlint.facts.autograd.members import Members
from torchlint.facts.autograd.networks import Networks
from torchlint.facts.code.alternatives import Alternatives
from torchlint.facts.code.idle import Idle
from torchlint.facts.code.model import FileFacts, Scope, decorators
from torchlint.facts.code.nesting import in_handler
from torchlint.facts.code.occurrences import Occurrences
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.compiling.inside import Inside
from torchlint.facts.dataflow.literals import Texts
from torchlint.facts.flow.flow import Flow
from torchlint.facts.hotness.around import enclosing_loop
from torchlint.facts.hotness.branches import raises, reports, values_of
from torchlint.facts.hotness.covering import Covering
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.hotness.switches import Switches
from torchlint.facts.loops.batching import Batching
from torchlint.facts.loops.growth import Growth
from torchlint.facts.loops.loops import Loops
from torchlint.facts.state.constant import Constants
from torchlint.facts.state.effects import Sides
from torchlint.facts.state.escape import Escapes, Stores
from torchlint.facts.state.provenance import Provenance
from torchlint.facts.state.sealed import Sealed
from torchlint.facts.state.uses import mutated
from torchlint.facts.values.accelerators import Accelerators
from torchlint.facts.values.values import Values
from torchlint.rule import (
    EVERY_USE,
    UNKNOWN,
    Frequency,
    Hop,
    Hotness,
    Kind,
    Link,
    Loop,
    Network,
    Purpose,
    Run,
    Use,
    Value,
)

# Characters of a statement that a report shows.
_MOST = 200

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.engine.site import PairedSite


class _Questions:
    """Questions of one kind about a site."""

    __slots__ = ("site",)

    def __init__(self, site: PairedSite) -> None:
        """Ask about a site."""
        self.site = site


class SiteNames(_Questions):
    """What names mean, and where words stand."""

    __slots__ = ()

    def of(self, node: cst.CSTNode) -> str | None:
        """Return the qualified name through the imports."""
        twin = self.site.expression(node)
        return self.site.analyses[Project].qualified(self.site.file, twin) if twin is not None else None

    def alternatives(self, node: cst.CSTNode) -> Sequence[str]:
        """Return the functions of torch that an expression without a name of its own may mean, one each time."""
        twin = self.site.expression(node)
        return self.site.analyses[Alternatives].of(self.site.file, twin) if twin is not None else ()

    def module(self, module: str) -> str | None:
        """Return the name a module is bound to by an import of this file that the node sees, also by a star import."""
        file = self.site.file
        starred = self.site.analyses[Project].exports.module_alias(file, module) if file.star_imports else None
        scope: Scope | None = file.scope_of(self.site.twin)
        while scope is not None:
            if scope.kind != "class" and module in scope.imported:
                return scope.imported[module]
            starred = None if starred in scope.bindings else starred
            scope = scope.parent
        return starred

    def texts(self, node: cst.CSTNode) -> frozenset[str]:
        """Return all texts that an expression may be."""
        twin = self.site.expression(node)
        return self.site.analyses[Texts].of(self.site.file, twin) if twin is not None else frozenset()

    def in_file(self, word: str) -> bool:
        """Return whether the file's text holds a word."""
        return word.encode() in self.site.file.source.utf8

    def in_project(self, word: str) -> bool:
        """Return whether a connected file's text holds a word."""
        return self.site.analyses[Occurrences].mentioned(self.site.file, word)


class SiteValues(_Questions):
    """What values are."""

    __slots__ = ()

    def of(self, node: cst.CSTNode) -> Value:
        """Return what is known of an expression."""
        twin = self.site.expression(node)
        return self.site.analyses[Values].of(self.site.file, twin) if twin is not None else UNKNOWN

    def is_constant(self, node: cst.CSTNode) -> bool:
        """Return whether an expression has the same value on every call."""
        twin = self.site.expression(node)
        return twin is not None and self.site.analyses[Constants].of(self.site.file, twin)

    def is_mutated(self, node: cst.CSTNode) -> bool:
        """Return whether what an expression is assigned to is changed in place later."""
        twin = self.site.expression(node)
        return twin is not None and mutated(self.site.file, twin)

    def is_parameter(self, node: cst.CSTNode) -> bool:
        """Return whether an expression is a parameter of its function."""
        twin = self.site.expression(node)
        return twin is not None and self.site.analyses[Members].of_parameter(self.site.file, twin)

    def maker(self, node: cst.CSTNode) -> str | None:
        """Return the function that made a tensor."""
        twin = self.site.expression(node)
        return (self.site.analyses[Makers].of(self.site.file, twin) or None) if twin is not None else None

    def is_unread(self, node: cst.CSTNode, index: int | None = None) -> bool:
        """Return whether nothing reads what a value is assigned to."""
        twin = self.site.expression(node)
        return twin is not None and self.site.analyses[Idle].unread(self.site.file, twin, index)


class SiteFlow(_Questions):
    """Where values and control go."""

    __slots__ = ()

    def uses(self, node: cst.CSTNode, within: frozenset[Use] = EVERY_USE) -> frozenset[Use]:
        """Return the sinks that the value of an expression reaches."""
        twin = self.site.expression(node)
        return (
            self.site.analyses[Flow].uses(self.site.file, twin, within) if twin is not None else frozenset({Use.PASSED})
        )

    def graph_uses(self, node: cst.CSTNode, within: frozenset[Use] = EVERY_USE) -> frozenset[Use]:
        """Return the sinks that the autograd graph of a tensor reaches."""
        twin = self.site.expression(node)
        return (
            self.site.analyses[Flow].graph_uses(self.site.file, twin, within)
            if twin is not None
            else frozenset({Use.PASSED})
        )

    def way(self, node: cst.CSTNode, *ends: Use, graph: bool = False) -> tuple[Hop, ...]:
        """Return the statements by which a value, or its autograd graph, reaches the first of some sinks."""
        twin = self.site.expression(node)
        spots = self.site.analyses[Flow].way(self.site.file, twin, ends, graph=graph) if twin is not None else []
        statements = dict.fromkeys((spot.facts, spot.facts.statement(spot.node)) for spot in spots)
        return tuple(self._hop(facts, each) for facts, each in statements if each is not None)[1:]

    def _hop(self, facts: FileFacts, stmt: ast.stmt) -> Hop:
        """A statement by its place and its code on one line; of a compound statement its first line."""
        whole = not hasattr(stmt, "body")
        code = ast.unparse(stmt) if whole else facts.table.line(stmt.lineno).strip()
        for node in walk(stmt) if whole else ():
            if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Store):  # Python 3.10 writes it in brackets
                text = ast.unparse(node)
                code = code.replace(f"{text} = ", f"{text[1:-1]} = ").replace(f"for {text} in", f"for {text[1:-1]} in")
        return Hop(facts.path, stmt.lineno, code[:_MOST])

    def leaves_as_data(self, *, sealed: bool = False) -> bool:
        """Return whether nothing that leaves a ``with`` block or function can be a tensor."""
        twin = self.site.twin
        if not isinstance(twin, (ast.With, ast.AsyncWith, ast.FunctionDef, ast.AsyncFunctionDef)):
            twin = self.site.file.scope_of(twin).function.node
        if not isinstance(twin, (ast.With, ast.AsyncWith, ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        answering = self.site.analyses[Sealed] if sealed else self.site.analyses[Escapes]
        return answering.leaves_as_data(self.site.file, twin)

    def stored(self) -> cst.BaseExpression | None:
        """Return what an assignment stores in its target."""
        import libcst as cst

        whole = self.site.pairs.statement(self.site.node)
        if not isinstance(whole, cst.Assign) or all(target.target is not self.site.node for target in whole.targets):
            return None
        return whole.value

    def purpose(self) -> Purpose:
        """Return what the branching whose test holds the node is for: raising, leaving a loop, blending."""
        branch = self.site.decided
        if isinstance(branch, ast.Assert) or (isinstance(branch, ast.If) and raises(branch.body)):
            return Purpose.RAISE
        if isinstance(branch, ast.If) and not branch.orelse and reports(branch.body):
            return Purpose.REPORT
        if isinstance(branch, ast.While) or (isinstance(branch, ast.If) and self._leaves_loop(branch.body)):
            return Purpose.LEAVE
        if branch is not None:
            arms = values_of(list(_arms(branch))) if isinstance(branch, ast.If) else []
        else:
            chosen = next(
                (each for each in self.site.file.ancestors(self.site.twin) if isinstance(each, ast.IfExp)), None
            )
            if chosen is None:
                return Purpose.VALUE
            arms = [chosen.body, chosen.orelse]
        effects = self.site.analyses[Sides].of(self.site.file, arms)
        if not arms or effects.writes or not effects.known:
            return Purpose.OTHER
        # Numbers that a statement gives are kept for the host, such as a learning rate; expressions go on with them.
        kinds = {self.site.analyses[Values].of(self.site.file, arm).kind for arm in arms}
        return Purpose.BLEND if branch is None or kinds & {Kind.TENSOR, Kind.UNKNOWN} else Purpose.OTHER

    def _leaves_loop(self, block: Sequence[ast.stmt]) -> bool:
        """Whether a block ends in ``break``, or in ``return`` in a loop: a search is over.

        One arm of a last ``if`` may do so: ``if alone: break``, ``else: finished = True``.
        """
        last = block[-1]
        if isinstance(last, ast.If):
            return any(self._leaves_loop(arm) for arm in (last.body, last.orelse) if arm)
        if not isinstance(last, ast.Return):
            return isinstance(last, ast.Break)
        return enclosing_loop(self.site.file, last, self.site.file.scope_of(last).function) is not None

    def handles_error(self) -> bool:
        """Return whether the node is in the ``except`` part of a ``try``."""
        return in_handler(self.site.file, self.site.twin)


def _arms(branching: ast.If) -> Iterator[ast.stmt]:
    """The statements of all branches of ``if``, ``elif`` and ``else``."""
    yield from branching.body
    match branching.orelse:
        case [ast.If() as other]:
            yield from _arms(other)
        case others:
            yield from others


class SiteCalls(_Questions):
    """Calls, their arguments, and what they reach."""

    __slots__ = ()

    def argument(self, call: cst.Call, position: int, keyword: str) -> cst.BaseExpression | None:
        """Return an argument by position or keyword."""
        index = 0
        for arg in call.args:
            if arg.star:
                return None
            if arg.keyword is not None:
                if arg.keyword.value == keyword:
                    return arg.value
            else:
                if index == position:
                    return arg.value
                index += 1
        return None

    def is_plain(self, call: cst.Call) -> bool:
        """Return whether a call has no star arguments."""
        return not any(arg.star for arg in call.args)

    def chain(self, node: cst.CSTNode) -> Sequence[Link]:
        """Return the method calls and subscripts on top of an expression."""
        import libcst as cst

        links: list[Link] = []
        current = node
        while True:
            above = self.site.pairs.parent(current)
            if isinstance(above, cst.Attribute) and above.value is current:
                call = self.site.pairs.parent(above)
                if not isinstance(call, cst.Call) or call.func is not above:
                    break
                links.append(Link(above.attr.value, call))
                current = call
            elif isinstance(above, cst.Subscript) and above.value is current:
                links.append(Link("[]", above))
                current = above
            else:
                break
        return links

    def is_first(self, names: frozenset[str]) -> bool:
        """Return whether the node is the first call of one of these names."""
        return not self.site.analyses[Occurrences].before(self.site.file, self.site.twin, names)

    def arguments(self, name: str) -> Sequence[Sequence[Value]]:
        """Return the positional arguments of every call of a qualified name in the project."""
        return self.site.analyses[Occurrences].arguments(name)

    def reaches(self, names: frozenset[str]) -> bool:
        """Return whether the function that holds the node may run one of these."""
        return self.site.analyses[Autograd].reaches(self.site.file.scope_of(self.site.place).function, names)


class SiteLoops(_Questions):
    """The loops around code."""

    __slots__ = ()

    def around(self, node: cst.CSTNode) -> Sequence[Loop]:
        """Return the loops around an expression, innermost first."""
        twin = self.site.expression(node)
        return self.site.analyses[Loops].of(self.site.file, twin) if twin is not None else ()

    def iterated(self, node: cst.CSTNode) -> str | None:
        """Return what the loop that binds a name runs over."""
        twin = self.site.expression(node)
        return (self.site.analyses[Provenance].loops_over(self.site.file, twin) or None) if twin is not None else None

    def grown(self, node: cst.CSTNode, *, fresh: bool = False) -> str | None:
        """Return the accumulator that an expression is added to in each round."""
        twin = self.site.expression(node)
        return (self.site.analyses[Growth].of(self.site.file, twin, fresh=fresh) or None) if twin is not None else None

    def is_batchable(self, call: cst.Call) -> bool:
        """Return whether a call in a loop could be made once for all rounds."""
        twin = self.site.expression(call)
        return isinstance(twin, ast.Call) and self.site.analyses[Batching].batchable(self.site.file, twin)


class SiteHot(_Questions):
    """How often code runs, and whether it runs at all."""

    __slots__ = ()

    @property
    def here(self) -> Hotness:
        """How often the node runs; of a function, its body."""
        if self.site.hotness is None:
            self.site.hotness = self.site.analyses[Heat].at(self.site.file, self.site.place)
        return self.site.hotness

    def of(self, node: cst.CSTNode) -> Frequency:
        """Return how often one node of the statement runs."""
        twin = self.site.twin_of(node)
        return self.site.analyses[Heat].frequency(self.site.file, twin) if twin is not None else Frequency.ONCE

    def acting(self) -> bool:
        """Return whether the node is on the rollout path, not only on the update path."""
        return self.site.analyses[Heat].kinds(self.site.file, self.site.place) != {"update"}

    def covers_training(self) -> bool:
        """Return whether a block, or what follows the node, runs a training or rollout loop."""
        return self.site.analyses[Covering].trains(self.site.file, self.site.twin)

    def runs_anyway(self) -> bool:
        """Return whether nothing but the machine decides that the node runs."""
        return self.site.analyses[Switches].runs_anyway(self.site.file, self.site.twin)


class SiteAutograd(_Questions):
    """Networks, and what autograd records."""

    __slots__ = ()

    def records(self) -> bool | None:
        """Return whether autograd records what runs at the node."""
        return self.site.analyses[Autograd].records(self.site.file, self.site.place)

    def has_graph(self, node: cst.CSTNode, *, trained: bool = False) -> bool | None:
        """Return whether a tensor is part of a recorded graph."""
        twin = self.site.expression(node)
        return (
            self.site.analyses[Autograd].has_graph(self.site.file, twin, trained=trained) if twin is not None else None
        )

    def run(self, node: cst.CSTNode) -> Run | None:
        """Return how a call runs a network."""
        twin = self.site.expression(node)
        if not isinstance(twin, ast.Call) or not self.site.analyses[Autograd].runs(self.site.file, twin):
            return None
        keeps = self.site.analyses[Escapes].run_keeps(self.site.file, twin)
        if keeps:
            keeps = self.site.analyses[Holding].run_keeps(self.site.file, twin)
        stores = keeps and self.site.analyses[Stores].run_keeps(self.site.file, twin)
        return self.site.analyses[Autograd].run(self.site.file, twin, keeps=keeps, stores=stores)

    def network(self, node: cst.CSTNode) -> Network:
        """Return what is known of a module."""
        twin = self.site.expression(node)
        return self.site.analyses[Networks].of(self.site.file, twin) if twin is not None else Network()


class SiteDevice(_Questions):
    """Where code may run."""

    __slots__ = ()

    def may_be_cuda(self) -> bool:
        """Return whether the project may run on an accelerator."""
        return self.site.analyses[Accelerators].may_run(self.site.file, self.site.place)


class SiteCompiling(_Questions):
    """What torch compiles."""

    __slots__ = ()

    def inside(self) -> bool:
        """Return whether the node is in a function or class that the project compiles, or calls one that is."""
        compiled = self.site.analyses[Inside].names()
        if not compiled:
            return False
        scope: Scope | None = self.site.file.scope_of(self.site.twin)
        while scope is not None:
            if scope.dotted in compiled:
                return True
            scope = scope.parent
        body = self.site.twin if isinstance(self.site.twin, (ast.With, ast.FunctionDef, ast.AsyncFunctionDef)) else None
        calls = [part for part in walk(body) if isinstance(part, ast.Call)] if body is not None else []
        return any(self._calls_compiled(call.func, compiled) for call in calls)

    def scripted(self) -> bool:
        """Return whether the node is in TorchScript code."""
        if self._script_decorated(self.site.twin):
            return True
        scope: Scope | None = self.site.file.scope_of(self.site.twin)
        while scope is not None:
            if self._script_decorated(scope.node):
                return True
            if scope.kind == "class" and any(
                base.rpartition(".")[2] == "ScriptModule" for base in self.site.analyses[Project].ancestry(scope.dotted)
            ):
                return True
            scope = scope.parent
        return False

    def _script_decorated(self, node: ast.AST) -> bool:
        names = [self.site.analyses[Project].qualified(self.site.file, part) or "" for part in decorators(node)]
        return any(name.startswith("torch.jit.") for name in names)

    def _calls_compiled(self, func: ast.expr, compiled: frozenset[str]) -> bool:
        if self.site.analyses[Values].of(self.site.file, func).name in compiled:
            return True
        if not isinstance(func, ast.Attribute):
            return False
        owner = self.site.analyses[Values].of(self.site.file, func.value).name
        return any(f"{cls}.{func.attr}" in compiled for cls in self.site.analyses[Project].ancestry(owner))

"""The place a rule looks at, as a Protocol: every question a rule may ask.

A rule sees LibCST nodes only. Every question takes a node of the statement at hand; a node that the rule built itself
has no facts and raises ``TypeError``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from torchlint.late import dataclass
from torchlint.rule.flow import EVERY_USE

if TYPE_CHECKING:
    import ast

    import libcst as cst

    from torchlint.facts.analyses import Fact
    from torchlint.facts.code.model import FileFacts
    from torchlint.rule.flow import Network, Run, Use
    from torchlint.rule.frequency import Frequency, Hop, Hotness
    from torchlint.rule.loop import Loop
    from torchlint.rule.purpose import Purpose
    from torchlint.rule.value import Value


_Fact = TypeVar("_Fact", bound="Fact")


@dataclass(frozen=True, slots=True)
class Link:
    """One step of a chain on top of an expression: ``.name(...)`` or ``[...]`` (name ``[]``)."""

    name: str
    node: cst.Call | cst.Subscript


class NameQuestions(Protocol):
    """What names mean, and where words stand."""

    def of(self, node: cst.CSTNode) -> str | None:
        """Return the qualified name of a name or attribute through the imports (``torch.zeros``), else ``None``."""

    def alternatives(self, node: cst.CSTNode) -> Sequence[str]:
        """Return the functions of torch that an expression may mean which has no name of its own, one at a time.

        Those that a condition binds, ``torch.cuda.FloatTensor if cuda else torch.FloatTensor``, and what an attribute
        holds: ``self.distribution = Categorical``.
        """

    def module(self, module: str) -> str | None:
        """Return the name that a module is bound to at the node (``np`` for ``numpy``), ``None`` without an import."""

    def texts(self, node: cst.CSTNode) -> frozenset[str]:
        """Return all texts that an expression may be, as far as literals say.

        A name may be an item of a literal list.
        """

    def in_file(self, word: str) -> bool:
        """Return whether the text of the file itself holds a word."""

    def in_project(self, word: str) -> bool:
        """Return whether the text of a file that this one is connected with by imports holds a word."""


class ValueQuestions(Protocol):
    """What values are."""

    def of(self, node: cst.CSTNode) -> Value:
        """Return what is known of an expression's value."""

    def is_constant(self, node: cst.CSTNode) -> bool:
        """Return whether an expression has the same value on every call.

        Literals, dtypes, devices, settings: attributes never rebound after ``__init__``, module constants, parameters
        that all callers give as one of these.
        """

    def is_mutated(self, node: cst.CSTNode) -> bool:
        """Return whether the name an expression is assigned to is later changed in place (``+=``, ``add_``)."""

    def is_parameter(self, node: cst.CSTNode) -> bool:
        """Return whether an expression is a parameter of the function that holds it."""

    def maker(self, node: cst.CSTNode) -> str | None:
        """Return the last word of the function that made a tensor on all ways to it, else ``None``.

        ``softmax`` of ``F.softmax(x, -1)`` and ``nn.Softmax(-1)(x)``, also after ``gather``, indexing and ``squeeze``,
        behind names, and of calls of project functions and networks that end in one.
        """

    def is_unread(self, node: cst.CSTNode, index: int | None = None) -> bool:
        """Return whether nothing reads the local name that a value is assigned to.

        ``index``: of a value that is unpacked, the name for that part of it.
        """


class FlowQuestions(Protocol):
    """Where values and control go."""

    def uses(self, node: cst.CSTNode, within: frozenset[Use] = EVERY_USE) -> frozenset[Use]:
        """Return the sinks that the value of an expression reaches; empty if nothing uses it.

        ``within``: the ends that a rule allows. It is followed no further once it comes to another one, and what is
        given then holds that one, but perhaps not all.

        Followed through names, arithmetic, containers, calls of project functions, returns to known callers and
        attributes that are read. A tensor that is read back (``.item()``, ``.numpy()``) ends there in ``READ``.
        """

    def graph_uses(self, node: cst.CSTNode, within: frozenset[Use] = EVERY_USE) -> frozenset[Use]:
        """Return the sinks that the autograd graph of a tensor reaches: like ``uses``, up to where the graph ends."""

    def way(self, node: cst.CSTNode, *ends: Use, graph: bool = False) -> tuple[Hop, ...]:
        """Return the statements by which a value, or its autograd graph, reaches the first of some sinks.

        The statement of the expression itself is left out, so a value that is used there has no way; ``name`` of a hop
        is its line of code. For ``Report.flow``, which shows it.
        """

    def leaves_as_data(self, *, sealed: bool = False) -> bool:
        """Return whether all that leaves a ``with`` block or a decorated function is proven to hold no tensor.

        Nothing returned, stored on an object, appended or passed to an unknown function may be a tensor; callees are
        followed, unknown ones make the answer false. Of any other node: of the function that holds it. ``sealed``: also
        every module that may run there is known with all its parts, and keeps nothing.
        """

    def stored(self) -> cst.BaseExpression | None:
        """Return the expression that an assignment stores in a target; ``None`` for unpacked tuples."""

    def purpose(self) -> Purpose:
        """Return what the branching whose test holds the node is for: raising, leaving a loop, blending."""

    def handles_error(self) -> bool:
        """Return whether the node is in the ``except`` part of a ``try``, which runs when something went wrong."""


class CallQuestions(Protocol):
    """Calls, their arguments, and what they reach."""

    def argument(self, call: cst.Call, position: int, keyword: str) -> cst.BaseExpression | None:
        """Return the argument of a call by position or keyword, ``None`` when absent or hidden in a star argument."""

    def is_plain(self, call: cst.Call) -> bool:
        """Return whether the call has no star arguments."""

    def chain(self, node: cst.CSTNode) -> Sequence[Link]:
        """Return the method calls and subscripts on top of an expression, innermost first.

        Of the inner call in ``torch.zeros(3).unsqueeze(0)[None].to(d)`` the links ``unsqueeze``, ``[]``, ``to``.
        """

    def is_first(self, names: frozenset[str]) -> bool:
        """Return whether no call of one of these qualified names stands before the node in the connected files."""

    def arguments(self, name: str) -> Sequence[Sequence[Value]]:
        """Return the values of the positional arguments of every call of a qualified name in the project."""

    def reaches(self, names: frozenset[str]) -> bool:
        """Return whether the function that holds the node may run one of these, itself or through known callees.

        ``names`` are qualified names (``torch.autograd.grad``) or names of methods (``backward``).
        """


class LoopQuestions(Protocol):
    """The loops around code."""

    def around(self, node: cst.CSTNode) -> Sequence[Loop]:
        """Return the loops and comprehensions of the function that run an expression over and over, innermost first."""

    def iterated(self, node: cst.CSTNode) -> str | None:
        """Return the last word of what a loop runs over that binds the name; ``None`` for other names.

        ``parameters`` in ``for p in net.parameters()`` and ``for n, p in net.named_parameters()``, ``params`` in
        ``for p in group["params"]``.
        """

    def grown(self, node: cst.CSTNode, *, fresh: bool = False) -> str | None:
        """Return the accumulator that an expression is added to, as source; ``None`` when nothing outlives the round.

        ``total`` of ``total += x`` and ``total = total + x``, ``items`` of ``items.append(x)`` and of
        ``items.append((x, y))``, ``self.memory`` where a project function adds its parameter to its own ``memory``.
        ``again``: only where each round makes a graph of its own for the expression, not a few nodes on an older one.
        """

    def is_batchable(self, call: cst.Call) -> bool:
        """Return whether no result of a call in a loop reaches its arguments in later rounds.

        Also no environment steps in the innermost loop, no backward pass runs, and nothing leaves it early: its inputs
        could be collected and handed over together.
        """


class HotnessQuestions(Protocol):
    """How often code runs, and whether it runs at all."""

    @property
    def here(self) -> Hotness:
        """How often the node runs, and the path that makes it so."""

    def of(self, node: cst.CSTNode) -> Frequency:
        """Return how often an inner expression runs.

        It is seldom where a debug flag guards it (``self.debug and ...``).
        """

    def acting(self) -> bool:
        """Return whether the node is on the rollout path or in a forward pass, not only on the update path."""

    def covers_training(self) -> bool:
        """Return whether a block, or what follows the node in its function, runs a training or rollout loop."""

    def runs_anyway(self) -> bool:
        """Return whether only the machine decides that the node runs: no flag guards it on at least one known path.

        False in tests, demos, profiling scripts, and in functions that nothing is known to call.
        """


class AutogradQuestions(Protocol):
    """Networks, and what autograd records."""

    def records(self) -> bool | None:
        """Return whether autograd records what runs at the node.

        False where every known way to it holds ``no_grad`` or ``inference_mode``, in this function or in all callers,
        across files; true where a known way holds none; ``None`` where the callers are not known.
        """

    def has_graph(self, node: cst.CSTNode, *, trained: bool = False) -> bool | None:
        """Return whether a tensor is part of a recorded graph, not detached.

        With ``trained``, a graph of target networks alone does not count.
        """

    def run(self, node: cst.CSTNode) -> Run | None:
        """Return how a call runs a network with parameters, ``None`` where it is not known to run one."""

    def network(self, node: cst.CSTNode) -> Network:
        """Return what is known of a module: whether it is trained, frozen, a target network, and its parts."""


class DeviceQuestions(Protocol):
    """Where code may run."""

    def may_be_cuda(self) -> bool:
        """Return whether the node may run on an accelerator; false if the project or its class never leaves the CPU."""


class CompileQuestions(Protocol):
    """What torch compiles."""

    def inside(self) -> bool:
        """Return whether the node is in a function this project compiles with ``torch.compile``."""

    def scripted(self) -> bool:
        """Return whether the node is in TorchScript code (``torch.jit.script``, ``ScriptModule``)."""


class Site(Protocol):
    """What a rule's ``check`` is given: a node that may be a smell, and what the facts know of it."""

    @property
    def node(self) -> cst.CSTNode:
        """The node to look at: a call, a subscript, a compound statement's header, an assert, ..."""

    @property
    def file(self) -> FileFacts:
        """What is written in the file that holds the node: facts take it beside the nodes that they are asked about."""

    @property
    def twin(self) -> ast.AST:
        """The node as facts know it: in the syntax tree of ``ast``."""

    @property
    def place(self) -> ast.AST:
        """The code whose frequency, mode and function count: of a function its body, else ``twin``."""

    @property
    def decided(self) -> ast.AST | None:
        """The statement that the node is, or of a test the statement that it decides."""

    def expression(self, node: cst.CSTNode) -> ast.expr | None:
        """Return the ``ast`` twin of an expression of the statement, ``None`` if the node is not an expression."""

    def fact(self, kind: type[_Fact]) -> _Fact:
        """Return the fact of a type about the project: one of ``torchlint.facts``, or one of the rule's own."""

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the node that holds this one, ``None`` at the statement."""

    @property
    def names(self) -> NameQuestions:
        """What names mean, and where words stand."""

    @property
    def values(self) -> ValueQuestions:
        """What values are."""

    @property
    def flow(self) -> FlowQuestions:
        """Where values and control go."""

    @property
    def calls(self) -> CallQuestions:
        """Calls, their arguments, and what they reach."""

    @property
    def loops(self) -> LoopQuestions:
        """The loops around code."""

    @property
    def hot(self) -> HotnessQuestions:
        """How often code runs, and whether it runs at all."""

    @property
    def autograd(self) -> AutogradQuestions:
        """Networks, and what autograd records."""

    @property
    def device(self) -> DeviceQuestions:
        """Where code may run."""

    @property
    def compiling(self) -> CompileQuestions:
        """What torch compiles."""

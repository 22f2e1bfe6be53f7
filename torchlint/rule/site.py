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
        """The qualified name of a name or attribute through the imports (``torch.zeros``), else ``None``."""

    def module(self, module: str) -> str | None:
        """The name that a module is bound to at the node (``np`` for ``numpy``), ``None`` when it is not imported."""

    def texts(self, node: cst.CSTNode) -> frozenset[str]:
        """All texts that an expression may be, as far as literals say; a name may be an item of a literal list."""

    def in_file(self, word: str) -> bool:
        """Whether the text of the file itself holds a word."""

    def in_project(self, word: str) -> bool:
        """Whether the text of a file that this one is connected with by imports holds a word."""


class ValueQuestions(Protocol):
    """What values are."""

    def of(self, node: cst.CSTNode) -> Value:
        """What is known of an expression's value."""

    def is_constant(self, node: cst.CSTNode) -> bool:
        """Whether an expression has the same value on every call.

        Literals, dtypes, devices, settings: attributes never rebound after ``__init__``, module constants, parameters
        that all callers give as one of these.
        """

    def is_mutated(self, node: cst.CSTNode) -> bool:
        """Whether the name an expression is assigned to is changed in place later (``+=``, ``x[i] =``, ``add_``)."""

    def is_parameter(self, node: cst.CSTNode) -> bool:
        """Whether an expression is a parameter of the function that holds it."""

    def maker(self, node: cst.CSTNode) -> str | None:
        """The last word of the function that made a tensor on all ways to it, else ``None``.

        ``softmax`` of ``F.softmax(x, -1)`` and ``nn.Softmax(-1)(x)``, also after ``gather``, indexing and ``squeeze``,
        behind names, and of calls of project functions and networks that end in one.
        """

    def is_unread(self, node: cst.CSTNode, index: int | None = None) -> bool:
        """Whether nobody reads the local name that a value is assigned to.

        ``index``: of a value that is unpacked, the name for that part of it.
        """


class FlowQuestions(Protocol):
    """Where values and control go."""

    def uses(self, node: cst.CSTNode, within: frozenset[Use] = EVERY_USE) -> frozenset[Use]:
        """Where the value of an expression goes: all ends it comes to; empty where nobody uses it.

        ``within``: the ends that a rule allows. It is followed no further once it comes to another one, and what is
        given then holds that one, but perhaps not all.

        Followed through names, arithmetic, containers, calls of project functions, returns to known callers and
        attributes that are read. A tensor that is read back (``.item()``, ``.numpy()``) ends there in ``READ``.
        """

    def graph_uses(self, node: cst.CSTNode, within: frozenset[Use] = EVERY_USE) -> frozenset[Use]:
        """Where the autograd graph of a tensor goes: like ``uses``, but it ends where the graph does."""

    def way(self, node: cst.CSTNode, *ends: Use, graph: bool = False) -> tuple[Hop, ...]:
        """By which statements the value of an expression, or its autograd graph, comes to the first of some ends.

        The statement of the expression itself is left out, so a value that is used there has no way; ``name`` of a hop
        is its line of code. For ``Report.flow``, which shows it.
        """

    def leaves_as_data(self, *, sealed: bool = False) -> bool:
        """Of a ``with`` block or a decorated function: whether everything that leaves it is proven to hold no tensor.

        Nothing returned, stored on an object, appended or passed to an unknown function may be a tensor; callees are
        followed, unknown ones make the answer false. Of any other node: of the function that holds it. ``sealed``: also
        every module that may run there is known with all its parts, and keeps nothing.
        """

    def stored(self) -> cst.BaseExpression | None:
        """Of a target of an assignment the expression that is stored there; ``None`` for unpacked tuples."""

    def purpose(self) -> Purpose:
        """What the branching is there for whose test the node is or stands in: raising, leaving a loop, blending."""

    def handles_error(self) -> bool:
        """Whether the node stands in the ``except`` part of a ``try``, which runs when something went wrong."""


class CallQuestions(Protocol):
    """Calls, their arguments, and what they reach."""

    def argument(self, call: cst.Call, position: int, keyword: str) -> cst.BaseExpression | None:
        """The argument of a call by position or keyword, ``None`` when absent or hidden in a star argument."""

    def is_plain(self, call: cst.Call) -> bool:
        """Whether the call has no star arguments."""

    def chain(self, node: cst.CSTNode) -> Sequence[Link]:
        """The method calls and subscripts on top of an expression, innermost first.

        Of the inner call in ``torch.zeros(3).unsqueeze(0)[None].to(d)`` the links ``unsqueeze``, ``[]``, ``to``.
        """

    def is_first(self, names: frozenset[str]) -> bool:
        """Whether no call of one of these qualified names stands before the node in the connected files."""

    def arguments(self, name: str) -> Sequence[Sequence[Value]]:
        """The values of the positional arguments of every call of a qualified name in the project."""

    def reaches(self, names: frozenset[str]) -> bool:
        """Whether the function that holds the node may run one of these, itself or through known callees.

        ``names`` are qualified names (``torch.autograd.grad``) or names of methods (``backward``).
        """


class LoopQuestions(Protocol):
    """The loops around code."""

    def around(self, node: cst.CSTNode) -> Sequence[Loop]:
        """The loops and comprehensions of the function that run an expression over and over, innermost first."""

    def iterated(self, node: cst.CSTNode) -> str | None:
        """Of a name that a loop binds, the last word of what the loop runs over, else ``None``.

        ``parameters`` in ``for p in net.parameters()`` and ``for n, p in net.named_parameters()``, ``params`` in
        ``for p in group["params"]``.
        """

    def grown(self, node: cst.CSTNode, *, anew: bool = False) -> str | None:
        """What an expression is added to again and again, as source; ``None`` when nothing outlives the round.

        ``total`` of ``total += x`` and ``total = total + x``, ``items`` of ``items.append(x)`` and of
        ``items.append((x, y))``, ``self.memory`` where a project function adds its parameter to its own ``memory``.
        ``anew``: only where each round makes a graph of its own for the expression, not a few nodes on an older one.
        """

    def is_batchable(self, call: cst.Call) -> bool:
        """Whether nothing that a call in a loop gives comes back to what it is given in later rounds.

        Also no environment steps in the innermost loop, no backward pass runs, and nothing leaves it early: its inputs
        could be collected and handed over together.
        """


class HotnessQuestions(Protocol):
    """How often code runs, and whether it runs at all."""

    @property
    def here(self) -> Hotness:
        """How often the node runs, and the path that makes it so."""

    def of(self, node: cst.CSTNode) -> Frequency:
        """How often an inner expression runs: seldom where a debug flag stands before it (``self.debug and ...``)."""

    def acting(self) -> bool:
        """Whether a loop that steps an environment runs the node, or a forward pass: not gradient updates alone."""

    def covers_training(self) -> bool:
        """Whether a ``with`` block, or what follows the node in its function, runs a training or rollout loop."""

    def runs_anyway(self) -> bool:
        """Whether nothing but the machine decides that the node runs: no flag, in its function and on one way to it.

        False in tests, demos, profiling scripts, and in functions that nobody is known to call.
        """


class AutogradQuestions(Protocol):
    """Networks, and what autograd records."""

    def records(self) -> bool | None:
        """Whether autograd records what runs at the node.

        False where every known way to it holds ``no_grad`` or ``inference_mode``, in this function or in all callers,
        across files; true where a known way holds none; ``None`` where the callers are not known.
        """

    def has_graph(self, node: cst.CSTNode, *, trained: bool = False) -> bool | None:
        """Whether a tensor hangs on a recorded graph, not detached; ``trained``: of more than target networks."""

    def run(self, node: cst.CSTNode) -> Run | None:
        """What a call does that runs a network with parameters, ``None`` where it is not known to run one."""

    def network(self, node: cst.CSTNode) -> Network:
        """What is known of a module: whether it is trained, frozen, a target network, and its parts."""


class DeviceQuestions(Protocol):
    """Where code may run."""

    def may_be_cuda(self) -> bool:
        """Whether the node may run on an accelerator: false where the project, or its class, never leaves the CPU."""


class CompileQuestions(Protocol):
    """What torch compiles."""

    def inside(self) -> bool:
        """Whether the node stands in a function this project compiles with ``torch.compile``."""

    def scripted(self) -> bool:
        """Whether the node stands in TorchScript code (``torch.jit.script``, ``ScriptModule``)."""


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
        """An expression of the statement as facts know it, ``None`` where the node is no expression."""

    def fact(self, kind: type[_Fact]) -> _Fact:
        """The fact of a type about the project: one of ``torchlint.facts``, or one of the rule's own."""

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that holds this one, ``None`` at the statement."""

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

"""The place a rule looks at, as a Protocol: every question a rule may ask.

A rule sees LibCST nodes only. Every question takes a node of the statement at hand; a node that the rule built itself
has no facts and raises ``TypeError``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.rule.flow import Network, Use
    from torchlint.rule.frequency import Frequency, Hop, Hotness
    from torchlint.rule.value import Value


@dataclass(frozen=True, slots=True)
class CallSite:
    """A place that calls something: where, how often it runs, and what is known of the batch it passes.

    ``root`` is what makes it hot: ``step`` for a loop that steps an environment, ``update`` for one that runs gradient
    updates, empty when unknown. ``batch`` is a short text for the leading dimension of the first argument where it is
    known (``1``), else empty.
    """

    hop: Hop
    frequency: Frequency
    root: str
    batch: str


@dataclass(frozen=True, slots=True)
class Link:
    """One step of a chain on top of an expression: ``.name(...)`` or ``[...]`` (name ``[]``)."""

    name: str
    node: cst.Call | cst.Subscript


class Site(Protocol):
    """What a rule's ``check`` is given: a node that may be a smell, and what the facts know of it."""

    @property
    def node(self) -> cst.CSTNode:
        """The node to look at: a call, a subscript, a compound statement's header, an assert, ..."""

    @property
    def hot(self) -> Hotness:
        """How often the node runs, and the path that makes it so."""

    def acting(self) -> bool:
        """Whether a loop that steps an environment runs the node, or a forward pass: not gradient updates alone."""

    def frequency(self, node: cst.CSTNode) -> Frequency:
        """How often an inner expression runs: seldom where a debug flag stands before it (``self.debug and ...``)."""

    def name(self, node: cst.CSTNode) -> str | None:
        """The qualified name of a name or attribute through the imports (``torch.zeros``), else ``None``."""

    def constructor(self, call: cst.Call) -> str | None:
        """The class whose ``__init__`` a call runs, by qualified name; of other calls the name of the function.

        ``super().__init__()`` runs that of a base, and so does the name of a project class that inherits it.
        """

    def module_name(self, module: str) -> str | None:
        """The name that a module is bound to at the node (``np`` for ``numpy``), ``None`` when it is not imported."""

    def value(self, node: cst.CSTNode) -> Value:
        """What is known of an expression's value."""

    def chain(self, node: cst.CSTNode) -> Sequence[Link]:
        """The method calls and subscripts on top of an expression, innermost first.

        Of the inner call in ``torch.zeros(3).unsqueeze(0)[None].to(d)`` the links ``unsqueeze``, ``[]``, ``to``.
        """

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that holds this one, ``None`` at the statement."""

    def argument(self, call: cst.Call, position: int, keyword: str) -> cst.BaseExpression | None:
        """The argument of a call by position or keyword, ``None`` when absent or hidden in a star argument."""

    def plain(self, call: cst.Call) -> bool:
        """Whether the call has no star arguments."""

    def constant(self, node: cst.CSTNode) -> bool:
        """Whether an expression has the same value on every call.

        Literals, dtypes, devices, settings: attributes never rebound after ``__init__``, module constants, parameters
        that all callers give as one of these.
        """

    def debug_flag(self) -> str | None:
        """Source of a debug attribute or parameter in scope whose default is false (``self.debug``), if any."""

    def raises(self) -> bool:
        """Of an ``if`` (or assert): whether its body exists to raise."""

    def scripted(self) -> bool:
        """Whether the node stands in TorchScript code (``torch.jit.script``, ``ScriptModule``)."""

    def compiled(self) -> bool:
        """Whether the node stands in a function this project compiles with ``torch.compile``."""

    def may_use_cuda(self) -> bool:
        """Whether the project may run on an accelerator: false where it provably never leaves the CPU."""

    def mutated(self, node: cst.CSTNode) -> bool:
        """Whether the name an expression is assigned to is changed in place later (``+=``, ``x[i] =``, ``add_``)."""

    def leaves_as_data(self) -> bool:
        """Of a ``with`` block or a decorated function: whether everything that leaves it is proven to hold no tensor.

        Nothing returned, stored on an object, appended or passed to an unknown function may be a tensor; callees are
        followed, unknown ones make the answer false.
        """

    def calls_of(self, node: cst.CSTNode) -> Sequence[CallSite]:
        """All places known to call the object that the expression is assigned to, e.g. a compiled module."""

    def uses(self, node: cst.CSTNode) -> frozenset[Use]:
        """Where the value of an expression goes: all ends it comes to; empty where nobody uses it.

        Followed through names, arithmetic, containers, calls of project functions, returns to known callers and
        attributes that are read. A tensor that is read back (``.item()``, ``.numpy()``) ends there in ``READ``.
        """

    def graph_uses(self, node: cst.CSTNode) -> frozenset[Use]:
        """Where the autograd graph of a tensor goes: like ``uses``, but it ends where the graph does."""

    def records(self) -> bool | None:
        """Whether autograd records what runs at the node.

        False where every known way to it holds ``no_grad`` or ``inference_mode``, in this function or in all callers,
        across files; true where a known way holds none; ``None`` where the callers are not known.
        """

    def has_graph(self, node: cst.CSTNode) -> bool | None:
        """Whether a tensor hangs on a recorded graph: computed from trained parameters, not detached."""

    def network(self, node: cst.CSTNode) -> Network:
        """What is known of a module: whether it is trained, frozen, a target network, and its parts."""

    def reaches(self, names: frozenset[str]) -> bool:
        """Whether the function that holds the node may run one of these, itself or through known callees.

        ``names`` are qualified names (``torch.autograd.grad``) or names of methods (``backward``).
        """

    def project_calls(self, name: str) -> Sequence[Sequence[Value]]:
        """The values of the positional arguments of every call of a qualified name in the project."""

    def nearby(self, names: frozenset[str]) -> bool:
        """Whether the function that holds the node calls one of these qualified names itself."""

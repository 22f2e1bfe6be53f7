"""The place a rule looks at, as a Protocol: every question a rule may ask.

A rule sees LibCST nodes only. Every question takes a node of the statement at hand; a node that the rule built itself
has no facts and raises ``TypeError``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from torchlint.late import dataclass
from torchlint.rule.flow import EVERY_USE

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.rule.compiling import Break, Bypass, Changing, Taken
    from torchlint.rule.flow import Average, Network, Run, Use
    from torchlint.rule.frequency import CallSite, Frequency, Hotness
    from torchlint.rule.loop import Loop, Picked, Row
    from torchlint.rule.purpose import Purpose
    from torchlint.rule.value import Kind, Value


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

    def purpose(self) -> Purpose:
        """What the branching is there for whose test the node is or stands in: raising, leaving a loop, blending."""

    def scripted(self) -> bool:
        """Whether the node stands in TorchScript code (``torch.jit.script``, ``ScriptModule``)."""

    def compiled(self) -> bool:
        """Whether the node stands in a function this project compiles with ``torch.compile``."""

    def may_use_cuda(self) -> bool:
        """Whether the node may run on an accelerator: false where the project, or its class, never leaves the CPU."""

    def mutated(self, node: cst.CSTNode) -> bool:
        """Whether the name an expression is assigned to is changed in place later (``+=``, ``x[i] =``, ``add_``)."""

    def handed_on(self, node: cst.CSTNode) -> bool:
        """Whether what a name holds also goes elsewhere: to a call, into a container, out of the function."""

    def accumulated(self, node: cst.CSTNode) -> bool:
        """Whether the name an expression is assigned to is later given what is made of it, as in ``x = x + y``."""

    def leaves_as_data(self, *, sealed: bool = False) -> bool:
        """Of a ``with`` block or a decorated function: whether everything that leaves it is proven to hold no tensor.

        Nothing returned, stored on an object, appended or passed to an unknown function may be a tensor; callees are
        followed, unknown ones make the answer false. Of any other node: of the function that holds it. ``sealed``: also
        every module that may run there is known with all its parts, and keeps nothing.
        """

    def calls_of(self, node: cst.CSTNode) -> Sequence[CallSite]:
        """All places known to call the object that the expression is assigned to, e.g. a compiled module."""

    def kept(self, call: cst.Call) -> bool:
        """Whether what a call gives is stored in an attribute or a container, at once or by another name."""

    def refused(self, node: cst.CSTNode) -> bool:
        """Whether the function that holds the node raises for some of the values that a name or attribute may have."""

    def bypassed(self, call: cst.Call) -> Bypass | None:
        """How runs get past what a ``torch.compile`` gives, ``None`` where they are not known to.

        Nobody keeps it; or only methods besides ``forward`` are called on it, which run uncompiled.
        """

    def takes_uncompiled(self, call: cst.Call) -> Taken | None:
        """Of a call that keeps modules which the same function compiles later, what runs uncompiled because of it."""

    def breaks_graph(self) -> Break | None:
        """Of a call or a test, whether it breaks the graph of code that the project compiles, and how."""

    def compiles_anywhere(self, node: cst.CSTNode) -> bool:
        """Whether a ``torch.compile`` runs on every machine, in a project that also runs without CUDA.

        No condition guards it, or one that only asks whether torch has ``compile``. The first in a function counts.
        """

    def recompiles(self) -> Changing | None:
        """Of an attribute, whether compiled code reads it as an integer of a module that hot code changes."""

    def uses(self, node: cst.CSTNode, within: frozenset[Use] = EVERY_USE) -> frozenset[Use]:
        """Where the value of an expression goes: all ends it comes to; empty where nobody uses it.

        ``within``: the ends that a rule allows. It is followed no further once it comes to another one, and what is
        given then holds that one, but perhaps not all.

        Followed through names, arithmetic, containers, calls of project functions, returns to known callers and
        attributes that are read. A tensor that is read back (``.item()``, ``.numpy()``) ends there in ``READ``.
        """

    def graph_uses(self, node: cst.CSTNode, within: frozenset[Use] = EVERY_USE) -> frozenset[Use]:
        """Where the autograd graph of a tensor goes: like ``uses``, but it ends where the graph does."""

    def copies(self, node: cst.CSTNode) -> bool:
        """Whether a call is one of a project function that only copies its argument to the host: ``to_np``."""

    def copying(self) -> bool:
        """Whether the function that holds the node does nothing but copy its argument to the host."""

    def differentiated(self, node: cst.CSTNode) -> bool:
        """Whether ``backward()`` runs through what a name or attribute holds, wherever that is read: it is a tensor."""

    def records(self) -> bool | None:
        """Whether autograd records what runs at the node.

        False where every known way to it holds ``no_grad`` or ``inference_mode``, in this function or in all callers,
        across files; true where a known way holds none; ``None`` where the callers are not known.
        """

    def has_graph(self, node: cst.CSTNode, *, trained: bool = False) -> bool | None:
        """Whether a tensor hangs on a recorded graph, not detached; ``trained``: of more than target networks."""

    def is_leaf(self, node: cst.CSTNode) -> bool:
        """Whether a tensor asks for gradients itself and was computed from nothing, such as a parameter."""

    def run(self, node: cst.CSTNode) -> Run | None:
        """What a call does that runs a network with parameters, ``None`` where it is not known to run one."""

    def network(self, node: cst.CSTNode) -> Network:
        """What is known of a module: whether it is trained, frozen, a target network, and its parts."""

    def reaches(self, names: frozenset[str]) -> bool:
        """Whether the function that holds the node may run one of these, itself or through known callees.

        ``names`` are qualified names (``torch.autograd.grad``) or names of methods (``backward``).
        """

    def average(self, node: cst.CSTNode) -> Average | None:
        """Of a copy, an assigned value or a loaded dict: the average of two networks that it keeps up, if it does.

        ``t.data.copy_(tau * p.data + (1 - tau) * t.data)`` in a loop over two networks' parameters, the same assigned
        to ``t.data``, and ``load_state_dict(d)`` where the items of ``d`` are such averages.
        """

    def made_by(self, node: cst.CSTNode) -> str:
        """The last word of the function that made a tensor on all ways to it, else empty.

        ``softmax`` of ``F.softmax(x, -1)`` and ``nn.Softmax(-1)(x)``, also after ``gather``, indexing and ``squeeze``,
        behind names, and of calls of project functions and networks that end in one.
        """

    def loops(self, node: cst.CSTNode) -> Sequence[Loop]:
        """The loops and comprehensions of the function that run an expression over and over, innermost first."""

    def element_of(self, node: cst.CSTNode) -> Value | None:
        """The tensor whose element an expression is in each round of a loop; ``None``: it is none.

        ``v`` of ``for v in t`` and of comprehensions, also through ``zip`` and ``enumerate``, and ``t[i]`` where a
        loop counts ``i``.
        """

    def row(self, node: cst.CSTNode) -> Row | None:
        """The element of a collection that an expression is in each round of a loop, and of nothing else.

        Like ``element_of``, of any collection, and also through conversions, views that make a batch of one, parts
        (``o.state``), and names: ``x`` after ``x = torch.as_tensor(o).unsqueeze(0)``.
        """

    def picked(self) -> Picked | None:
        """Of a ``for`` loop that computes with elements of tensors and does nothing else: what it does."""

    def batchable(self, call: cst.Call) -> bool:
        """Whether nothing that a call in a loop gives comes back to what it is given in later rounds.

        Also no environment steps in the innermost loop, no backward pass runs, and nothing leaves it early: its inputs
        could be collected and handed over together.
        """

    def ensemble(self, call: cst.Call) -> bool:
        """Whether a call runs one of several networks built alike (``q`` of ``self.qs``), another in each round."""

    def grows(self, node: cst.CSTNode, *, anew: bool = False) -> str:
        """What an expression is added to again and again, as source; empty when nothing outlives the round.

        ``total`` of ``total += x`` and ``total = total + x``, ``items`` of ``items.append(x)`` and of
        ``items.append((x, y))``, ``self.memory`` where a project function adds its parameter to its own ``memory``.
        ``anew``: only where each round makes a graph of its own for the expression, not a few nodes on an older one.
        """

    def contract(self, test: cst.CSTNode, *, finite: bool) -> bool:
        """Whether a test that raises is a contract on what comes from outside, not a check of what a network computed.

        Such are tests in an environment and in what reads data, of tensors that come from there, and of a divisor.
        ``finite``: the test asks for NaN or infinity; other tests that read nothing of a network are contracts too.
        """

    def is_loss(self, node: cst.CSTNode) -> bool:
        """Whether backward() is called on what an expression stands for, elsewhere in the function or by a callee.

        A sum of such values is one too.
        """

    def backpropagated(self, node: cst.CSTNode) -> bool:
        """Whether backward() runs through what an expression is made of, by another way than the expression itself.

        Of the second ``loss`` in ``loss.backward(); losses.append(loss)``, and of ``a`` with ``(a + b).backward()``.
        """

    def project_calls(self, name: str) -> Sequence[Sequence[Value]]:
        """The values of the positional arguments of every call of a qualified name in the project."""

    def nearby(self, names: frozenset[str]) -> bool:
        """Whether the function that holds the node calls one of these qualified names itself.

        Of a helper that makes few calls, also whether all functions known to call it do; of one end of a context
        manager also whether the other end does.
        """

    def timed(self) -> bool:
        """Whether a ``with`` block around the node times it: one whose name speaks of a timer or a profile."""

    def shares_memory(self) -> bool:
        """Whether the files tied to this one put tensors into memory that other processes read (``share_memory_``)."""

    def free_attribute(self, name: str) -> str | None:
        """An attribute, as source (``self.support``), that the enclosing module could set at the end of ``__init__``.

        ``name`` itself or with a number after it, never one that the class or its relatives use. ``None`` where the
        class has no ``__init__`` of its own that calls the next one, or the attribute might not be there at the node.
        """

    def settled(self, node: cst.CSTNode) -> bool:
        """Whether an expression means the same at the end of the enclosing class's own ``__init__``."""

    def beside_module(self, node: cst.CSTNode) -> bool:
        """Whether a tensor in a method of a module is proven to be on the device of the module's parameters.

        A layer of the module made it, or takes it before: on another device the method raises.
        """

    def of_parameter(self, node: cst.CSTNode) -> bool:
        """Whether an expression is a parameter of the function that holds it."""

    def loops_over(self, node: cst.CSTNode) -> str:
        """Of a name that a loop binds, the last word of what the loop runs over, else empty.

        ``parameters`` in ``for p in net.parameters()`` and ``for n, p in net.named_parameters()``, ``params`` in
        ``for p in group["params"]``.
        """

    def made_before(self, node: cst.CSTNode) -> bool:
        """Whether what a name or attribute holds was there before the code at the node ran: it is made less often."""

    def gathered(self, node: cst.CSTNode) -> bool:
        """Whether an array is picked by an array of rows out of one that an object keeps: a batch of a replay.

        Followed through names and what functions of the project return.
        """

    def read_back(self, node: cst.CSTNode) -> bool:
        """Whether an array is only a tensor read back (``t.cpu()``, NumPy functions after it) with no other reader."""

    def scaled(self, node: cst.CSTNode) -> bool:
        """Whether a tensor is divided by 255 further on, in its function or in one that it is passed to."""

    def moved_later(self, node: cst.CSTNode) -> str:
        """The move of a fresh tensor in the next statement that speaks of it, as source: ``x.cuda()``; else empty.

        ``x = x.to(device)`` right after it, or as all that an ``if use_cuda:`` holds.
        """

    def switches_mode(self, call: cst.Call) -> bool:
        """Whether a call makes a context manager of the project that puts modules into evaluation mode and back."""

    def hands_mode_on(self) -> bool:
        """Whether the node stands in a context manager, or in a module's own ``train`` or ``eval``."""

    def mode_matters(self, node: cst.CSTNode) -> bool:
        """Whether a module may compute something else in the other mode; true where its parts are not known."""

    def keeps_graph_for_nothing(self, call: cst.Call) -> bool:
        """Whether ``x.backward(retain_graph=...)`` keeps its graph and no backward pass runs through it again.

        Proven in the function, in its callers and over the rounds of loops; false when unsure.
        """

    def runs_anyway(self) -> bool:
        """Whether nothing but the machine decides that the node runs: no flag, in its function and on one way to it.

        False in tests, demos, profiling scripts, and in functions that nobody is known to call.
        """

    def strings(self, node: cst.CSTNode) -> frozenset[str]:
        """All texts that an expression may be, as far as literals say; a name may be an item of a literal list."""

    def stored_value(self) -> cst.BaseExpression | None:
        """Of a target of an assignment the expression that is stored there; ``None`` for unpacked tuples."""

    def torch_before(self) -> str:
        """Where torch was imported, as ``path:row``, whenever the node runs; empty where it may not have been."""

    def threads_set_before(self) -> bool:
        """Whether the function of the node has called ``torch.set_num_threads`` above the node."""

    def cuda_before(self) -> int:
        """The row of a call before the node, in the same function, that starts CUDA; 0 where there is none."""

    def backend_has(self, name: str) -> bool | None:
        """Whether a supported torch has an attribute of ``torch.backends``; ``None``: its module is not known."""

    def handled(self, node: cst.CSTNode, idle: frozenset[str]) -> bool:
        """Whether anything is done with what an expression is assigned to, besides asking whether it is there.

        Methods of the names in ``idle`` do not count. True when unsure.
        """

    def function_reaches(self, node: cst.CSTNode, names: frozenset[str]) -> bool:
        """Whether a function given as a value may run one of these, itself or through known callees."""

    def covers_training(self) -> bool:
        """Whether a ``with`` block, or what follows the node in its function, runs a training or rollout loop."""

    def mentioned(self, word: str) -> bool:
        """Whether the text of a file that this one is connected with by imports holds a word."""

    def calls_method(self, node: cst.CSTNode, name: str) -> bool:
        """Whether a method of what an expression is assigned or entered to is known to be called."""

    def called_later(self, node: cst.CSTNode) -> bool:
        """Whether what an expression is assigned to is known to be called itself."""

    def tried_uncalled(self, node: cst.CSTNode) -> bool:
        """Whether an expression stands in a ``try`` whose body neither calls nor passes on what it is assigned to.

        Only a ``try`` with handlers that catch more than a missing name or module.
        """

    def file_mentions(self, word: str) -> bool:
        """Whether the text of the file itself holds a word."""

    def first(self, names: frozenset[str]) -> bool:
        """Whether no call of one of these qualified names stands before the node in the connected files."""

    def handles_error(self) -> bool:
        """Whether the node stands in the ``except`` part of a ``try``, which runs when something went wrong."""

    def regrown(self, call: cst.Call) -> str:
        """What a concatenation makes longer, and so copies again, in every round of a loop that reads it nowhere else.

        ``xs`` of ``xs = torch.cat([xs, x])``, as source; empty where nothing grows over more than a handful of rounds.
        """

    def is_deque(self, node: cst.CSTNode) -> bool:
        """Whether all that is ever assigned to a name or attribute are deques."""

    def many(self, node: cst.CSTNode) -> bool:
        """Whether a deque may hold, or a number or range counts, 10,000 things or more.

        A number that counts what a ring buffer holds does, unless its capacity is known to be smaller.
        """

    def long_list(self, call: cst.Call) -> bool:
        """Whether ``x.pop(0)`` or ``x.insert(0, y)`` works on a proven list that may hold a thousand things or more."""

    def polls(self) -> bool:
        """Of a ``while``: whether it only asks whether something has happened, at once again or after a tiny sleep."""

    def only_indexes(self, node: cst.CSTNode) -> frozenset[Kind]:
        """Of what a ``for`` goes over: what the loop's variable indexes, if it only indexes proven tensors and arrays.

        Empty: the variable is used for more, or not at all.
        """

    def hoarded(self, call: cst.Call) -> str:
        """Of ``self.x.append(y)``, the list as source if nothing in the project ever empties, trims or bounds it.

        Empty too where objects of the class are built again and again, or the list is handed to unknown code.
        """

    def drawn_from(self, call: cst.Call) -> bool:
        """Of ``self.x.append(y)``, whether the object draws from that list or deque at random: a replay buffer."""

    def in_memory(self, node: cst.CSTNode) -> bool:
        """Whether a dataset only indexes what lies in memory: a ``TensorDataset``, or a class of the project."""

    def unsynchronised(self, call: cst.Call) -> str:
        """Of the second of two readings of a clock, as source the work on a device that nothing waits for; else empty.

        Both are read in one round of the same loops, and their difference is taken.
        """

    def warms_up(self, call: cst.Call) -> str:
        """Of a reading of a clock in a loop, what is compiled in the loop while the clock runs; else empty.

        The clock was started before the loop, and the project compiles whatever its settings say.
        """

    def unread(self, node: cst.CSTNode, index: int | None = None) -> bool:
        """Whether nobody reads the local name that a value is assigned to.

        ``index``: of a value that is unpacked, the name for that part of it.
        """

    def ran_before(self, call: cst.Call) -> int:
        """Of a call that runs a network, the row of an equal one in the same round that gave the same; 0: none.

        The input, the parameters and all other state are proven the same.
        """

    def repeated(self, node: cst.CSTNode) -> bool:
        """Whether an expression runs a network of which ``ran_before`` holds, or an equal run that comes after."""

    def runs_in_vain(self, call: cst.Call) -> int:
        """Of a call that runs a network, the row of a later ``if`` on a random number; 0: none.

        Only one way out of the ``if`` reads what the call gives.
        """

    def walks_tree(self) -> bool:
        """Of a ``while`` or a function that calls itself: whether it walks a binary tree that lies in an array."""

    def narrowed(self, call: cst.Call) -> int:
        """Of an array that an object keeps and fills, the row where rows of it become a float32 tensor; 0: none."""

    def weighs_values(self, call: cst.Call, scores: cst.BaseExpression) -> bool:
        """Of a softmax of ``scores`` whether it is attention: ``softmax(q @ k.T / scale) @ v``, its weights unused."""

    def steps_one(self, call: cst.Call) -> bool:
        """Whether a call in a loop steps one environment with an action that a network chose in the same round."""

    def updated_each_step(self, call: cst.Call) -> int:
        """Of a step of an environment in a loop, the row of a call there that runs a gradient update in each round.

        0 where updates are due at intervals or come in runs of several, and where they learn from the step just made.
        """

    def listed(self, call: cst.Call) -> str:
        """Of a random draw, as source the growing collection of the object that is listed for it anew; else empty."""

    def filled(self) -> str:
        """Of a ``for``, the tensor of one dimension that it fills with numbers one by one; else empty."""

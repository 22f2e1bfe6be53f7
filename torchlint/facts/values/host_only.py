"""Code that never leaves the CPU in a project that may.

Classes and functions whose device is the CPU, or that join what lies there with tensors of the host, what the workers
of a loader run, tasks of a cluster that get no accelerator, what runs networks that nothing moves, and what only these
call.
"""

from __future__ import annotations

import ast
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import methods
from torchlint.facts.code.graph import CallGraph, How
from torchlint.facts.code.model import AttributeStore, Bind, Scope
from torchlint.facts.code.naming import last_name, mentions_of, rightmost_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.relaying import runs_without_accelerator
from torchlint.facts.code.room import roomy
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.values.devices import DEVICE, is_used
from torchlint.facts.values.meetings import Meetings, is_read_out, stem_of
from torchlint.facts.values.signatures import device_of
from torchlint.facts.values.unmoved import Unmoved
from torchlint.facts.values.values import Values
from torchlint.late import dataclass, regex
from torchlint.rule import Device

_SETTINGS = frozenset({"self", "cls", "args", "cfg", "config", "opt", "torch"})
_ACCELERATORS = (b"cuda", b"gpu", b"accelerator")
_ACCELERATOR = regex("|".join(word.decode() for word in _ACCELERATORS))


@dataclass(eq=False, slots=True)
class HostOnly(Fact):
    """Answers whether a function provably runs on the CPU alone."""

    project: Project
    graph: CallGraph
    values: Values
    heat: Heat
    unmoved: Unmoved
    _classes: dict[Scope, bool] = field(default_factory=dict)
    _accelerated: dict[Scope, bool] = field(default_factory=dict)
    _functions: dict[Scope, bool] = field(default_factory=dict)
    _meetings: Meetings = field(init=False)

    def __post_init__(self) -> None:
        self._meetings = Meetings(self.project, self.values.of)

    def is_host_only(self, function: Scope) -> bool:
        """Return whether code runs on the host only.

        Its class names the CPU and no other device, a loader or a process without accelerator runs it, the networks
        that it runs are there, arrays share the memory of what they give, or only such code calls it.
        """
        if function not in self._functions:
            self._functions[function] = False  # of itself, a function that calls itself proves nothing
            own = self._of_class(function) or self._of_loader(function) or self._of_name(function)
            own = own or self._of_task(function)
            networks = self.unmoved.runs_only(function) or self._shares_memory(function)
            self._functions[function] = own or networks or self._of_callers(function)
        return self._functions[function]

    def _of_name(self, function: Scope) -> bool:
        """Whether a function calls the CPU its device, ``device = torch.device("cpu")``, and names no accelerator."""
        names = [name for name in function.bindings if DEVICE.match(name) and _is_read(function, name)]
        named = [each for name in names for each in function.bindings[name]]
        if (
            function.kind != "function"
            or not named
            or any(each.how is not Bind.ASSIGN or each.path or each.value is None for each in named)
        ):
            return False
        places = {device_of(self.values.of(function.file, each.value)) for each in named if each.value is not None}
        literal = all(_is_written_out(each.value) for each in named)
        return literal and places == {Device.CPU} and not self._names_accelerator(function)

    def _shares_memory(self, function: Scope) -> bool:
        """Whether arrays share the memory of what a network gives in hot code, in a file that names no device.

        On an accelerator ``net(x).detach().numpy()`` raises. What has to be detached comes from a network.
        """
        facts = function.file
        read = (each for each in self._meetings.of(function) if is_read_out(facts, each))
        return not self.unmoved.moves(facts) and any(
            self.unmoved.is_given_by_network(facts, stem_of(each), rightmost_name(each) == "detach")
            and not self.heat.seldom(facts, each)
            for each in read
        )

    def _of_loader(self, function: Scope) -> bool:
        """Whether the workers of a loader run a function, which nothing moves to an accelerator."""
        entry = self.heat.roots.protocols.get(function)
        return entry is not None and entry.host and not self._moves(function)

    def _of_task(self, function: Scope) -> bool:
        """Whether a function runs in a process that has no accelerator, and only there."""
        if function.kind != "function" or function.method_of is not None:
            return False
        calls = (node for _, node in self.graph.places(function) if isinstance(node, ast.Call))
        return runs_without_accelerator(self.project, function, calls)

    @roomy
    def _of_callers(self, function: Scope) -> bool:
        callers, runs = self.graph.callers.get(function, ()), self.graph.runs.get(function, ())
        if function.method_of is not None and (function.name in self.graph.unlinked or self._moves(function)):
            return False  # someone else may call it
        drawn = all(run.how is How.ITEMS for run in runs)
        if not callers or not drawn or any(caller.call in self.graph.weak for caller in callers):
            return False
        homes = {facts.scope_of(node).function for facts, node in self.graph.places(function)} - {function}
        return bool(homes) and all(self.is_host_only(home) for home in homes)

    def _of_class(self, function: Scope) -> bool:
        owner = function.owner
        if owner is None:
            return False
        if owner not in self._classes:
            family = list(self.project.family(owner.dotted))
            naming = [(cls, *named) for cls in family for named in cls.stores.items() if DEVICE.match(named[0])]
            devices = {device_of(self.values.attribute(owner.dotted, name)) for _, name, _ in naming}
            moves = any(self._names_accelerator(cls) for cls in {owner, *(cls for cls, _, _ in naming)})
            given = any(self._may_be_given(store) for _, _, stores in naming for store in stores)
            self._classes[owner] = (devices == {Device.CPU} and not moves and not given) or self._meets_host(owner)
        return self._classes[owner]

    def _meets_host(self, owner: Scope) -> bool:
        """Whether hot code of a class joins what it makes on its own device with what it makes on the host.

        On an accelerator this raises, so objects of the class have the host as their device.
        """
        own = (method for cls in self.project.family(owner.dotted) for method in methods(cls))
        every = (each for each in own if self.project.implementations(owner.dotted, each.name) == [each])
        return any(self._is_own(method, met) for method in every for met in self._meetings.of(method))

    def _is_own(self, method: Scope, met: ast.expr) -> bool:
        """Whether a tensor lies on the device of the object, in code that runs often."""
        device = self._meetings.device_of(method.file, met)
        if not isinstance(device, ast.Attribute) or not DEVICE.match(device.attr):
            return False
        return method.file.own_object(device.value) is method and not self.heat.seldom(method.file, met)

    def _may_be_given(self, store: AttributeStore) -> bool:
        """Whether an attribute is a parameter, the CPU by default, of a function of which no call is seen."""
        value = store.binding.value
        given = self.project.reaching(store.scope.file, value).parameter if value is not None else None
        return given is not None and not any(True for _ in self.graph.arguments(given.scope, given.target))

    def _moves(self, function: Scope) -> bool:
        """Whether a function or its class names an accelerator, or a device of its own: ``x.to(self.device)``."""
        return self._names_accelerator(function.method_of or function) or any(map(_is_device, walk(function.node)))

    def _names_accelerator(self, scope: Scope) -> bool:
        """Whether the code of a class or function may name an accelerator."""
        if scope not in self._accelerated:
            self._accelerated[scope] = _names_accelerator(scope)
        return self._accelerated[scope]


def _is_read(function: Scope, name: str) -> bool:
    return any(isinstance(each.ctx, ast.Load) for each in mentions_of(function.file, function.node, name))


def _is_written_out(node: ast.expr | None) -> bool:
    """Whether a device is a text, or made of one."""
    made = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 else node
    return isinstance(made, ast.Constant)


def _is_device(node: ast.AST) -> bool:
    """Whether a node is a device of a program's own: ``device``, or ``self.device``."""
    match node:
        case ast.Name(id=name):
            return bool(DEVICE.match(name))
        case ast.Attribute(value=ast.Name(id=holder), attr=name):
            return holder in _SETTINGS and bool(DEVICE.match(name))
    return False


def _names_accelerator(cls: Scope) -> bool:
    """Whether a name or a text in the code of a class may mean an accelerator; comments and docstrings do not count."""
    if not any(word in cls.file.source.utf8 for word in _ACCELERATORS):
        return False
    for node in walk(cls.node):
        if isinstance(node, ast.Constant):
            word = node.value if isinstance(node.value, str) and is_used(cls.file, node) else ""
        else:
            word = last_name(node)
        if word and _ACCELERATOR.search(word):
            return True
    return False

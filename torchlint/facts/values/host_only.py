"""Code that never leaves the CPU in a project that may: classes whose device is the CPU, and what only they call."""

from __future__ import annotations

import ast
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.room import roomy
from torchlint.facts.code.tree import walk
from torchlint.facts.values.devices import is_used
from torchlint.facts.values.signatures import device_of
from torchlint.facts.values.values import Values
from torchlint.late import dataclass, regex
from torchlint.rule import Device

_DEVICE = regex(r"_*device_*$")
_ACCELERATOR = regex(r"cuda|gpu|accelerator")


@dataclass(eq=False, slots=True)
class HostOnly(Fact):
    """Answers whether a function provably runs on the CPU alone."""

    project: Project
    graph: CallGraph
    values: Values
    _classes: dict[Scope, bool] = field(default_factory=dict)
    _functions: dict[Scope, bool] = field(default_factory=dict)

    def is_host_only(self, function: Scope) -> bool:
        """Whether a method's class names the CPU as its device and no other, or all known callers are such methods."""
        if function not in self._functions:
            self._functions[function] = False  # of itself, a function that calls itself proves nothing
            self._functions[function] = self._of_class(function) or self._of_callers(function)
        return self._functions[function]

    @roomy
    def _of_callers(self, function: Scope) -> bool:
        callers = self.graph.callers.get(function, ()) if function.owner is None else ()
        if not callers or any(caller.call in self.graph.weak for caller in callers):
            return False
        homes = {caller.facts.scope_of(caller.call).function for caller in callers} - {function}
        return bool(homes) and all(self.is_host_only(home) for home in homes)

    def _of_class(self, function: Scope) -> bool:
        owner = function.owner
        if owner is None:
            return False
        if owner not in self._classes:
            family = list(self.project.family(owner.dotted))
            naming = [(cls, name) for cls in family for name in cls.stores if _DEVICE.match(name)]
            devices = {device_of(self.values.attribute(owner.dotted, name)) for _, name in naming}
            moves = any(_names_accelerator(cls) for cls in {owner, *(cls for cls, _ in naming)})
            self._classes[owner] = devices == {Device.CPU} and not moves
        return self._classes[owner]


def _names_accelerator(cls: Scope) -> bool:
    """Whether a name or a text in the code of a class may mean an accelerator; comments and docstrings do not count."""
    for node in walk(cls.node):
        if isinstance(node, ast.Constant):
            word = node.value if isinstance(node.value, str) and is_used(cls.file, node) else ""
        else:
            word = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if word and _ACCELERATOR.search(word):
            return True
    return False

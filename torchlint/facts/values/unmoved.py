"""Networks that stay on the CPU in a project that moves others: actors that make a network of their own."""

from __future__ import annotations

import ast
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.autograd.origins import Origins, Tracer
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.values.devices import DEVICE, Devices
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.models import method_names
from torchlint.rule import UNKNOWN, Kind

# With one of these, new modules lie on another device than the CPU.
_DEFAULTS = (b"set_default_device", b"set_default_tensor_type")
_MOVES = method_names("torch.Tensor", moves=("device", "given", "host"))


@dataclass(eq=False, slots=True)
class Unmoved(Fact):
    """Answers whether the networks that a function runs are made, kept and run by code that names no accelerator.

    What moves a module mentions it. So a network is on the CPU if no file that names a device makes it, runs it or
    mentions it.
    """

    project: Project
    graph: CallGraph
    values: Values
    devices: Devices
    tracer: Tracer
    _moving: dict[FileFacts, bool] = field(default_factory=dict)
    _mentioned: dict[frozenset[str], Origins] = field(default_factory=dict)
    _defaults: dict[frozenset[str], bool] = field(default_factory=dict)

    def runs_only(self, function: Scope) -> bool:
        """Return whether a function runs networks, and all of them stay on the CPU."""
        facts, owner = function.file, function.owner
        if owner is not None and self.project.is_module(owner.dotted):
            return False  # whoever holds the object moves it with all its parts
        if self.moves(facts) or self._has_default(facts):
            return False
        run = [network for call in function.calls if (network := self._network(facts, call)) is not None]
        return bool(run) and all(self._stays(facts, each) for each in run)

    def is_given_by_network(self, facts: FileFacts, node: ast.expr, detached: bool) -> bool:
        """Return whether a network gives a tensor: ``net(x)``, a name for it, or for a part of it.

        Of what is ``detached``, a call of something that is not seen counts, unless it is one of a library.
        """
        parts = self.project.reaching(facts, node).parts
        given = [node] if isinstance(node, ast.Call) else [value for value, _ in parts]
        return bool(given) and all(
            isinstance(each, ast.Call)
            and (self._network(facts, each) is not None or (detached and self._is_unseen(facts, each)))
            for each in given
        )

    def _is_unseen(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether nothing is known of what a call gives."""
        unknown = not self.graph.sure(call) and self.values.of(facts, call) == UNKNOWN
        return unknown and last_name(call.func) not in _MOVES

    def moves(self, facts: FileFacts) -> bool:
        """Return whether code of a file names an accelerator, or a device, which whoever calls it may choose."""
        if facts not in self._moving:
            self._moving[facts] = self.devices.file_leaves(facts) or any(map(_names_device, facts.parent))
        return self._moving[facts]

    def _has_default(self, facts: FileFacts) -> bool:
        """Whether a connected file may say where new modules lie."""
        group = self.graph.groups[facts.path]
        if group not in self._defaults:
            texts = [self.project.files[path].source.utf8 for path in group]
            self._defaults[group] = any(word in text for text in texts for word in _DEFAULTS)
        return self._defaults[group]

    def _network(self, facts: FileFacts, call: ast.Call) -> ast.expr | None:
        """The module that a call runs: ``self.net`` of ``self.net(x)`` and of ``self.net.act(x)``."""
        forms = [call.func, call.func.value] if isinstance(call.func, ast.Attribute) else [call.func]
        return next((each for each in forms if self._is_module(facts, each)), None)

    def _is_module(self, facts: FileFacts, node: ast.expr) -> bool:
        return self.values.of(facts, node).kind is Kind.MODULE

    def _stays(self, facts: FileFacts, network: ast.expr) -> bool:
        """Whether all that a network may be was made by constructors of the project, and no code moves it."""
        origins = self.tracer.of(facts, network)
        made = [each for origin in origins for each in self.tracer.made(origin)]
        calls = [(file, each) for file, each in made if isinstance(each, ast.Call)]
        names = all(each is not None and isinstance(each, (ast.Call, ast.Name, ast.Attribute)) for _, each in made)
        return (
            bool(calls)
            and names
            and all(self._is_made_here(file, call) for file, call in calls)
            and origins.isdisjoint(self._of_others(facts))
        )

    def _is_made_here(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a call makes a module of the project, on the CPU."""
        made = self.values.of(facts, call)
        if made.kind is not Kind.MODULE or made.name not in self.project.classes or self.moves(facts):
            return False
        makers = (part for cls in self.project.family(made.name) for part in cls.inner if part.name == "__init__")
        parts = ((part.file, list(walk(part.node))) for part in makers)
        return not any(self.devices.leaves(file, nodes) or any(map(_names_device, nodes)) for file, nodes in parts)

    def _of_others(self, facts: FileFacts) -> Origins:
        """The modules that connected files mention which may use an accelerator."""
        group = self.graph.groups[facts.path]
        if group not in self._mentioned:
            files = [self.project.files[path] for path in sorted(group)]
            moving = [file for file in files if self.moves(file)]
            self._mentioned[group] = frozenset().union(*(self._modules(file) for file in moving))
        return self._mentioned[group]

    def _modules(self, facts: FileFacts) -> Origins:
        nodes: tuple[ast.Name | ast.Attribute, ...] = (*facts.nodes(ast.Name), *facts.nodes(ast.Attribute))
        read = (node for node in nodes if isinstance(node.ctx, ast.Load) and self._is_module(facts, node))
        return frozenset().union(*(self.tracer.of(facts, node) for node in read))


def _names_device(node: ast.AST) -> bool:
    """Whether a node is a device of whatever holds it, which another setting may make an accelerator."""
    return isinstance(node, (ast.Name, ast.Attribute)) and bool(DEVICE.match(last_name(node).lower()))

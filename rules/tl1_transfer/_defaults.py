"""Whether a program leaves the defaults of torch as they are: what TL101, TL104 and TL110 ask about a site."""

from __future__ import annotations

import ast
from dataclasses import field

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.exporting import of_library
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.linking import is_standard
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind
from torchlint.rule.convert import legacy_device
from torchlint.rule.site import Site

_SETTING = (b"set_default_tensor_type", b"set_default_dtype", b"set_default_device")
# Modules besides torch, of which no context says where tensors are made.
_HARMLESS = frozenset({"numpy", "tqdm"})


@dataclass(eq=False, slots=True)
class TensorDefaults(Fact):
    """Answers whether any file of a project mentions setting a default dtype, device or type of tensors."""

    project: Project
    graph: CallGraph
    values: Values
    _unset: bool | None = field(default=None)
    _without_devices: dict[frozenset[str], bool] = field(default_factory=dict)

    def unset(self) -> bool:
        """Return whether no file mentions setting a default dtype, device or type of tensors."""
        if self._unset is None:
            texts = (facts.source.utf8 for facts in self.project.files.values())
            self._unset = not any(word in text for text in texts for word in _SETTING)
        return self._unset

    def closed(self, scope: Scope) -> bool:
        """Return whether the defaults are unset, and the code is not a library's, which unseen programs may use."""
        return self.unset() and not of_library(self.project, scope)

    def on_cpu(self, scope: Scope) -> bool:
        """Return whether also no ``with torch.device(...)`` of a connected file decides where new tensors are made."""
        group = self.graph.groups[scope.file.path]
        if group not in self._without_devices:
            entering = (self._enters_devices(self.project.files[path]) for path in group)
            self._without_devices[group] = not any(entering)
        return self._without_devices[group] and self.closed(scope)

    def _enters_devices(self, facts: FileFacts) -> bool:
        """Whether a ``with`` of a file may enter a device."""
        entered = (
            item.context_expr
            for stmt in facts.compounds
            if isinstance(stmt, (ast.With, ast.AsyncWith))
            for item in stmt.items
        )
        return not all(self._is_no_device(facts, node) for node in entered)

    def _is_no_device(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression is proven to be something else than a device."""
        kind = self.values.of(facts, node).kind
        if kind is not Kind.UNKNOWN:
            return kind is not Kind.DEVICE
        name = (self.project.qualified(facts, node.func) or "") if isinstance(node, ast.Call) else ""
        module = name.partition(".")[0]
        return (module == "torch" and name != "torch.device") or module in _HARMLESS or is_standard(module)


def defaults_unset(site: Site) -> bool:
    """Return whether no file of the project mentions setting a default dtype, device or type of tensors."""
    return site.fact(TensorDefaults).unset()


def defaults_kept(site: Site) -> bool:
    """Return whether new tensors are proven to be of 32-bit floats on the CPU where nothing else is said."""
    return site.fact(TensorDefaults).closed(site.file.scope_of(site.twin))


def home_of(site: Site, name: str) -> cst.BaseExpression | None:
    """Return the device that a legacy constructor makes its tensors on.

    ``None`` means that it is proven to be that of new tensors.
    """
    cuda = name.startswith("torch.cuda.")
    return None if not cuda and site.fact(TensorDefaults).on_cpu(site.file.scope_of(site.twin)) else legacy_device(name)

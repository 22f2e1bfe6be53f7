"""Whether modules run other code in a pass than their classes say: hooks, replaced forwards, rewritten weights."""

from __future__ import annotations

import ast
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.values.values import Values
from torchlint.late import dataclass, regex
from torchlint.rule import Kind

_REWRITING = frozenset({"weight_norm", "spectral_norm", "remove_weight_norm", "remove_spectral_norm"})
# Names of what makes a module run other code in a pass than its class says.
_HOOKING = regex(
    r"register_(module_)?forward(_pre)?_hook$|register_parametrization$|_(global_)?forward(_pre)?_hooks$|_modules$"
    r"|remove_parametrizations$"
)
_MENTIONED = regex(rb"forward(_pre)?_hook|_parametrization|_modules")
_REPLACING = frozenset({"forward", "__call__", "_call_impl", "__class__"})
# What of torch layers run: settings such as those of ``torch.backends`` may be stored.
_CODE = regex(r"torch$|torch\.(Tensor|functional|nn)\b")


@dataclass(eq=False, slots=True)
class Replaced(Fact):
    """Answers whether a project changes what modules run, for all files that imports connect."""

    project: Project
    graph: CallGraph
    values: Values
    _known: dict[frozenset[str], bool] = field(default_factory=dict)

    def near(self, facts: FileFacts) -> bool:
        """Return whether a connected file replaces code of modules, or sets weights during a pass."""
        group = self.graph.groups[facts.path]
        if group not in self._known:
            files = [self.project.files[path] for path in sorted(group)]
            calls = ((file, call) for file in files for scope in file.scopes for call in scope.calls)
            self._known[group] = any(self._replaces(file) for file in files) or any(
                self._hooks(file, call) for file, call in calls
            )
        return self._known[group]

    def _replaces(self, facts: FileFacts) -> bool:
        """Whether a file reaches for what a module runs, stores another ``forward``, or a function in torch itself."""
        classes = (scope for scope in facts.scopes if not _REPLACING.isdisjoint(scope.stores))
        if not _REPLACING.isdisjoint(facts.outside) or any(self.project.is_module(cls.dotted) for cls in classes):
            return True
        owners = (owner for stores in facts.outside.values() for owner, _ in stores)
        if any(_CODE.match(self.project.qualified(facts, owner) or "") for owner in owners):
            return True
        if _MENTIONED.search(facts.source.utf8) is None:
            return False
        return any(
            _HOOKING.match(part.attr) and self._may_be_module(facts, part.value) for part in facts.nodes(ast.Attribute)
        ) or any(self._is_asked_for(facts, part) for part in facts.nodes(ast.Constant))

    def _may_be_module(self, facts: FileFacts, node: ast.expr) -> bool:
        return self.values.of(facts, node).kind is not Kind.INSTANCE

    @staticmethod
    def _is_asked_for(facts: FileFacts, text: ast.Constant) -> bool:
        """Whether an attribute is got by its name in quotes, and it is one that registers a hook."""
        named = isinstance(text.value, str) and _HOOKING.match(text.value)
        return bool(named) and isinstance(facts.parent.get(text), ast.Call)

    def _hooks(self, facts: FileFacts, call: ast.Call) -> bool:
        """Whether a call rewrites weights, or sets an attribute that may be a part of a module by name."""
        name = self.project.qualified(facts, call.func) or ""
        if name == "builtins.setattr" and len(call.args) == 3:
            kinds = {self.values.of(facts, node).kind for node in (call.args[0], call.args[2])}
            data = self.values.of(facts, call.args[2]).is_data
            return not data and Kind.MODULE in kinds
        if not name.startswith("torch.nn.utils."):
            return False
        return name.startswith(("torch.nn.utils.prune.", "torch.nn.utils.parametri")) or (
            name.count(".") == 3 and name.rpartition(".")[2] in _REWRITING
        )

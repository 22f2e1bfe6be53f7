"""Classes of a project that hand ``validate_args`` on to the distribution that they derive from: what TL205 asks."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import field

from torchlint.facts.code.callers import Caller, passed
from torchlint.facts.code.model import Bind, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import is_none
from torchlint.facts.finders import Finder
from torchlint.facts.values.signatures import starred
from torchlint.late import dataclass
from torchlint.rule.site import Site

from ._distribution_validation import BEFORE

_OPTION = "validate_args"


@dataclass(eq=False, slots=True)
class DistributionClasses(Finder):
    """Finds calls that build such a distribution, ``def __init__(self, logits, validate_args=None)``, without it."""

    project: Project
    _bases: dict[str, str] = field(default_factory=dict)

    def sites(self, file: FileFacts, wanted: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
        """Yield the calls."""
        calls = (call for scope in file.scopes for call in scope.calls)
        return (call for call in calls if self.built(file, call) and wanted(call))

    def built(self, facts: FileFacts, call: ast.Call) -> str:
        """Return the class of torch whose constructor a call runs with the default; empty for any other call."""
        name = self.project.qualified(facts, call.func) or ""
        if name not in self.project.classes:
            return ""
        init = next(iter(self.project.implementations(name, "__init__")), None)
        if init is None or starred(call) or passed(init, _OPTION, Caller(facts, call, 1)) is not None:
            return ""
        if init.dotted not in self._bases:
            self._bases[init.dotted] = self._base(init)
        return self._bases[init.dotted]

    def _base(self, init: Scope) -> str:
        """The class of torch to whose constructor all calls in another one hand on the option, ``None`` by default."""
        bound = init.bindings.get(_OPTION, ())
        if len(bound) != 1 or bound[0].how is not Bind.PARAM or bound[0].value is None or not is_none(bound[0].value):
            return ""
        built = [(call, self.project.constructor(init.file, call.func) or "") for call in init.calls]
        built = [(call, name) for call, name in built if name in BEFORE]
        return built[0][1] if built and all(_hands_on(call, BEFORE[name]) for call, name in built) else ""


def _hands_on(call: ast.Call, before: int) -> bool:
    """Whether a call gives the option as it was given itself."""
    named = {word.arg: word.value for word in call.keywords}
    given = named.get(_OPTION, call.args[before] if len(call.args) > before else None)
    return isinstance(given, ast.Name) and given.id == _OPTION


def of_own_class(site: Site) -> str:
    """Return the class of torch that a site builds through one of the project; empty for any other node."""
    return site.fact(DistributionClasses).built(site.file, site.twin) if isinstance(site.twin, ast.Call) else ""

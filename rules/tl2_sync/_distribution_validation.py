"""What TL205 asks about a site: which class it builds, and which programs build distributions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.closure import reached
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.naming import mentions_of
from torchlint.facts.code.nesting import awaits_error, main_block
from torchlint.facts.code.occurrences import Occurrences
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.hotness.switches import Switches
from torchlint.late import dataclass
from torchlint.rule import Frequency, InFile
from torchlint.rule.site import Site

# Classes of torch.distributions that constrain their arguments: module, name, and how many positional arguments come
# before ``validate_args``.
_CLASSES = (
    *(("bernoulli", "Bernoulli", 2), ("beta", "Beta", 2), ("binomial", "Binomial", 3), ("cauchy", "Cauchy", 2)),
    *(("categorical", "Categorical", 2), ("chi2", "Chi2", 1)),
    *(("continuous_bernoulli", "ContinuousBernoulli", 3), ("dirichlet", "Dirichlet", 1)),
    *(("exponential", "Exponential", 1), ("fishersnedecor", "FisherSnedecor", 2), ("gamma", "Gamma", 2)),
    *(("geometric", "Geometric", 2), ("gumbel", "Gumbel", 2), ("half_cauchy", "HalfCauchy", 1)),
    *(("half_normal", "HalfNormal", 1), ("inverse_gamma", "InverseGamma", 2), ("kumaraswamy", "Kumaraswamy", 2)),
    *(("laplace", "Laplace", 2), ("log_normal", "LogNormal", 2), ("logistic_normal", "LogisticNormal", 2)),
    *(("lowrank_multivariate_normal", "LowRankMultivariateNormal", 3), ("multinomial", "Multinomial", 3)),
    *(("multivariate_normal", "MultivariateNormal", 4), ("negative_binomial", "NegativeBinomial", 3)),
    *(("normal", "Normal", 2), ("one_hot_categorical", "OneHotCategorical", 2), ("pareto", "Pareto", 2)),
    *(("one_hot_categorical", "OneHotCategoricalStraightThrough", 2), ("poisson", "Poisson", 1)),
    *(("relaxed_bernoulli", "RelaxedBernoulli", 3), ("relaxed_categorical", "RelaxedOneHotCategorical", 3)),
    *(("studentT", "StudentT", 3), ("uniform", "Uniform", 2), ("von_mises", "VonMises", 2), ("weibull", "Weibull", 2)),
)
# Those that are made of others have no arguments to constrain and test the values that they are asked for; one that
# only counts dimensions differently (``Independent``) leaves that to what it holds.
_COMPOSED = (
    ("mixture_same_family", "MixtureSameFamily", 2),
    ("transformed_distribution", "TransformedDistribution", 2),
)
_ASKED = frozenset({"log_prob", "cdf"})
_DRAWING = frozenset({"sample", "rsample", "mean", "variance", "stddev"})


def _spelled(classes: Iterable[tuple[str, str, int]]) -> Iterator[tuple[str, int]]:
    for module, name, before in classes:
        yield f"torch.distributions.{name}", before
        yield f"torch.distributions.{module}.{name}", before


BEFORE = dict(_spelled((*_CLASSES, *_COMPOSED)))
"""Qualified names of the classes, each with the number of positional arguments before ``validate_args``."""
_TESTS_VALUES_ALONE = frozenset(dict(_spelled(_COMPOSED)))

_OWNERS = ("torch.distributions.Distribution", "torch.distributions.distribution.Distribution", *BEFORE)
_ERROR = "ValueError"
VALIDATING = (1, 8)
"""The first torch that validates by default."""
_SETTER = "set_default_validate_args"


def _is_only_drawn_from(facts: FileFacts, call: ast.expr) -> bool:
    """Whether a distribution has a name of its own, or none, and nothing but samples and moments is asked of it."""
    match facts.parent.get(call):
        case ast.Attribute(attr=asked):
            return asked in _DRAWING
        case ast.Assign(targets=[ast.Name(id=name)]) if (function := facts.scope_of(call).function).kind == "function":
            reads = [each for each in mentions_of(facts, function.node, name) if isinstance(each.ctx, ast.Load)]
            return bool(reads) and all(getattr(facts.parent[each], "attr", "") in _DRAWING for each in reads)
    return False


def constructor(site: Site, call: cst.Call) -> str | None:
    """Return the class whose ``__init__`` a call runs, by qualified name; of other calls the name of the function.

    ``super().__init__()`` runs that of a base, and so does the name of a project class that inherits it. Of several
    classes that take the same arguments, of which the program chooses one, it is the first.
    """
    chosen = site.names.alternatives(call.func)
    if chosen and len({BEFORE.get(each) for each in chosen}) == 1:
        return chosen[0]
    twin = site.expression(call)
    return (site.fact(Project).constructor(site.file, twin.func) or None) if isinstance(twin, ast.Call) else None


def wants_validation(site: Site) -> bool:
    """Return whether the node is in a ``try`` with a handler for what validation raises."""
    return awaits_error(site.file, site.twin, _ERROR)


@dataclass(frozen=True, slots=True)
class ProgramEntry:
    """Where a program begins that builds distributions: its file, and the statement that runs before all others."""

    file: FileFacts
    first: ast.stmt

    @property
    def is_free(self) -> bool:
        """Whether the default can be set here.

        A notebook has no such place. A file that sets up the environment must not import torch earlier than it does.
        """
        taken = self._torch is None and ("torch" in self.file.top.bindings or _sets_up(self.file))
        return self.file.path.endswith(".py") and not taken

    def default_off(self) -> InFile:
        """Return the row that sets the default, and the import that it needs."""
        text = f"{self._torch or 'torch'}.distributions.Distribution.{_SETTER}(False)"
        return InFile(self.file.path, imports=() if self._torch else ("torch",), ahead=((self.first, text),))

    @property
    def _torch(self) -> str | None:
        """The name that the file has for torch at its top."""
        bound = self.file.top.bindings.items()
        return next((name for name, found in bound if found and all(each.target == "torch" for each in found)), None)


@dataclass(eq=False, slots=True)
class ProgramEntries(Fact):
    """Finds the programs of a project: the files that are run, and what they import.

    A file is run where it has an ``if __name__ == "__main__":`` at its top. What it imports inside of functions counts,
    too: a call that sets a default of torch holds for all code of the process.
    """

    project: Project
    heat: Heat
    occurrences: Occurrences
    switches: Switches
    _imported: dict[str, frozenset[str]] = field(default_factory=dict)
    _run: dict[str, frozenset[Scope]] = field(default_factory=dict)
    _entries: list[ProgramEntry] | None = field(default=None)
    _building: dict[str, int] | None = field(default=None)
    _asks: bool | None = field(default=None)
    _wanting: dict[str, bool] = field(default_factory=dict)

    def validates(self, facts: FileFacts) -> bool:
        """Return whether no program that runs a file sets the default to anything but a plain ``True``.

        A call counts for all files where it is not known which program runs it, or which one runs the file. Nothing is
        validated by default in a program that has torch compile something: the first compilation sets the default to
        ``False``.
        """
        mine = {entry.file.path for entry in self.running(facts)}
        if self._compiled(facts, mine):
            return False
        for file, call in (found for owner in _OWNERS for found in self.occurrences.calls(f"{owner}.{_SETTER}")):
            theirs = {entry.file.path for entry in self.running(file)}
            if not _leaves_on(call) and (not mine or not theirs or mine & theirs):
                return False
        return True

    def _compiled(self, facts: FileFacts, mine: set[str]) -> bool:
        """Whether a program that runs a file, or one that may, compiles something whatever its settings say."""
        for file in filter(self.switches.compiles, self.project.files.values()):
            theirs = {entry.file.path for entry in self.running(file)}
            if mine & theirs or (not (mine and theirs) and file.path in self.project.groups[facts.path]):
                return True
        return False

    def tests(self, facts: FileFacts, call: ast.expr | None, built: str) -> bool:
        """Return whether a distribution of a class tests anything: its arguments, or values that hot code asks for."""
        if built not in _TESTS_VALUES_ALONE:
            return built in BEFORE
        if call is not None and _is_only_drawn_from(facts, call):
            return False
        if self._asks is None:
            asking = (found for name in _ASKED for found in self.occurrences.methods(name))
            self._asks = any(self.heat.frequency(facts, call) >= Frequency.UPDATE for facts, call in asking)
        return self._asks

    def running(self, facts: FileFacts) -> list[ProgramEntry]:
        """Return the beginnings of the programs that import a file, or that it is itself."""
        return [entry for entry in self._programs() if facts.path in self._reached(entry.file)]

    def leading_to(self, facts: FileFacts) -> list[ProgramEntry]:
        """Return the beginnings of the programs that are known to call a function of a file, at any depth.

        One that only imports it, such as a script that draws plots, is none of them.
        """
        own = {scope.function for scope in facts.scopes}
        return [entry for entry in self.running(facts) if not own.isdisjoint(self._called(entry.file))]

    def _called(self, facts: FileFacts) -> frozenset[Scope]:
        """The functions that the code of a file may run, its own among them."""
        if facts.path not in self._run:
            own = [scope.function for scope in facts.scopes]
            self._run[facts.path] = frozenset(reached(own, self.heat.graph.called_by))
        return self._run[facts.path]

    def built(self, entries: Iterable[ProgramEntry]) -> int:
        """Return how many hot calls in these programs build a distribution that validates by default."""
        if self._building is None:
            self._building = {path: self._count(facts) for path, facts in self.project.files.items()}
        paths = frozenset[str]().union(*(self._reached(entry.file) for entry in entries))
        return sum(self._building[path] for path in paths)

    def excepts(self, entries: Iterable[ProgramEntry]) -> bool:
        """Return whether validation is wanted in these programs: a comment names the rule, or its error is caught."""
        paths = frozenset[str]().union(*(self._reached(entry.file) for entry in entries))
        return any(self._wants(self.project.files[path]) for path in paths)

    def _programs(self) -> list[ProgramEntry]:
        if self._entries is None:
            blocks = ((facts, main_block(facts)) for _, facts in sorted(self.project.files.items()))
            self._entries = [ProgramEntry(facts, block.body[0]) for facts, block in blocks if block is not None]
        return self._entries

    def _reached(self, facts: FileFacts) -> frozenset[str]:
        """The paths of a file and of all that it imports, also through others."""
        if facts.path not in self._imported:
            self._imported[facts.path] = frozenset(file.path for file in reached([facts], self._imports))
        return self._imported[facts.path]

    def _imports(self, facts: FileFacts) -> Iterator[FileFacts]:
        """The files of the project that a file imports."""
        found = (self.project.names.imported(facts.path, dotted) for dotted in facts.links)
        return (file for file in found if file is not None)

    def _wants(self, facts: FileFacts) -> bool:
        """Whether a file says that some validation is wanted."""
        if facts.path not in self._wanting:
            self._wanting[facts.path] = b"TL205" in facts.source.utf8 or self._catches(facts)
        return self._wanting[facts.path]

    def _catches(self, facts: FileFacts) -> bool:
        """Whether a file builds a distribution where it waits for what validation raises."""
        if _ERROR.encode() not in facts.source.utf8:
            return False
        calls = facts.nodes(ast.Call)
        return any(
            self.project.qualified(facts, call.func) in BEFORE and awaits_error(facts, call, _ERROR) for call in calls
        )

    def _count(self, facts: FileFacts) -> int:
        if b"torch" not in facts.source.utf8:
            return 0
        return sum(
            self.heat.frequency(facts, call) >= Frequency.UPDATE
            for scope in facts.scopes
            for call in scope.calls
            if self.tests(facts, call, built := self.project.constructor(facts, call.func) or "")
            and not _says(call, self.project.qualified(facts, call.func), built)
        )


def says(site: Site, call: cst.Call, built: str) -> bool:
    """Return whether a call that builds a distribution gives ``validate_args``."""
    twin = site.expression(call)
    return isinstance(twin, ast.Call) and _says(twin, site.names.of(call.func), built)


def _says(call: ast.Call, name: str | None, built: str) -> bool:
    """The same, by name or after the arguments that precede it; ``Normal.__init__(self, ...)`` has one more."""
    before = BEFORE[built] + (name or "").endswith(".__init__")
    return any(word.arg == "validate_args" for word in call.keywords) or len(call.args) > before


def _leaves_on(call: ast.Call) -> bool:
    match call.args:
        case [ast.Constant(value=True), *_]:
            return True
    return False


def _sets_up(file: FileFacts) -> bool:
    """Whether a file changes the environment of the process, which must come before torch is imported."""
    return any(isinstance(node, ast.Attribute) and node.attr == "environ" for node in walk(file.tree))

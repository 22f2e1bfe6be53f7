"""What a rule is made of: metadata, a trigger, a check, and examples that run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from torchlint.late import dataclass
from torchlint.rule.frequency import Frequency, Hop
from torchlint.rule.option import Option
from torchlint.rule.terms import Change, Level, RuleSet
from torchlint.rule.trigger import Trigger
from torchlint.rule.versions import ANY, Version

if TYPE_CHECKING:
    import ast

    import libcst as cst

    from torchlint.rule.site import Site
    from torchlint.rule.value import Kind


@dataclass(frozen=True, slots=True)
class InFile:
    """What a fix does to another file of the project; ``path`` is that of its facts, the rest as of ``Fix``."""

    path: str
    imports: tuple[str, ...] = ()
    elsewhere: tuple[tuple[ast.expr | ast.stmt, str], ...] = ()
    ahead: tuple[tuple[ast.stmt, str], ...] = ()
    behind: tuple[tuple[ast.stmt, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Fix:
    """A fix in terms of nodes; the engine turns it into text edits.

    Attributes:
        message: what it does, in the imperative.
        replace: pairs of a node of the statement and what takes its place: a node or source text.
        may_change: all it can change besides the time; empty: nothing.
        assumes: what could not be proven and must hold for the fix to be right (then it is never safe).
        imports: modules the new code needs and the file lacks, as ``numpy as np`` or ``os`` (ask
            ``Site.module_name`` first for the name a module already has).
        definitions: module-level statements that the new code needs, put after the imports once.
        setup: statements that the new code needs, put at the end of the enclosing class's own ``__init__``.
        decorators: expressions to put as decorators on the function that holds the site, innermost last.
        within: the header of a ``with`` statement (``torch.no_grad()``) to put around the site's statement.
        under: the condition of an ``if`` to put around the site's statement; ``replace`` is for where it cannot be.
        drops: whether the site's statement goes; ``replace`` is for where it cannot, as with a comment on its row.
        elsewhere: pairs of an expression in any statement of the file, as facts know it, and what takes its place: the
            source text of a name, a call, a display or anything else that binds as closely; or of a small statement.
        ahead, behind: pairs of a statement, as facts know it, and source text that goes before it or after it on rows
            of its own, as far indented.
        in_files: what it does to other files. All files of a fix are changed, or none.
        instead: the fix that is offered where this one is not accepted, or where one of ``in_files`` is not to be
            changed, because it was not asked for.
        less: it saves less than the figures of its report say, which are those of the fix that it stands behind; what
            ``--fix`` gains with it is not counted.
        torch, python: the oldest versions that understand the new code; it is not offered to projects for older ones.
        stated: it is offered only to projects that say which torch they run with.
    """

    message: str
    replace: tuple[tuple[cst.CSTNode, cst.CSTNode | str], ...]
    may_change: tuple[Change, ...] = ()
    assumes: str = ""
    imports: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()
    within: str = ""
    under: str = ""
    drops: bool = False
    elsewhere: tuple[tuple[ast.expr | ast.stmt, str], ...] = ()
    ahead: tuple[tuple[ast.stmt, str], ...] = ()
    behind: tuple[tuple[ast.stmt, str], ...] = ()
    in_files: tuple[InFile, ...] = ()
    instead: Fix | None = None
    less: bool = False
    torch: Version = ANY
    python: Version = ANY
    stated: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What ``check`` yields: the node the finding is about, one line of message, and a fix where there is one.

    ``shared`` is appended to the message when the rule reports more than once in the function; ``{count}`` in it
    becomes the number, ``{where}`` the word ``function`` or, at module level, ``file``. ``figure`` names the
    example whose figure fits the case, or several that differ in size alone, where the size of the code is not
    known; empty: the rule's first; ``none``: no figure fits. ``level`` overrides the rule's own, and so does
    ``torch``, the oldest version that it holds for. ``deprecated`` is the version from which on torch advises
    against what was found, or makes it slow: it is no finding in a project that allows older ones alone. ``flow``
    is the way by which the value comes to what the message says of its use, as ``site.flow.way`` gives it.
    ``apart``: it is about something else than what the rules find that this one yields to, so it stays beside them.
    """

    node: cst.CSTNode
    message: str
    fix: Fix | None = None
    shared: str = ""
    figure: str | tuple[str, ...] = ""
    level: Level | None = None
    torch: Version | None = None
    deprecated: Version = ANY
    flow: tuple[Hop, ...] = ()
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Input:
    """The proven kind of one input of an example, for the generator of test values.

    ``kind``, with ``dtype`` and ``shape`` as measured, and ``name`` of the variable. Other dtypes and shapes are tried,
    too. ``grad``: whether a tensor may ask for gradients; false where the rule demands a proof that it does not.
    """

    name: str
    kind: Kind
    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    grad: bool = True


@dataclass(frozen=True, slots=True)
class Example:
    """A small program with the smell: at once a test, the documentation's example, and a benchmark.

    Attributes:
        name: short, unique in the rule, e.g. ``observation-17``.
        source: a whole module that holds the smell in hot code.
        fixed: what the rule's own fix must make of ``source`` (all changes accepted). For a rule without a fix a
            hand-written better version; then ``by_hand`` is true.
        setup: statements run once in the module's namespace before timing; they may use ``inputs`` by name,
            ``torch``, ``np`` and ``device``.
        workload: the expression that is timed and whose value is compared.
        inputs: the inputs with their proven kinds.
        by_hand: ``fixed`` was written by hand.
        uninitialised: the workload gives memory that nothing wrote to (``torch.empty``), so its values mean nothing.
        runs: how often the workload does what the figure is given for.
        unit: what that is: a ``call`` of the code that is found, or what the code lies around or prepares, such as an
            ``update``; empty where the figure is a total that does not grow with the number of calls.
    """

    name: str
    source: str
    fixed: str
    setup: str
    workload: str
    inputs: tuple[Input, ...] = ()
    by_hand: bool = False
    uninitialised: bool = False
    runs: int = 1
    unit: str = "call"


class Rule:
    """Base of all rules. One file, one class; the docstring's headings become the documentation.

    Attributes:
        code: ``TL`` and three digits. name: of the smell, never of the cure. summary: one line.
        level: warning or note. set: when it runs. trigger: where to look. least: the least frequency that matters.
        yields_to: codes of rules that win over this one on the same expression.
        cuda_only: the gain exists on an accelerator only.
        about_memory: the smell costs memory, whatever it does to the time.
        torch: the oldest version of torch that has the better form; the rule is silent where a project says that it
            runs with an older one.
        may_change: everything that any of its fixes may change.
        kept: why it runs by default although no gain in time was measured, in words of the documentation's section
            "Measured"; empty: the gain was measured, or it is memory, or it is a note about an accelerator.
        exceptions: kinds of awkward inputs with which the fixed code does otherwise although no ``Change`` names how
            (``negative strides``), each with words that say so and that are in the documentation, too.
        options: what people may set of it; ``given`` holds what they set, and ``option.of(self.given)`` reads it.
        gate: words of which a file must hold one to be of interest (defaults to ``torch``).
        examples: programs that hold the smell.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    summary: ClassVar[str]
    level: ClassVar[Level] = Level.WARNING
    set: ClassVar[RuleSet] = RuleSet.DEFAULT
    trigger: ClassVar[Trigger]
    least: ClassVar[Frequency] = Frequency.UPDATE
    yields_to: ClassVar[tuple[str, ...]] = ()
    cuda_only: ClassVar[bool] = False
    about_memory: ClassVar[bool] = False
    torch: ClassVar[Version] = ANY
    fixable: ClassVar[bool] = False
    may_change: ClassVar[tuple[Change, ...]] = ()
    kept: ClassVar[str] = ""
    exceptions: ClassVar[Mapping[str, str]] = {}
    options: ClassVar[tuple[Option[Any], ...]] = ()
    gate: ClassVar[tuple[str, ...]] = ("torch",)
    examples: ClassVar[tuple[Example, ...]] = ()

    given: Mapping[str, object] = MappingProxyType({})

    def check(self, site: Site) -> Iterator[Report]:
        """Look at one site and report what is wrong there. Called on any node at all, it must not raise."""
        raise TypeError(f"{type(self).__name__} does not define check({site!r})")

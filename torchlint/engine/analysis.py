"""Everything known of a project for one run: its parsed files, linked, with values, hotness and escapes."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import field
from pathlib import Path

from torchlint.engine.ahead import NEWER, reads_newer
from torchlint.engine.limits import too_long_to_parse, too_much
from torchlint.facts.autograd.attention import Attention
from torchlint.facts.autograd.autograd import Autograd
from torchlint.facts.autograd.averages import Averages
from torchlint.facts.autograd.backward import Backwards
from torchlint.facts.autograd.beside import Beside
from torchlint.facts.autograd.makers import Makers
from torchlint.facts.autograd.members import Members
from torchlint.facts.autograd.networks import Networks
from torchlint.facts.autograd.switching import Switching
from torchlint.facts.autograd.ties import Ties
from torchlint.facts.code.collect import collect
from torchlint.facts.code.graph import CallGraph, call_graph
from torchlint.facts.code.idle import Idle
from torchlint.facts.code.importing import Importing
from torchlint.facts.code.linking import module_name
from torchlint.facts.code.mentions import Mentions
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project, link
from torchlint.facts.code.readers import Readers
from torchlint.facts.compiling.compiling import Compiling
from torchlint.facts.flow.again import Again
from torchlint.facts.flow.clocks import Clocks
from torchlint.facts.flow.flow import Flow
from torchlint.facts.hotness.covering import Covering
from torchlint.facts.hotness.hotness import Heat, heat
from torchlint.facts.hotness.observed import Observations
from torchlint.facts.hotness.roots import is_test
from torchlint.facts.hotness.switches import Switches
from torchlint.facts.loops.batching import Batching
from torchlint.facts.loops.elements import Elements
from torchlint.facts.loops.filling import Filling
from torchlint.facts.loops.growth import Growth
from torchlint.facts.loops.indexing import Indexing
from torchlint.facts.loops.loops import Loops
from torchlint.facts.loops.pacing import Pacing
from torchlint.facts.loops.regrowth import Regrowth
from torchlint.facts.loops.rows import Rows
from torchlint.facts.loops.waiting import Waiting
from torchlint.facts.state.constant import Constants
from torchlint.facts.state.contracts import Contracts
from torchlint.facts.state.effects import Sides
from torchlint.facts.state.enumerating import Enumerating
from torchlint.facts.state.escape import Escapes
from torchlint.facts.state.hoards import Hoards
from torchlint.facts.state.narrowing import Narrowing
from torchlint.facts.state.provenance import Provenance
from torchlint.facts.state.queues import Queues
from torchlint.facts.state.sealed import Sealed
from torchlint.facts.state.sequel import Sequel
from torchlint.facts.values.devices import Devices
from torchlint.facts.values.host_only import HostOnly
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Value
from torchlint.settings.model import Settings
from torchlint.sources.lines import LineTable
from torchlint.sources.suppress import marks
from torchlint.sources.text import Source

# Of a file that is too large to be read: how much is parsed, and how errors begin that no rest could mend.
_BEGINNING = 256_000
_LIMIT = "too many "


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A file that Python cannot read: the message, and where; ``too_much``: it could, but the file is too large."""

    message: str
    row: int = 1
    column: int = 1
    too_much: bool = False


@dataclass(eq=False, slots=True)
class Analysis:
    """The linked project and what answers questions about it."""

    settings: Settings
    project: Project
    graph: CallGraph
    values: Values
    heat: Heat
    constants: Constants
    escapes: Escapes
    sealed: Sealed
    flow: Flow
    readers: Readers
    networks: Networks
    autograd: Autograd
    members: Members
    beside: Beside
    switching: Switching
    backwards: Backwards
    provenance: Provenance
    sequel: Sequel
    loops: Loops
    growth: Growth
    regrowth: Regrowth
    queues: Queues
    hoards: Hoards
    waiting: Waiting
    indexing: Indexing
    devices: Devices
    host_only: HostOnly
    switches: Switches
    importing: Importing
    idle: Idle
    covering: Covering
    averages: Averages
    batching: Batching
    elements: Elements
    rows: Rows
    pacing: Pacing
    attention: Attention
    makers: Makers
    contracts: Contracts
    compiling: Compiling
    clocks: Clocks
    again: Again
    narrowing: Narrowing
    enumerating: Enumerating
    filling: Filling
    groups: dict[str, frozenset[str]]
    tables: dict[str, LineTable] = field(default_factory=dict)
    _named: dict[str, list[tuple[FileFacts, ast.Call]]] = field(default_factory=dict)
    _proven: Analysis | None = None

    def proven(self) -> Analysis:
        """The same analysis without guesses about values; itself where none was made."""
        if not self.values.guessed:
            return self
        if self._proven is None:
            self._proven = copy(self)
            self._proven.values = self.values.proven()
        return self._proven

    def table(self, facts: FileFacts) -> LineTable:
        """The rows of a file."""
        found = self.tables.get(facts.path)
        if found is None:
            found = self.tables[facts.path] = LineTable(facts.source.utf8)
        return found

    def may_use_cuda(self, facts: FileFacts, node: ast.AST) -> bool:
        """Whether the files that a file is connected with may ever leave the CPU, and the function of a node too."""
        if self.settings.device != "auto":
            return self.settings.device == "cuda"
        if self.host_only.is_host_only(facts.scope_of(node).function):
            return False
        return self.devices.may_leave(facts)

    def calls_of(self, name: str) -> Sequence[Sequence[Value]]:
        """The values of the positional arguments of every call of a qualified name in the project."""
        last = name.rpartition(".")[2]
        if last not in self._named:
            self._named[last] = list(self._calls_that_mention(last.encode()))
        return [
            [self.values.of(facts, argument) for argument in call.args]
            for facts, call in self._named[last]
            if self.project.qualified(facts, call.func) == name
        ]

    def mentioned(self, facts: FileFacts, word: str) -> bool:
        """Whether the text of a file that a file is connected with holds a word."""
        group = self.groups[facts.path]
        return any(word.encode() in self.project.files[path].source.utf8 for path in group)

    def before(self, facts: FileFacts, call: ast.AST, names: frozenset[str]) -> bool:
        """Whether a call of one of these names stands before another, by file and row, in the connected files."""
        place = facts.path, getattr(call, "lineno", 1), getattr(call, "col_offset", 0)
        words = {name.rpartition(".")[2].encode() for name in names}
        for path in self.groups[facts.path]:
            file = self.project.files[path]
            if path > facts.path or not any(word in file.source.utf8 for word in words):
                continue
            for other in (other for scope in file.scopes for other in scope.calls):
                if (path, other.lineno, other.col_offset) < place and self.project.qualified(file, other.func) in names:
                    return True
        return False

    def _calls_that_mention(self, word: bytes) -> Iterable[tuple[FileFacts, ast.Call]]:
        """All calls in files that hold a word."""
        for facts in self.project.files.values():
            if word in facts.source.utf8:
                for scope in facts.scopes:
                    yield from ((facts, call) for call in scope.calls)


def parse(sources: Mapping[str, Source]) -> tuple[list[FileFacts], dict[str, Unparsed]]:
    """Parse files and gather the facts of each; files that do not parse, or are too large, are reported by name.

    Tests are parsed for their syntax alone.
    """
    files: list[FileFacts] = []
    broken: dict[str, Unparsed] = {}
    for name in sorted(sources):
        found = _read(sources[name], name)
        if isinstance(found, Unparsed):
            broken[name] = found
        elif found is not None:
            files.append(found)
    return files, broken


def tree_of(text: str) -> ast.Module | Unparsed:
    """The syntax tree of a text, or why Python cannot read it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Not the bytes: in those Python would obey a declaration of another encoding.
            return ast.parse(text)
    except SyntaxError as error:
        doubt = NEWER if reads_newer(error) else ""
        return Unparsed(f"{error.msg or 'invalid syntax'}{doubt}", error.lineno or 1, error.offset or 1)
    except ValueError as error:
        return Unparsed(f"cannot be parsed: {error}")
    except (RecursionError, MemoryError):
        return Unparsed("cannot be parsed: its code is nested too deeply for Python")


def begins_too_deep(path: Path) -> Unparsed | None:
    """What Python says of a file whose first part is nested more deeply than it reads, whatever follows.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as stream:
        begun = tree_of(stream.read(_BEGINNING).decode("latin-1"))
    return begun if isinstance(begun, Unparsed) and begun.message.startswith(_LIMIT) else None


def is_sound(source: Source) -> bool:
    """Whether Python can read a text, or would take too long to say."""
    if too_long_to_parse(source.utf8):
        return True
    return isinstance(tree_of(source.text), ast.Module) and not (source.notebook and any(source.notebook.faults()))


def _read(source: Source, name: str) -> FileFacts | Unparsed | None:
    """The facts of one file, ``None`` of a test."""
    reason = too_long_to_parse(source.utf8)
    if reason:
        return Unparsed(reason, too_much=True)
    tree = tree_of(source.text)
    if isinstance(tree, Unparsed):
        return tree
    if is_test(name):
        return None
    module, package = module_name(name)
    facts = collect(source, tree, module, package)
    reason = too_much(facts)
    if reason:
        return Unparsed(reason, too_much=True)
    facts.marks = marks(source)
    return facts


def analyse(files: Iterable[FileFacts], settings: Settings) -> Analysis:  # long: one line per fact
    """Link the facts of all files."""
    project = link(files)
    graph, values = call_graph(project)
    seen = Observations.of(settings.observed)
    found = heat(project, graph, values, frozenset(settings.hot), frozenset(settings.cold), seen)
    networks = Networks(project, graph, values)
    autograd = Autograd(project, graph, values, found, networks)
    sides = Sides(project, graph, values)
    mentions = Mentions(project, graph, values)
    flow = Flow(project, graph, values, mentions, autograd.records, found.seldom, autograd.updates)
    loops = Loops(values, sides)
    elements = Elements(project, values)
    switches = Switches(found)
    return Analysis(
        settings=settings,
        project=project,
        graph=graph,
        values=values,
        heat=found,
        constants=Constants(project, graph, values),
        escapes=Escapes(project, graph, values),
        sealed=Sealed(project, graph, values, parts=networks.parts),
        flow=flow,
        readers=Readers(graph),
        networks=networks,
        autograd=autograd,
        members=Members(project),
        beside=Beside(project, graph, networks.parts),
        backwards=Backwards(project, graph, values, flow, autograd),
        switching=Switching(project, graph, networks),
        provenance=Provenance(project, values, found),
        sequel=Sequel(project, graph),
        loops=loops,
        growth=Growth(project, graph, flow),
        devices=Devices(project, graph, values),
        host_only=HostOnly(project, graph, values),
        switches=switches,
        clocks=Clocks(autograd, switches),
        again=Again(autograd, sides, mentions),
        narrowing=Narrowing(values),
        enumerating=Enumerating(values, graph),
        filling=Filling(values),
        importing=Importing(project, graph),
        idle=Idle(mentions),
        covering=Covering(found),
        elements=elements,
        rows=Rows(project, values, elements),
        pacing=Pacing(project, graph, values, autograd),
        attention=Attention(project, values),
        batching=Batching(project, values, sides),
        averages=Averages(project, values, networks.tracer, Ties(project, graph, values)),
        makers=Makers(project, graph, values),
        contracts=Contracts(project, graph, values),
        regrowth=Regrowth(loops),
        queues=Queues(values, graph),
        hoards=Hoards(values, graph, found),
        waiting=Waiting(values, sides),
        indexing=Indexing(values),
        compiling=Compiling.of(project, graph, values, found, mentions),
        groups=graph.groups,
    )

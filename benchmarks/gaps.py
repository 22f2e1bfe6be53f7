"""List what torchlint would say if it knew more, in projects of any kind: where recall is lost, without labels.

    gaps.py cold FOLDER ...       findings that appear where all code counts as hot, by why it does not
    gaps.py unknown FOLDER ...    findings that appear where each value of unknown kind counts as a tensor on an
                                  accelerator, by where such values come from

Most of what is listed is no smell: set-up code is cold, and an unknown value is seldom a tensor. What is read off is
the few causes that hide many lines, across projects: a call that no edge leads through, a function of a library
without a row. ``--most`` limits how many causes are shown, ``--lines`` how many lines of each.
"""

from __future__ import annotations

import argparse
import ast
import copy
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from torchlint.engine.notebooks import inner_name
from torchlint.engine.run import EngineRun
from torchlint.engine.units import Unit
from torchlint.facts.analyses import Analyses
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Binding, FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.dataflow.sources import Sources
from torchlint.facts.dataflow.spots import Spot
from torchlint.facts.dataflow.trace import ValueFlow
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.hotness.why import explain
from torchlint.facts.values.values import Values
from torchlint.rule import Device, Finding, Frequency, Hotness, Kind, Value
from torchlint.settings.model import Settings

SUPPOSED = Value(Kind.TENSOR, device=Device.CUDA)
LOST = "a value that comes from too many places"
# Of each test and bound it would be said that it waits for the device.
TESTS = frozenset({"TL208", "TL210"})
# What differs from line to line in the reasons of `--explain-hot`: places, names, and the text of conditions.
PLACE = re.compile(r"\S+\.(py|ipynb)(:cell \d+)?(:\d+)?")
NAME = re.compile(r"\b(runs|makes|call of|in|of) [\w.<>]+")
CONDITION = re.compile(r": (if|elif|while|for|assert) .*", re.DOTALL)
Key = tuple[str, str, int]
"""The code of a finding, its file and row."""
Nodes = list[tuple[FileFacts, ast.expr]]


class HotEverywhere(Heat):
    """Hotness of a project in which each line runs at least once per step."""

    __slots__ = ()

    def at(self, facts: FileFacts, node: ast.AST) -> Hotness:
        """Return how often a node runs, and no less than once per step."""
        found = Heat.at(self, facts, node)
        return replace(found, frequency=max(found.frequency, Frequency.STEP))

    def frequency(self, facts: FileFacts, node: ast.AST) -> Frequency:
        """Return how often a node runs, and no less than once per step."""
        return max(Heat.frequency(self, facts, node), Frequency.STEP)


class AllTensors(Values):
    """Values of a project in which what is unknown is a tensor on an accelerator."""

    __slots__ = ()

    def of(self, facts: FileFacts, node: ast.expr) -> Value:
        """Return what is known of an expression, or the tensor."""
        found = Values.of(self, facts, node)
        known = found.kind is not Kind.UNKNOWN or self.project.qualified(facts, node) is not None
        return found if known else SUPPOSED


@dataclass
class Asked:
    """The unknown expressions that rules asked about since the last site."""

    nodes: list[tuple[FileFacts, ast.expr]] = field(default_factory=list)

    def note(self, facts: FileFacts, node: ast.expr, value: Value) -> None:
        """Keep an expression of which nothing is known; what is called is no tensor."""
        parent = facts.parent.get(node)
        if value.kind is Kind.UNKNOWN and not (isinstance(parent, ast.Call) and parent.func is node):
            self.nodes.append((facts, node))


@dataclass
class Gap:
    """What one cause hides: its lines, each with the code of the rule that would speak there, by project."""

    lines: list[str] = field(default_factory=list)
    projects: set[str] = field(default_factory=set)


def as_class(fact: Heat | Values, cls: type) -> Heat | Values:
    """Return the same fact as an object of a class that derives from its own."""
    found = copy.copy(fact)
    found.__class__ = cls
    return found


def units_of(folder: Path) -> Iterator[Unit]:
    """Yield the connected files of a project, analysed one after the other."""
    settings = Settings(root=folder, isolated=True, jobs=1)
    run = EngineRun.prepare([folder], settings, {})
    units, _ = run.linting.units(run.sources)
    for unit in units:
        yield unit
        unit.forget()


def found_in(unit: Unit, analyses: Analyses, asked: Asked) -> Iterator[tuple[Finding, FileFacts, Nodes]]:
    """Yield what the default rules say with these facts, each with the unknown expressions asked about there."""
    for name, target in unit.targets.items():
        facts = analyses[Project].files.get(inner_name(name))
        if facts is None:
            continue
        asked.nodes.clear()
        for drafts in target.scope.without_fixes.by_site(analyses, facts):
            yield from ((draft.finding, facts, [*asked.nodes]) for draft in drafts if target.shown(draft.finding))
            asked.nodes.clear()


def key_of(finding: Finding) -> Key:
    """Return what makes two findings of two runs one."""
    return finding.code, finding.path, finding.start.row


def cold(analyses: Analyses, _: Asked) -> Analyses:
    """Return the facts of a project in which all code is hot."""
    return analyses.supposing(Heat, lambda heat: as_class(heat, HotEverywhere), "hot everywhere")


def unknown(analyses: Analyses, asked: Asked) -> Analyses:
    """Return the facts of a project in which all that is unknown is a tensor."""

    def change(values: Values) -> Values:
        return as_class(values.noting(asked.note), AllTensors)

    return analyses.supposing(Values, change, "all unknown values are tensors", keeping=(CallGraph, Heat))


def why_cold(analyses: Analyses, facts: FileFacts, finding: Finding) -> Iterator[str]:
    """Yield why a line counts as cold, without the names that differ from line to line."""
    row = finding.start.row
    nodes = [stmt for stmt in facts.places if stmt.lineno <= row <= (stmt.end_lineno or stmt.lineno)]
    if not nodes:
        return
    why = explain(analyses[Heat], facts, max(nodes, key=lambda stmt: stmt.lineno))
    if why.reasons:
        yield general(why.reasons[0])
    else:
        limits = [limit.guard for way in why.ways for limit in way.limits]
        yield f"runs once per {why.frequency.name.lower()}" + (f": {limits[-1]}" if limits else "")


def general(reason: str) -> str:
    """Return a reason without what differs from line to line."""
    return NAME.sub(r"\1 F", PLACE.sub("FILE", CONDITION.sub("", reason)))


def origins(analyses: Analyses, facts: FileFacts, node: ast.expr) -> Iterator[str]:
    """Yield where an unknown value comes from: what a library gives, a parameter, an attribute."""
    sources, project = analyses[Sources], analyses[Project]

    def step(spot: Spot) -> Iterator[Spot | str]:
        empty = True
        for source in sources.of(spot):
            empty = False
            if isinstance(source, Spot):
                yield source
            elif isinstance(source, Binding):
                yield f"{source.how.name.lower()} {source.target}"
            else:
                yield f"result of {source.qualname}"
        if empty:
            yield _made_by(spot.node, project.qualified(spot.facts, getattr(spot.node, "func", spot.node)))

    flow = ValueFlow(step, LOST)
    values = analyses[Values]
    for end, spot in flow.trace(Spot(facts, node)).ends.items():
        if end == LOST or not values.of(spot.facts, spot.node).known:
            yield end


def _made_by(node: ast.expr, name: str | None) -> str:
    match node:
        case ast.Call() if name is not None:
            return f"call of {name}"
        case ast.Call(func=ast.Attribute(attr=attr)):
            return f"method {attr}"
        case ast.Attribute(attr=attr):
            return f"attribute {attr}"
    return type(node).__name__.lower()


def gaps(
    folder: Path,
    suppose: Callable[[Analyses, Asked], Analyses],
    causes: Callable[[Analyses, FileFacts, Finding, Nodes], Iterator[str]],
    found: dict[str, Gap],
) -> None:
    """Add what the supposition brings up in one project."""
    for unit in units_of(folder):
        analyses, asked = unit.analyses(), Asked()
        known = {key_of(finding) for finding, _, _ in found_in(unit, analyses, asked)}
        for finding, facts, nodes in found_in(unit, suppose(analyses, asked), asked):
            if key_of(finding) in known or (nodes and finding.code in TESTS):
                continue
            known.add(key_of(finding))
            text = facts.source.text.splitlines()[finding.start.row - 1].strip()
            line = f"{finding.code} {folder.name}/{finding.path}:{finding.start.row} {text[:90]}"
            for cause in set(causes(analyses, facts, finding, nodes)):
                found[cause].lines.append(line)
                found[cause].projects.add(folder.name)


def main() -> None:
    """Read the arguments, analyse the projects and print the causes, those of most projects first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("cold", "unknown"))
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--lines", type=int, default=3, help="lines that are shown of each cause (default: 3)")
    parser.add_argument("--most", type=int, default=50, help="causes that are shown (default: 50)")
    options = parser.parse_args()
    found: dict[str, Gap] = defaultdict(Gap)
    for folder in options.folders:
        if options.what == "cold":
            gaps(folder.resolve(), cold, lambda analyses, facts, finding, _: why_cold(analyses, facts, finding), found)
        else:
            gaps(
                folder.resolve(),
                unknown,
                lambda analyses, _facts, _finding, nodes: (
                    cause for facts, node in nodes for cause in origins(analyses, facts, node)
                ),
                found,
            )
    ranked = sorted(found.items(), key=lambda each: (-len(each[1].projects), -len(each[1].lines), each[0]))
    for cause, gap in ranked[: options.most]:
        print(f"{len(gap.lines):5} lines in {len(gap.projects)} projects: {cause}")
        for line in gap.lines[: options.lines]:
            print(f"        {line}")


if __name__ == "__main__":
    main()

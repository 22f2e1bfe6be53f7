"""Why a line has to wait for a device: the host needs the value that is read there, or sends data that it has made."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from torchlint.engine.run import EngineRun
from torchlint.facts.analyses import Analyses
from torchlint.facts.autograd.makers import Makers
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.flow.flow import Flow
from torchlint.facts.state.constant import Constants
from torchlint.facts.values.values import Values
from torchlint.models import last_names, method_names
from torchlint.rule import Kind, Use

# Methods and functions that hand the host what lies on a device.
_READING = method_names(waits="reads") | method_names(moves="given")
_NUMBERS = last_names("builtins", number=True)
# Functions that take data of the host to a device.
_SENDING = last_names("torch", makes=("data", "array", "legacy"))
_MOVING = method_names(moves=("device", "given"))
# Functions whose tensors a device can make itself.
_MAKING = last_names("torch", makes=("filled", "pattern", "like", "random"))
_SENT = "data of the host goes in"
# The ends of a value for which only the host can have it, the strongest reason first.
_NEEDED = {
    Use.ENVIRONMENT: "it goes to the environment",
    Use.SIZE: "it is a size or a count",
    Use.INDEX: "it is an index or a key",
    Use.HOST: "the host computes with it",
    Use.CONDITION: "it decides a branch",
}


def reasons(run: EngineRun, rows: Mapping[str, Mapping[int, bool]]) -> Mapping[tuple[str, int], str]:
    """Return why the host has to wait, by file name and row, in the files of a run.

    ``rows`` are those of interest, and whether they were seen to send data to the device and to read none. A row of
    which no reason is known has none: that does not say that it is needless.
    """
    found: dict[tuple[str, int], str] = {}
    units, _ = run.linting.units(run.sources)
    for unit in units:
        wanted = [name for name in unit.targets if name in rows]
        if not wanted:
            continue
        analyses = unit.analyses()
        for name in wanted:
            facts = analyses[Project].files.get(name)
            for row, call in _calls(facts, frozenset(rows[name])) if facts is not None else ():
                if facts is not None and (why := _why(analyses, facts, call, sends=rows[name][row])):
                    found.setdefault((name, row), why)
    return found


def _calls(facts: FileFacts, rows: frozenset[int]) -> Iterator[tuple[int, ast.Call]]:
    """The calls that begin or end on a row of interest, outer ones first."""
    for stmt in facts.places:
        for node in walk(stmt):
            if isinstance(node, ast.Call):
                for row in {node.lineno, node.end_lineno or node.lineno} & rows:
                    yield row, node


def _why(analyses: Analyses, facts: FileFacts, call: ast.Call, *, sends: bool) -> str:
    func = call.func
    name = last_name(func)
    if name in _SENDING and call.args:
        alone = not analyses[Constants].of(facts, call.args[0]) and not _is_one_of_many(facts, call)
        return _SENT if alone else ""
    if name in _MOVING and sends and isinstance(func, ast.Attribute):
        return _SENT if _is_data(analyses, facts, func.value) and not _is_one_of_many(facts, call) else ""
    if (name in _READING and isinstance(func, ast.Attribute)) or (name in _NUMBERS and len(call.args) == 1):
        uses = analyses[Flow].uses(facts, call)
        return next((words for use, words in _NEEDED.items() if use in uses), "")
    return ""


def _is_data(analyses: Analyses, facts: FileFacts, value: ast.expr) -> bool:
    """Whether a tensor may hold what only the host has: no network, no constant, nothing that a device can make."""
    return (
        analyses[Values].of(facts, value).kind is not Kind.MODULE
        and analyses[Makers].of(facts, value) not in _MAKING
        and not analyses[Constants].of(facts, value)
    )


def _is_one_of_many(facts: FileFacts, call: ast.Call) -> bool:
    """Whether a call sends one item of a comprehension, all of which could be sent together."""
    for above in facts.ancestors(call):
        if isinstance(above, (ast.ListComp, ast.GeneratorExp)):
            return call not in walk(above.generators[0].iter)
        if isinstance(above, ast.stmt):
            break
    return False

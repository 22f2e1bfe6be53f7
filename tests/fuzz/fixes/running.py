"""Fixes a program and runs it before and after, on random inputs."""

from __future__ import annotations

import contextlib
import io
import random
import re
import warnings
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

import torch

from fuzz.fixes.driving import AUTOGRAD, NOTHING, parts, plain
from fuzz.fixes.inputs import Chosen, chosen
from fuzz.fixes.program import Program
from fuzz.properties import NAME, linted
from torchlint.bench.observe import Observation, differences, observe
from torchlint.bench.program import build
from torchlint.engine.rules import load_rules
from torchlint.rule import Applicability, Change, Example

_DRIVEN = "from fuzz.fixes.driving import drive\n"
_NEWEST = "999.0"
SPEAKING = "torch.set_default_dtype(torch.get_default_dtype())"
"""Changes nothing; only a program that holds it is run with another default dtype."""
# What the text of a tensor says of autograd is not a result.
_GRAPH = re.compile(r",?\s*(grad_fn=<\w+>|requires_grad=True)")


@dataclass(frozen=True)
class Fixed:
    """A program after ``--fix``, and the codes of the rules whose fixes made it, once for each fix.

    ``accepted`` are those of them that are not safe, where the program accepts what they may change.
    """

    text: str
    applied: tuple[str, ...]
    accepted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """What one version did on an input, and what the exception says that it raised."""

    seen: Observation
    said: str

    @property
    def vanishing(self) -> bool:
        """Whether an exception was raised that need not come again: of a wrong kind, or by what autograd recorded."""
        raised = self.seen.raised
        return raised is not None and (issubclass(raised, TypeError) or bool(AUTOGRAD.search(self.said)))

    @property
    def refuses(self) -> bool:
        """Whether an input was refused that another form may refuse in other words: of a wrong kind or rank."""
        raised = self.seen.raised
        return self.vanishing or (raised is not None and issubclass(raised, (AttributeError, LookupError)))


@dataclass(frozen=True)
class Difference:
    """An input on which a program does otherwise after its fixes.

    ``codes`` are the rules whose fix alone makes the difference; empty: only several together do.
    """

    codes: tuple[str, ...]
    input: str
    told: str


@dataclass
class Outcome:
    """What came of one program.

    Attributes:
        applied: the rules of the fixes, once for each.
        accepted: of these those whose fix is not safe.
        inputs: how many inputs were run before and after.
        differences: what nothing declared.
        exceptions: how often an input met an exception that a rule names, by rule.
        unsettled: inputs on which the program does not even do the same twice before the fix.
        raised: inputs on which the program raises before the fix.
        refused: of these those that the fixed program takes, or refuses in other words, where that is not a difference.
    """

    applied: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    inputs: int = 0
    differences: list[Difference] = field(default_factory=list)
    exceptions: list[str] = field(default_factory=list)
    unsettled: int = 0
    raised: int = 0
    refused: int = 0


def fixed(program: Program, *codes: str) -> Fixed:
    """What ``--fix`` makes of a program with what it accepts, with all rules or with these alone.

    Raises:
        AssertionError: a rule failed, or a fix that is not safe was applied.
    """
    accept = frozenset(program.accept)
    select = codes or ("ALL", "TL909")
    result = linted(program.text, unsafe=False, preview=True, target_torch=_NEWEST, select=select, accept=accept)
    if result.problems:
        raise AssertionError("; ".join(problem.message for problem in result.problems))
    if NAME not in result.fixed:
        return Fixed(program.text, ())
    file = result.fixed[NAME]
    unsafe = []
    for finding in file.applied:
        if finding.fix is None or not finding.fix.accepted(False, accept):
            raise AssertionError(f"{finding.code}: a fix was applied that is not accepted")
        unsafe += [finding.code] if finding.fix.applicability is not Applicability.SAFE else []
    return Fixed(file.after.text, tuple(finding.code for finding in file.applied), tuple(unsafe))


def tried(program: Program, inputs: int, choice: random.Random) -> Outcome:
    """Run a program before and after all safe fixes on random inputs."""
    after = fixed(program)
    outcome = Outcome(after.applied, after.accepted)
    if not after.applied:
        return outcome
    seen = set()
    for _ in range(inputs):
        one = chosen(program.inputs, choice)
        if one.words in seen:
            continue
        seen.add(one.words)
        outcome.inputs += 1
        before = run(program, program.text, one)
        outcome.raised += before.seen.raised is not None
        again = run(program, after.text, one)
        told = compared(before, again, program.accept)
        outcome.refused += not told and again.seen.raised is not before.seen.raised
        if not told:
            continue
        if any(compared(run(program, program.text, one), run(program, program.text, one)) for _ in range(2)):
            outcome.unsettled += 1
            continue
        codes = tuple(code for code in sorted(set(after.applied)) if _alone(program, code, one))
        if len(codes) == 1 and _excused(codes[0], one, before, again):
            outcome.exceptions.append(codes[0])
        else:
            outcome.differences.append(Difference(codes, one.words, told))
    return outcome


def run(program: Program, text: str, one: Chosen) -> Run:
    """Run one version of a program on one input.

    Memory that a program reads without having written it is the same in each run: PyTorch fills it where deterministic
    algorithms are asked for.
    """
    inputs = one.make()
    example = Example(program.code, text, text, setup=_DRIVEN + program.setup, workload=program.workload)
    printed, said = io.StringIO(), [""]

    def whole() -> object:
        try:
            return [build(example, text, "cpu", inputs)(), _GRAPH.sub("", printed.getvalue())]
        except Exception as error:
            said[0] = str(error)
            raise

    before = torch.get_default_dtype()
    torch.set_default_dtype(one.default if SPEAKING in program.text else before)
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Run(observe(whole, {"given": plain(inputs)}), said[0])
    finally:
        torch.set_default_dtype(before)
        torch.use_deterministic_algorithms(False)
        _without_autocast()


def _without_autocast() -> None:
    """Take back what programs set for the whole process."""
    for device, dtype in (("cpu", torch.bfloat16), ("cuda", torch.float16)):
        torch.set_autocast_enabled(device, False)
        torch.set_autocast_dtype(device, dtype)
    torch.set_autocast_cache_enabled(True)
    torch.clear_autocast_cache()


def compared(before: Run, after: Run, accepted: Collection[Change] = ()) -> str:
    """How two runs differ, in words; empty: not at all.

    A run that refuses its input promises no class of exception. One in which a value was refused in any step, where it
    may go on since validation is accepted, is another run from there.
    """
    if Change.VALIDATION in accepted and (before.seen.raised is ValueError or _refused_a_value(before.seen.value)):
        return ""
    both = before.seen.raised is not None and after.seen.raised is not None
    if before.vanishing or (both and (before.refuses or after.refuses)):
        return ""
    found, other = differences(before.seen, after.seen)
    changes = set(found) - set(accepted)
    if Change.VALIDATION in changes and not other:
        return f"raises {_class(after)} where {_class(before)} was raised"
    return "; ".join(filter(None, (other, *sorted(f"changes {change.value}" for change in changes))))


def _refused_a_value(value: object) -> bool:
    """Whether what a program gave tells that one of the steps that ``drive`` took refused a value."""
    if isinstance(value, (list, tuple)):
        return any(map(_refused_a_value, value))
    return isinstance(value, str) and value == ValueError.__name__


def _class(one: Run) -> str:
    return one.seen.raised.__name__ if one.seen.raised is not None else "nothing"


def _alone(program: Program, code: str, one: Chosen) -> bool:
    """Whether the fixes of one rule alone make a difference."""
    text = fixed(program, code).text
    return bool(compared(run(program, program.text, one), run(program, text, one), program.accept))


@cache
def exceptions() -> Mapping[str, frozenset[str]]:
    """The awkward inputs that each rule names as exceptions."""
    return {rule.code: frozenset(rule.exceptions) for rule in load_rules()}


def _excused(code: str, one: Chosen, before: Run, after: Run) -> bool:
    """Whether an input, or what the program made of it, is of a kind that the rule names."""
    empty = {"empty"} if NOTHING.search(after.said) else set()
    if _has_empty(before.seen.value) and _has_empty(after.seen.value):
        empty.add("empty rows")  # they were made by the program itself
    return not exceptions()[code].isdisjoint(awkward(one.make().values()) | empty)


def _has_empty(value: object) -> bool:
    """Whether a result holds a tensor without elements."""
    return any(0 in part.shape for part in parts(value))


def awkward(values: Iterable[object]) -> set[str]:
    """The exceptions that values belong to, in the words of the rules."""
    import numpy as np

    found: set[str] = set()
    for value in values:
        if isinstance(value, (list, tuple, deque)):
            found |= awkward(value) | (set() if value else {"empty", "empty rows"})  # an array of it has no element
        elif isinstance(value, dict):
            found |= awkward(value.values())
        elif isinstance(value, (np.ndarray, torch.Tensor)):
            array = np.asarray(value.detach().float() if isinstance(value, torch.Tensor) else value)
            found |= {"empty rows"} if 0 in array.shape else set()
            found |= {"empty"} if array.shape[:1] == (0,) else set()
            found |= {"objects"} if array.dtype == object else set()
            found |= set() if array.dtype.isnative else {"one row of foreign byte order"}
            if array.size and array.dtype != object and np.any(np.abs(array.astype(float)) > 2**53):
                found.add("large integers")
        elif hasattr(value, "observation"):
            found |= awkward([value.observation])
    return found

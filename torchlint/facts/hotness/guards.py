"""What keeps code from running often: a table of guards, and the search for those around a piece of code.

A wrong guard is a row to edit. A row names the recognisers that find it: of conditions (``conditions``,
``intervals``), of what a branch does (``branches``), of statements that leave a block early. A row without any is
found by an analysis (``flags``, ``missing``, ``places``), which asks for the row.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from torchlint.facts.analyses import Analyses, Fact
from torchlint.facts.code.jumps import leaves
from torchlint.facts.code.model import Binding, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.hotness.branches import (
    draws_fewer,
    empties,
    ends_program,
    fills_empty,
    moves_due,
    only_raises,
    opposite,
    prints_any,
    raises,
    renders,
    restarts,
    sets_up,
    skips,
    warns,
)
from torchlint.facts.hotness.conditions import (
    NONFINITE,
    asks_for_tracing,
    counts_ends,
    is_debug_flag,
    is_ended,
    is_evaluated,
    is_evaluation_flag,
    is_filled,
    is_finite,
    is_first_call,
    is_full,
    is_not,
    is_out_of_range,
    is_over,
    is_past_end,
    is_reset,
    is_setting,
    is_there,
    is_uniform,
    lacks_display,
    lacks_evaluation,
    tests_for,
    was_due,
)
from torchlint.facts.hotness.defaults import SettingDefaults
from torchlint.facts.hotness.emptiness import refills
from torchlint.facts.hotness.evaluation import begins_episode, evaluates, exceeds_training, resets_its_environment
from torchlint.facts.hotness.intervals import (
    answered,
    is_between_intervals,
    is_first_step,
    is_interval,
    is_last,
    is_modulo,
    is_next,
    is_on,
    period,
    remainder,
)
from torchlint.rule import Frequency


class Bound(NamedTuple):
    """The most often that guarded code runs, and the name of the guard."""

    limit: Frequency
    guard: str


class Test(NamedTuple):
    """A recogniser of conditions, and the value of the condition for which guarded code runs."""

    holds: Callable[[ast.expr, FileFacts], bool]
    truth: bool = True


Block = Callable[[Sequence[ast.stmt], "ast.expr | None"], bool]
"""A recogniser of what a branch does; the second argument is the condition that leads into it, if it is one."""


class Guard(NamedTuple):
    """A reason for which code runs seldom.

    ``limit`` is the most often that guarded code runs, ``None`` where the analysis that finds the guard says it.
    ``says`` completes "code runs seldom that is guarded by". ``tests`` recognise conditions, ``blocks`` what a branch
    does, ``behind`` what stands behind an exit by the opposite of a condition, ``exits`` statements that may leave a
    block, and ``functions`` what is called.
    """

    name: str
    limit: Frequency | None
    says: str
    tests: tuple[Test, ...] = ()
    blocks: tuple[Block, ...] = ()
    behind: tuple[Block, ...] = ()
    exits: tuple[Callable[[ast.stmt], bool], ...] = ()
    functions: tuple[Callable[[Scope], bool], ...] = ()


def _when(recognise: Callable[[ast.expr], bool]) -> Test:
    """Code that runs where a condition is true, whatever the file."""
    return Test(lambda test, _facts: recognise(test))


def _unless(recognise: Callable[[ast.expr], bool]) -> Test:
    """Code that runs where a condition is false, whatever the file."""
    return Test(lambda test, _facts: recognise(test), truth=False)


def _does(recognise: Callable[[Sequence[ast.stmt]], bool]) -> Block:
    """What a branch does, whatever leads into it."""
    return lambda block, _test: recognise(block)


def _leaves_for_good(stmt: ast.stmt) -> bool:
    """``return``, ``raise``, ``continue``, ``break``: what follows in the block never runs."""
    return isinstance(stmt, (ast.Return, ast.Raise, ast.Continue, ast.Break))


def _returns_first(stmt: ast.stmt) -> bool:
    """``for p in self.parameters(): return p.device``."""
    return isinstance(stmt, ast.For) and isinstance(stmt.body[0], ast.Return)


_ONCE, _EPISODE = Frequency.ONCE, Frequency.EPISODE

FIRST_CALL = Guard(
    "first call",
    _ONCE,
    "a test for what is made once and kept, or for the first step of all: `global_step == 0`",
    tests=(
        _when(is_first_step),
        Test(is_first_call),
        Test(is_filled, truth=False),
        _when(lambda test: is_not(test, is_there)),
    ),
    blocks=(sets_up,),
)
INTERVAL = Guard(
    "interval",
    _ONCE,
    "an interval of steps or time: `step % n == 0`, `t - last > every`, but not one of two rounds by default",
    tests=(
        _when(is_interval),
        Test(is_next),
        _unless(is_modulo),
        _unless(is_between_intervals),
    ),
    blocks=(moves_due,),
)
DEBUG = Guard(
    "debug flag",
    _ONCE,
    "a flag for debugging, rendering, viewing or saving, but not for a check of numbers that is on by default",
    tests=(_when(is_debug_flag), _unless(lacks_display)),
)
TESTED = Guard("flag of an evaluation", _EPISODE, "a flag for an evaluation", tests=(_when(is_evaluation_flag),))
FULL_LIST = Guard(
    "full list",
    _EPISODE,
    "a length or a predicate, where the branch empties what it is of",
    blocks=(empties,),
    behind=(empties,),
)
COUNTED = Guard(
    "counter that starts again",
    _EPISODE,
    "a count, where the branch sets the counter to zero",
    blocks=(restarts,),
    behind=(restarts,),
)
END_OF_EPISODE = Guard(
    "end of an episode",
    _EPISODE,
    "a flag that ends an episode",
    tests=(
        Test(lambda test, facts: is_reset(test) and not is_setting(test, facts)),
        _unless(lambda test: is_reset(test, running=True)),
        Test(is_ended),
        Test(counts_ends),
    ),
)
LAST_ROUND = Guard("last round", _ONCE, "the last round, beside an interval: `i % n == 0 or i == last`")
ONE_ROUND = Guard("one round of a loop", _EPISODE, "the number of one round of a loop: `i == n - 1`")
LEAVES_LOOP = Guard("branch that leaves the loop", _EPISODE, "a branch that ends in `break` or `return`")
EMPTY_DATA = Guard("branch for empty data", _ONCE, "a branch for data without elements", blocks=(fills_empty,))
OTHER_COMMAND = Guard("branch for another command", _EPISODE, "a command other than the one that steps")
ERROR = Guard("branch for an error", _ONCE, "`except`, and what `raise` and `assert` are given")
CONSTANT = Guard("test of a constant", _ONCE, "a test of what is always the same literal")
UNSET_OPTION = Guard(
    "option that no call sets",
    _ONCE,
    "a parameter or attribute that no call gives such a value, or an option that has no such choice",
)
LOGGER_OFF = Guard("logger that is off", _ONCE, "a flag for a logger, `use_wandb`, that is off by default")
CLEARED_FLAG = Guard("flag that its branch clears", _EPISODE, "a flag that the branch sets to false")
SET_FLAG = Guard("flag that its branch sets", None, "a flag that the branch sets, so it is made once")
SELDOM_FLAG = Guard("flag that is seldom set", None, "a flag that is set where code runs seldom")
GIVEN_ARGUMENT = Guard("argument that calls give", None, "a test for an argument that calls do not leave out")
KEPT_VALUE = Guard("value that a loop keeps", None, "a test for a variable that each round gives a value")
RESET = Guard(
    "reset",
    _EPISODE,
    "a call of `reset` or `new_episode`, or of a method that only resets its environment, but not of the simulations "
    "which a step ended",
    functions=(begins_episode, resets_its_environment),
)
EVALUATION = Guard("evaluation", _EPISODE, "a call of a function that evaluates", functions=(evaluates,))
TURNED_OFF = Guard(
    "method that a class turns off",
    _ONCE,
    "a method of a base class that always comes to one which the class of the object overrides only to raise",
)
OWN_UPDATES = Guard(
    "own loop of updates",
    _EPISODE,
    "a function that loops over updates, called by a loop of updates, or where `if self.is_due():` waits for a "
    "rollout, or that loops over steps too",
)

# The first row that recognises something decides. ``not``, ``and`` and ``or`` are taken apart by ``Guards.bound``.
GUARDS = (
    Guard(
        "branch that raises",
        _ONCE,
        "a branch whose ways all end in `raise`, or that ends the program",
        blocks=(_does(raises), _does(ends_program)),
        behind=(_does(only_raises),),
    ),
    Guard(
        "branch that warns",
        _ONCE,
        "a branch that writes a warning, or only a message that a round is left out",
        blocks=(_does(warns), _does(skips), prints_any),
        behind=(prints_any,),
    ),
    Guard("tracing", _ONCE, "a test for code that is being compiled or traced", tests=(_when(asks_for_tracing),)),
    DEBUG,
    INTERVAL,
    FIRST_CALL,
    Guard(
        "broken number",
        _ONCE,
        "a test for NaN or infinity",
        tests=(
            _when(lambda test: tests_for(test, NONFINITE)),
            _when(lambda test: is_not(test, is_finite)),
        ),
    ),
    Guard("value out of range", _ONCE, "a test on both sides: `i < 0 or i >= n`", tests=(_when(is_out_of_range),)),
    END_OF_EPISODE,
    TESTED,
    Guard(
        "results of an evaluation",
        _EPISODE,
        "a test for results of an evaluation, which are there only after one",
        tests=(_when(is_evaluated), _unless(lacks_evaluation)),
    ),
    Guard(
        "longer input than in training",
        _ONCE,
        "an input longer than a model learns from, where it does not learn",
        tests=(Test(exceeds_training),),
    ),
    Guard("full buffer", _EPISODE, "a method that returns whether a buffer is full", tests=(Test(is_full),)),
    Guard("batch of equal numbers", _EPISODE, "a batch with nothing to learn from", tests=(_when(is_uniform),)),
    Guard("end of a plan", _EPISODE, "a position at the end of a sequence", tests=(_when(is_past_end),)),
    Guard("work that is seldom due", _ONCE, "the result of work that is done if due", tests=(Test(was_due),)),
    Guard("branch that renders", _ONCE, "a branch that draws frames and learns nothing", blocks=(renders,)),
    Guard(
        "refill of an empty queue",
        Frequency.UPDATE,
        "an empty queue that the branch fills, of which the code behind takes one item at a time",
        tests=(Test(lambda test, facts: refills(test, predicate(test, facts) or test, facts)),),
    ),
    Guard(
        "fewer than a batch",
        _EPISODE,
        "a count below what is drawn otherwise, where the branch draws that many",
        blocks=(draws_fewer,),
    ),
    FULL_LIST,
    COUNTED,
    Guard(
        "statement that nothing comes behind",
        _ONCE,
        "`return`, `raise`, `continue` or `break` before it in the block",
        exits=(_leaves_for_good,),
    ),
    Guard("first item", _ONCE, "a loop that returns in its first round", exits=(_returns_first,)),
    RESET,
    EVALUATION,
    TURNED_OFF,
    OWN_UPDATES,
    LAST_ROUND,
    ONE_ROUND,
    LEAVES_LOOP,
    EMPTY_DATA,
    OTHER_COMMAND,
    ERROR,
    CONSTANT,
    UNSET_OPTION,
    LOGGER_OFF,
    CLEARED_FLAG,
    SET_FLAG,
    SELDOM_FLAG,
    GIVEN_ARGUMENT,
    KEPT_VALUE,
)


def least(*bounds: Bound | None) -> Bound | None:
    """Return the tightest of some bounds."""
    return min((each for each in bounds if each is not None), default=None)


class Guards(Fact):
    """Finds the guards on conditions, branches, exits and functions; the settings may switch rows off."""

    __slots__ = ("_asking", "_behind", "_blocks", "_exits", "_functions", "_off", "_tests", "defaults")

    def __init__(self, defaults: SettingDefaults, off: frozenset[str] = frozenset()) -> None:
        """Take the rows of the table but for those of some names."""
        self.defaults = defaults
        rows = [(Bound(row.limit, row.name), row) for row in GUARDS if row.limit is not None and row.name not in off]
        self._off = off
        self._asking: set[ast.expr] = set()  # what predicates return that are being followed
        self._tests = {
            truth: [(test.holds, found) for found, row in rows for test in row.tests if test.truth is truth]
            for truth in (True, False)
        }
        self._blocks = [(holds, found) for found, row in rows for holds in row.blocks]
        self._behind = [(holds, found) for found, row in rows for holds in row.behind]
        self._exits = [(holds, found) for found, row in rows for holds in row.exits]
        self._functions = [(holds, found) for found, row in rows for holds in row.functions]

    @classmethod
    def build(cls, analyses: Analyses) -> Guards:
        """Build the fact from the rows that the settings leave on."""
        return cls(analyses[SettingDefaults], frozenset(analyses.settings.ignore_guards))

    def edited(self, project: Project) -> Guards:
        """Return the same rows for a project in which files were edited."""
        return Guards(SettingDefaults(project), self._off)

    def of(self, guard: Guard, limit: Frequency | None = None) -> Bound | None:
        """Return the bound of a guard that an analysis found, ``None`` where it is switched off."""
        most = guard.limit if limit is None else limit
        return None if guard.name in self._off or most is None else Bound(most, guard.name)

    def bound(self, test: ast.expr, facts: FileFacts, truth: bool = True) -> Bound | None:
        """Return the guard on code that runs when a condition has a truth value, ``None`` when it limits nothing."""
        if truth and is_on(test, facts):
            return None
        for holds, row in self._tests[truth]:
            if holds(test, facts):
                return None if self._is_usual(row, test, facts) else row
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.bound(test.operand, facts, not truth)
        if isinstance(test, ast.BoolOp):
            found = [self.bound(part, facts, truth) for part in test.values]
            if isinstance(test.op, ast.And) is truth:
                return least(*found)
            return self._of_any(test.values, found, facts) if truth else None
        asked = predicate(test, facts)
        if asked is not None:
            return self._asked_for(asked, facts, truth)
        due = remainder(test, self.defaults.project, facts) if isinstance(test, ast.Call) else None
        if due is None:
            return self._answered(test, facts) if isinstance(test, ast.Call) and truth else None
        if not (is_interval if truth else is_between_intervals)(due):
            return None
        limit = self.of(INTERVAL)
        return None if limit is None or self._is_usual(limit, due, facts) else limit

    def _asked_for(self, asked: ast.expr, facts: FileFacts, truth: bool) -> Bound | None:
        """The guard by what a predicate returns, which may ask for itself: ``return x and self.is_due()``."""
        if asked in self._asking:
            return None
        self._asking.add(asked)
        found = self.bound(asked, facts, truth)
        self._asking.discard(asked)
        return found

    def _answered(self, test: ast.Call, facts: FileFacts) -> Bound | None:
        """The guard on code that runs when a method of another object says so: ``if agent.is_due(step): ...``."""
        intervals = list(answered(test, self.defaults.project, facts))
        if not intervals or any(each is None or self.defaults.is_short(*each) for each in intervals):
            return None
        return self.of(INTERVAL)

    def _is_usual(self, row: Bound, test: ast.expr, facts: FileFacts) -> bool:
        """Whether a test holds by default: for an interval of one or two rounds, for a check of numbers that is on."""
        if row.guard == DEBUG.name:
            return self.defaults.checks(test)
        rounds = period(test) if row.guard == INTERVAL.name else None
        return rounds is not None and self.defaults.is_short(facts, rounds)

    def _of_any(self, parts: Sequence[ast.expr], found: Sequence[Bound | None], facts: FileFacts) -> Bound | None:
        """The guard on code that runs when any of some conditions is true."""
        found = [
            self.of(LAST_ROUND) or each if is_last(part, facts) else each
            for part, each in zip(parts, found, strict=True)
        ]
        known = [each for each in found if each is not None]
        unlimited = [part for part, each in zip(parts, found, strict=True) if each is None]
        ended = self.of(END_OF_EPISODE)
        if ended is not None and any(is_reset(part) for part in parts) and all(is_over(part) for part in unlimited):
            return max([*known, ended])
        return max(known) if known and not unlimited else None

    def branch(self, block: Sequence[ast.stmt], test: ast.expr | None = None) -> Bound | None:
        """Return the guard that what a branch does puts on all of it; ``test`` is the condition that leads into it."""
        return next((found for holds, found in self._blocks if holds(block, test)), None)

    def exits(self, block: Sequence[ast.stmt], facts: FileFacts) -> Iterator[tuple[int, ast.stmt, Bound]]:
        """Yield the guards that statements such as ``if not debug: return`` put on what follows, with their places."""
        for place, stmt in enumerate(block):
            found = None
            if not isinstance(stmt, ast.If):
                found = next((row for holds, row in self._exits if holds(stmt)), None)
            elif leaves(stmt.body) and not raises(stmt.body):
                found = least(self.bound(stmt.test, facts, truth=False), self._behind_exit(stmt, block[place + 1 :]))
            if found is not None:
                yield place, stmt, found

    def _behind_exit(self, leaving: ast.If, rest: Sequence[ast.stmt]) -> Bound | None:
        """The guard on the statements behind an exit, by what they do."""
        test = opposite(leaving.test)
        return next((found for holds, found in self._behind if holds(rest, test)), None)

    def called(self, function: Scope) -> Bound | None:
        """Return the guard on all calls of a function."""
        return next((found for holds, found in self._functions if holds(function)), None)


def predicate(test: ast.expr, facts: FileFacts) -> ast.expr | None:
    """Return what a function of the same file gives, or a method of the same class: ``if self.is_due(): ...``."""
    if not isinstance(test, ast.Call) or test.args or test.keywords:
        return None
    bindings: Sequence[Binding] = ()
    if isinstance(test.func, ast.Name):
        bindings = facts.top.bindings.get(test.func.id, ())
    elif isinstance(test.func, ast.Attribute) and isinstance(test.func.value, ast.Name):
        method = facts.scope_of(test).function
        if method.method_of is not None and method.self_name == test.func.value.id:
            bindings = method.method_of.bindings.get(test.func.attr, ())
    scope = bindings[0].scope if len(bindings) == 1 else None
    if scope is None or scope.kind != "function" or len(scope.returns) != 1:
        return None
    given = scope.returns[0].value
    return None if isinstance(given, ast.Call) else given

"""The calls that begin hot code: a table.

A wrong root is a row to edit. The first row that recognises a call decides; a row of a model (``runs``) comes before
all of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import NamedTuple

from torchlint.facts.code.model import Bind, Binding, FileFacts
from torchlint.facts.code.naming import rightmost_name
from torchlint.facts.hotness.phases import STEP, UPDATE
from torchlint.facts.values.values import Values
from torchlint.models import Word, method_names
from torchlint.rule import Kind

_ENDED = Word("end of an episode")
_ENV = Word("environment")
_NOT_ENV = Word("steps without an environment")
_OPTIMIZER = Word("optimizer")
TRAINER = Word("trainer")


class MethodCall(NamedTuple):
    """A call of a method, with what the rows of the table ask of it."""

    facts: FileFacts
    call: ast.Call
    receiver: ast.expr
    values: Values

    @property
    def name(self) -> str:
        """The last name of the object whose method is called."""
        return rightmost_name(self.receiver)

    @property
    def method(self) -> str:
        """The name of the method."""
        return rightmost_name(self.call.func)

    @property
    def given(self) -> bool:
        """Whether it has arguments: a step of an environment takes actions."""
        return bool(self.call.args or self.call.keywords)

    def is_unseen(self) -> bool:
        """Return whether the code of the method is not known; else what it calls says whether it steps."""
        return self.values.of(self.facts, self.call.func).kind is Kind.UNKNOWN

    def is_a(self, kind: Kind) -> bool:
        """Return whether the object is known to be of a kind."""
        return self.values.of(self.facts, self.receiver).kind is kind


class Beginning(NamedTuple):
    """A call that begins hot code: methods, what they run (``None``: nothing), and what the call has to be.

    Without ``methods``, a method of any name. ``says`` completes "hot code begins at", or for rows that run nothing
    "none begins at".
    """

    name: str
    methods: Collection[str] | None
    runs: str | None
    says: str
    holds: Callable[[MethodCall], bool]


_BACKWARD = frozenset({"backward", "manual_backward"})
_PARTS = (4, 5)
_STEP = frozenset({"step"})
_ADVANCING = method_names(environment=("acts", "answers"))
_ACTING = frozenset({"act", "make_action"})
_CALLED = "__call__"
_GAME = Word("game")

BEGINNINGS = (
    Beginning("backward pass", _BACKWARD, UPDATE, "`loss.backward()`, `self.manual_backward(loss)`", lambda _: True),
    Beginning(
        "trainer of batches",
        _STEP,
        None,
        "`trainer.step(prompts, answers, rewards)`, which makes many updates itself",
        lambda at: TRAINER.fits(at.name) and len(at.call.args) > 2,
    ),
    Beginning(
        "optimizer by its name",
        _STEP,
        UPDATE,
        "`optimizer.step()`, `scaler.step(...)`, `trainer.step(...)`",
        lambda at: _OPTIMIZER.fits(at.name) or TRAINER.fits(at.name),
    ),
    Beginning(
        "other object that steps",
        _STEP,
        None,
        "`scheduler.step()`, `profiler.step()`",
        lambda at: _NOT_ENV.fits(at.name),
    ),
    Beginning(
        "environment by its name",
        _STEP,
        STEP,
        "`env.step(action)`",
        lambda at: at.given and _ENV.fits(at.name),
    ),
    Beginning(
        "step that is unpacked",
        _ADVANCING,
        STEP,
        "`obs, reward, done, info = x.step(action)`, also `..., done`; of a library's class `self.env_step(action)`",
        lambda at: at.given and (at.method in _STEP or at.is_unseen()) and _unpacks(at.facts, at.call),
    ),
    Beginning(
        "one of several environments",
        _STEP,
        STEP,
        "`e.step(a)` in `for e, a in zip(envs, actions)`",
        lambda at: at.given and _drawn_from_envs(at.facts, at.receiver),
    ),
    Beginning("optimizer", _STEP, UPDATE, "`x.step()` of an optimizer", lambda at: at.is_a(Kind.OPTIMIZER)),
    Beginning(
        "environment",
        _STEP,
        STEP,
        "`x.step(action)` of an environment",
        lambda at: bool(at.call.args) and at.is_a(Kind.ENV),
    ),
    Beginning(
        "other step of an environment",
        _ADVANCING,
        STEP,
        "a method that steps an environment under another name, or takes its answer: `env.step_wait()`",
        lambda at: at.method not in _STEP and _ENV.fits(at.name),
    ),
    Beginning(
        "environment that acts",
        _ACTING,
        STEP,
        "`env.act(action)`, `game.make_action(action)`, but not `agent.act(obs)`",
        lambda at: bool(at.call.args) and (_ENV.fits(at.name) or (at.method == "make_action" and _GAME.fits(at.name))),
    ),
    Beginning(
        "environment that answers as a step does",
        None,
        STEP,
        "`obs, reward, done, info = envs.plan_and_act(goals)`, a method of any name that does not reset",
        lambda at: at.given and _ENV.fits(at.name) and "reset" not in at.method and _gives_answer(at.facts, at.call),
    ),
    Beginning(
        "environment that is called",
        {_CALLED},
        STEP,
        "`obs, reward, done = env(action)`, also as a helper wraps it: `on_device(env)(action)`",
        lambda at: _ENV.fits(at.name),
    ),
)


@cache
def _rows(method: str) -> tuple[Beginning, ...]:
    return tuple(row for row in BEGINNINGS if row.methods is None or method in row.methods)


def runs(facts: FileFacts, call: ast.Call, values: Values) -> str:
    """Return what a call runs, ``step`` or ``update``; empty if it begins nothing."""
    modelled = values.row(facts, call).get("runs")
    if isinstance(modelled, str):
        return modelled
    found = deciding(facts, call, values)
    return found.runs or "" if found is not None else ""


def deciding(facts: FileFacts, call: ast.Call, values: Values) -> Beginning | None:
    """Find the row that decides what a call runs."""
    func = call.func
    if not isinstance(func, ast.Attribute):
        return _called(facts, call, values)
    if not (rows := _rows(func.attr)):
        return None
    at = MethodCall(facts, call, func.value, values)
    return next((row for row in rows if row.holds(at)), None)


def stepped(call: ast.Call) -> ast.expr:
    """Return what a step is called on: ``env`` of ``env.step(action)``, ``env(action)``, ``on_device(env)(action)``."""
    match call.func:
        case ast.Attribute(value=receiver):
            return receiver
        case ast.Call(args=[wrapped, *_]):
            return wrapped
    return call.func


def _called(facts: FileFacts, call: ast.Call, values: Values) -> Beginning | None:
    """The row of an object that is called itself, as a step is: its answer is unpacked at once."""
    match facts.parent.get(call):
        case ast.Assign(targets=[ast.Tuple(elts=parts)]) if call.args and (
            _is_answer(parts) or _is_short_answer(parts)
        ):
            at = MethodCall(facts, call, stepped(call), values)
            return next((row for row in _rows(_CALLED) if row.methods is not None and row.holds(at)), None)
    return None


def _drawn_from_envs(facts: FileFacts, node: ast.expr) -> bool:
    """``e`` of ``for e, a in zip(envs, actions)``."""
    bindings = facts.scope_of(node).bindings.get(node.id, ()) if isinstance(node, ast.Name) else ()
    for binding in bindings:
        source, path = binding.value, binding.path
        while binding.how is Bind.ELEMENT and isinstance(source, ast.Call) and isinstance(source.func, ast.Name):
            place = path[0] if path and source.func.id == "zip" else 0
            if source.func.id not in ("zip", "enumerate", "reversed", "list") or not 0 <= place < len(source.args):
                break
            source, path = source.args[place], path[1:]
        if binding.how is Bind.ELEMENT and source is not None and _ENV.fits(rightmost_name(source)):
            return True
    return False


def _unpacks(facts: FileFacts, call: ast.Call) -> bool:
    """``obs, reward, done, info = x.step(action)``, also by way of a name, and of several ``zip(*x.step(actions))``."""
    match facts.statement(call):
        case ast.Assign(targets=[ast.Tuple(elts=parts), *_], value=value):
            direct = value is call and (len(parts) in _PARTS or _is_short_answer(parts))
            return direct or (_taken_apart(value) is call and _is_answer(parts))
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.Call() as value)
        ) if value is call:
            bound = facts.scope_of(call).function.bindings.values()
            return any(_is_part_of(each, name, call.lineno) for known in bound for each in known)
    return False


def _gives_answer(facts: FileFacts, call: ast.Call) -> bool:
    """Whether a call is unpacked at once, into names of what a step gives."""
    match facts.statement(call):
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value):
            return value is call and _is_answer(parts)
    return False


def _is_part_of(binding: Binding, name: str, row: int) -> bool:
    """Whether a name is bound to a part of the answer to a step that has a name since a row."""
    match binding.stmt:
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value) if binding.path and binding.stmt.lineno > row:
            whole = _taken_apart(value)
            return isinstance(whole, ast.Name) and whole.id == name and _is_answer(parts)
    return False


def _taken_apart(node: ast.expr) -> ast.expr:
    """What is taken apart: ``x`` of ``x``, of ``zip(*x)``, and of ``[list(part) for part in zip(*x)]``."""
    match node:
        case (
            ast.ListComp(generators=[ast.comprehension(iter=inner)])
            | ast.GeneratorExp(generators=[ast.comprehension(iter=inner)])
        ):
            return _taken_apart(inner)
        case ast.Call(func=ast.Name(id="zip"), args=[ast.Starred(value=inner)]):
            return inner
        case ast.Call(func=ast.Name(id="map" | "list" | "tuple"), args=[*_, inner]):
            return _taken_apart(inner)
    return node


def _is_short_answer(parts: Sequence[ast.expr]) -> bool:
    """Whether three names are those of an observation, a reward, and last the end of an episode."""
    return len(parts) == _PARTS[0] - 1 and _ENDED.fits(rightmost_name(parts[-1]))


def _is_answer(parts: Sequence[ast.expr]) -> bool:
    """Whether names are those of what a step of an environment gives."""
    words = [rightmost_name(part) for part in parts]
    return len(words) in _PARTS and any(_ENDED.fits(word) for word in words)

"""Functions that evaluate or begin an episode: they run seldom, however often the loop around the call of them runs.

Functions that go back to a saved state may run often, but their steps do not count as steps of a rollout.
"""

from __future__ import annotations

import ast

from torchlint.facts.code.model import LOOPS, FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.tree import names_in, walk
from torchlint.facts.values.tested import arms
from torchlint.models import Word, last_names

_NAME = Word("evaluation")
_RETURNS = Word("return to a state")
_HELD_OUT = Word("held-out data")
_ENV = Word("environment")
_LIMIT = Word("greatest size")
_BEGINS = frozenset(
    {"reset", "reset_all"}
    | {f"{verb}_{what}" for verb in ("begin", "initialize", "new", "reset", "start") for what in ("episode", "game")}
)
_GOING_ON = frozenset({"step", "backward"})
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)
_MODES = last_names(autograd="pauses")
# What a function calls that only switches modules to another mode.
_SWITCHING = frozenset({"eval", "train", "values", "items", "children", "modules", "super"})


def begins_episode(scope: Scope) -> bool:
    """Return whether a function begins an episode, by its name: ``reset``, ``new_episode``."""
    return scope.name.lstrip("_") in _BEGINS


def resets_its_environment(scope: Scope) -> bool:
    """Return whether a method only begins an episode: it resets the environment of its object whatever comes.

    ``def initial(self): return wrapped(self.env.reset())``, but not where it also steps, learns or loops.
    """
    if not isinstance(scope.node, ast.FunctionDef) or scope.method_of is None or scope.name == "__init__":
        return False
    if any(isinstance(call.func, ast.Attribute) and call.func.attr in _GOING_ON for call in scope.calls):
        return False
    always = [stmt for stmt in scope.node.body if isinstance(stmt, _SIMPLE)]
    resets = any(_is_reset(node, scope) for stmt in always for node in walk(stmt))
    return resets and not any(isinstance(node, LOOPS) for node in walk(scope.node))


def _is_reset(node: ast.AST, method: Scope) -> bool:
    """``self.env.reset()``."""
    match node:
        case ast.Call(func=ast.Attribute(attr="reset", value=ast.Attribute(attr=held, value=ast.Name(id=holder)))) if (
            holder == method.self_name
        ):
            return _ENV.fits(held)
    return False


def exceeds_training(test: ast.expr, facts: FileFacts) -> bool:
    """Return whether a test asks for an input longer than a model learns from, where it does not learn.

    ``if length > self.max_length: ...`` in the branch for ``not self.training``.
    """
    match test:
        case ast.Compare(left=ast.Name(), ops=[ast.Gt()], comparators=[ast.Attribute(attr=kept) as limit]):
            if _LIMIT.fits(kept) and facts.is_own(limit):
                return any(not truth and _is_training(part, facts) for part, truth in arms(facts, test))
    return False


def _is_training(node: ast.expr, facts: FileFacts) -> bool:
    """Whether an expression is the mode of the own module: ``self.training``."""
    return isinstance(node, ast.Attribute) and node.attr == "training" and facts.is_own(node)


def goes_back(scope: Scope) -> bool:
    """Return whether a function goes back to a saved state, by its name: it steps only to arrive there."""
    return _RETURNS.fits(scope.name)


def evaluates(scope: Scope) -> bool:
    """Return whether a function evaluates: by its name, without data to learn from.

    A method ``eval`` that only switches networks, ``self.net.eval()``, evaluates nothing.
    In a loop of its own it is given nothing at all, goes over data that were held out, or sets a mode in which nothing
    learns; without one, where another function goes over the data, it is given nothing and sets such a mode. By its
    name alone ``evaluate`` may as well give the chances of actions to a loss.
    """
    if scope.kind != "function" or not _NAME.fits(scope.name) or _only_switches(scope):
        return False
    nodes = list(walk(scope.node))
    loops = [node for node in nodes if isinstance(node, LOOPS)]
    given = [name for name in scope.params if name != scope.self_name]
    sets_mode = any(_is_mode(node) for node in nodes)
    if not loops:
        return not given and sets_mode
    held_out = any(_HELD_OUT.fits(name) for loop in loops if isinstance(loop, ast.For) for name in names_in(loop.iter))
    return not given or held_out or sets_mode


def _only_switches(scope: Scope) -> bool:
    """Whether a function does nothing but to switch modules to another mode."""
    return bool(scope.calls) and all(last_name(call.func) in _SWITCHING for call in scope.calls)


def _is_mode(node: ast.AST) -> bool:
    """``torch.no_grad``, ``net.eval()``, ``net.train(False)``."""
    if isinstance(node, (ast.Attribute, ast.Name)):
        return (node.attr if isinstance(node, ast.Attribute) else node.id) in _MODES
    match node:
        case ast.Call(func=ast.Attribute(attr="eval"), args=[], keywords=[]):
            return True
        case ast.Call(func=ast.Attribute(attr="train"), args=[ast.Constant(value=False)]):
            return True
    return False

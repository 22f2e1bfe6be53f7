"""Loops in which a language model makes one token after the other."""

from __future__ import annotations

import ast

from torchlint.facts.code.alike import alike
from torchlint.facts.code.model import LOOPS, FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.tree import names_in, walk
from torchlint.models import Word, last_names

_CHOOSES = Word("choice of a token")
_LANGUAGE = Word("language model")
_CACHED = "past_key_values"
_JOINING = last_names("torch", joins="parts", axis=("fixed", "given"))


def chooses_token(call: ast.Call) -> bool:
    """Return whether a call chooses a token, by its name."""
    return _CHOOSES.fits(last_name(call.func))


def makes_tokens(facts: FileFacts, loop: ast.AST) -> bool:
    """Return whether each round of a loop chooses a token and hands it on to the next round.

    The sequence grows by concatenation, or a cache of keys and values comes from the model and goes back to it.
    """
    if not isinstance(loop, LOOPS):
        return False
    scope = facts.scope_of(loop).function
    own = [node for stmt in loop.body for node in walk(stmt) if facts.scope_of(node).function is scope]
    if not any(isinstance(node, ast.Call) and chooses_token(node) for node in own):
        return False
    names = {name for stmt in loop.body for name in names_in(stmt)}
    if not any(_LANGUAGE.fits(name) for name in names):
        return False
    return any(_grows(node) for node in own) or _CACHED in names


def _grows(node: ast.AST) -> bool:
    """``ids = torch.cat([ids, new], dim=1)``, ``ids = F.pad(ids, (0, 1))``."""
    match node:
        case ast.Assign(
            targets=[ast.Name() | ast.Attribute() as target], value=ast.Call(func=func, args=[first, _, *_])
        ) if last_name(func) == "pad":
            return alike(first, target)
        case ast.Assign(
            targets=[ast.Name() | ast.Attribute() as target],
            value=ast.Call(func=func, args=[ast.List(elts=[first, _, *_]) | ast.Tuple(elts=[first, _, *_]), *_]),
        ):
            return last_name(func) in _JOINING and alike(first, target)
    return False

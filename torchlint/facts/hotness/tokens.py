"""Loops in which a language model makes one token after the other, or fills in tokens that are masked."""

from __future__ import annotations

import ast

from torchlint.facts.code.alike import alike, among
from torchlint.facts.code.jumps import Loop
from torchlint.facts.code.model import LOOPS, FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.tree import names_in, root_of, walk
from torchlint.models import Word, last_names

_CHOOSES = Word("choice of a token")
_LANGUAGE = Word("language model")
_MASK = Word("token that masks others")
_CACHED = "past_key_values"
_JOINING = last_names("torch", joins="parts", axis=("fixed", "given"))


def chooses_token(call: ast.Call) -> bool:
    """Return whether a call chooses a token, by its name."""
    return _CHOOSES.fits(last_name(call.func))


def makes_tokens(facts: FileFacts, loop: ast.AST) -> bool:
    """Return whether each round of a loop chooses a token and hands it on to the next round.

    The sequence grows by concatenation, a cache of keys and values comes from the model and goes back to it, or masked
    tokens of the sequence are filled in, as by a language model of diffusion.
    """
    if not isinstance(loop, LOOPS):
        return False
    if fills_in(facts, loop):
        return True
    own = _own(facts, loop)
    if not any(isinstance(node, ast.Call) and chooses_token(node) for node in own):
        return False
    names = {name for stmt in loop.body for name in names_in(stmt)}
    if not any(_LANGUAGE.fits(name) for name in names):
        return False
    return any(_grows(node) for node in own) or _CACHED in names


def fills_in(facts: FileFacts, loop: ast.AST) -> bool:
    """Return whether each round of a loop fills in masked tokens of a sequence: ``ids[chosen] = drawn[chosen]``.

    The loop writes to places of the sequence, which it compares with the token that masks them.
    """
    if not isinstance(loop, LOOPS) or b"mask" not in facts.source.utf8:
        return False
    own = _own(facts, loop)
    masked = [
        root_of(node.left)
        for node in own
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq)
        if _MASK.fits(last_name(node.comparators[0]))
    ]
    if not masked or not any(isinstance(node, ast.Attribute) and node.attr == "logits" for node in own):
        return False
    targets = (target for node in own if isinstance(node, ast.Assign) for target in node.targets)
    return any(isinstance(target, ast.Subscript) and among(root_of(target), masked) for target in targets)


def _own(facts: FileFacts, loop: Loop) -> list[ast.AST]:
    """The nodes in the body of a loop that belong to its function, not to a nested one."""
    scope = facts.scope_of(loop).function
    return [node for stmt in loop.body for node in walk(stmt) if facts.scope_of(node).function is scope]


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

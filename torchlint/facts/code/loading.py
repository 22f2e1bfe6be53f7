"""Modules that code loads by a text: ``import_module(f"agents.{name}")``, ``entry_point="agents.dqn:DQN"``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint.facts.code.linking import ANY
from torchlint.facts.code.model import Bind, FileFacts, Scope
from torchlint.facts.code.tree import inserted
from torchlint.late import regex
from torchlint.models import last_names

LOADING = last_names(names="module")
"""What imports the module that a text names."""

_DEPTH = 5
# Where the text of a format begins to depend on what is put in.
_FIELD = regex(r"[%{]")

_Said = Callable[[str], "ast.expr | str | None"]
"""What a name was last bound to, or the text that it is."""


def loaded(facts: FileFacts, call: ast.Call, scope: Scope) -> Iterator[str]:
    """Yield the dotted names that a call may import; of a text that is known in part any module of the package.

    Of a text that is not known, any module beside a package that loads it. The file is collected up to the call.
    """
    text, whole = _begins(call.args[0], _said(facts, scope))
    text = facts.absolute_text(text)
    if whole:
        yield text
    elif "." in text:
        yield text.rpartition(".")[0] + ANY
    elif facts.package and not text:
        yield facts.module + ANY


def registered_modules(call: ast.Call) -> Iterator[str]:
    """Yield the module of which a call registers a part by a text, as libraries and projects load it when asked."""
    for keyword in call.keywords:
        match keyword:
            case ast.keyword(arg="entry_point", value=ast.Constant(value=str(text))) if ":" in text:
                yield text.partition(":")[0]


def _said(facts: FileFacts, scope: Scope) -> _Said:
    """What names say in a scope, among them ``__name__``."""
    own = {"__name__": facts.module, "__package__": facts.absolute(1)}

    def last(name: str) -> ast.expr | str | None:
        bound = next((home.bindings[name][-1] for home in scope.outward() if name in home.bindings), None)
        if bound is None:
            return own.get(name)
        return bound.value if bound.how is Bind.ASSIGN and not bound.path else None

    return last


def _begins(node: ast.expr, said: _Said, depth: int = 0) -> tuple[str, bool]:
    """What a text begins with, as far as the file says it, and whether that is all of it."""
    match node:
        case ast.Constant(value=str(text)):
            return text, True
        case ast.Name(id=name) if depth < _DEPTH:
            known = said(name)
            if isinstance(known, str):
                return known, True
            return _begins(known, said, depth + 1) if known is not None else ("", False)
        case ast.BinOp(left=left, op=ast.Mod()) | ast.Call(func=ast.Attribute(value=left, attr="format")):
            return _FIELD.split(_begins(left, said, depth)[0])[0], False
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _joined([left, right], said, depth)
        case ast.JoinedStr(values=values):
            return _joined([inserted(each) for each in values], said, depth)
    return "", False


def _joined(parts: list[ast.expr | None], said: _Said, depth: int) -> tuple[str, bool]:
    """What several texts in a row begin with, and whether all of them are known."""
    begun = ""
    for part in parts:
        text, whole = _begins(part, said, depth) if part is not None else ("", False)
        begun += text
        if not whole:
            return begun, False
    return begun, True

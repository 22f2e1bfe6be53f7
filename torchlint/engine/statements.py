"""What the parts of a statement are in LibCST and in ``ast``; the counterpart of ``torchlint.engine.grammar``."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence

import libcst as cst

from torchlint.engine.grammar import (
    EXPRESSIONS,
    Children,
    FileEdits,
    Handler,
    PairingError,
    PairWalk,
    annotation,
    arguments,
    check,
    either,
    elements,
    entry,
    leaf,
    optional,
    same_assignment_operator,
    same_name,
    zipped,
)


def _module(_walk: PairWalk, node: cst.Module, twin: ast.Module) -> Children:
    return zipped(_flat(node.body), twin.body)


def _expression(_walk: PairWalk, node: cst.Expr, twin: ast.Expr) -> Children:
    return ((node.value, twin.value),)


def _assign(walk: PairWalk, node: cst.Assign, twin: ast.Assign) -> Children:
    check(len(node.targets) == len(twin.targets), "numbers of targets")
    targets = [walk.unwrap(part, part.target, target) for part, target in zip(node.targets, twin.targets, strict=True)]
    return *targets, (node.value, twin.value)


def _annotated(walk: PairWalk, node: cst.AnnAssign, twin: ast.AnnAssign) -> Children:
    return (
        (node.target, twin.target),
        *annotation(walk, node.annotation, twin.annotation),
        *optional(node.value, twin.value),
    )


def _augmented(_walk: PairWalk, node: cst.AugAssign, twin: ast.AugAssign) -> Children:
    same_assignment_operator(node.operator, twin.op)
    return (node.target, twin.target), (node.value, twin.value)


def _return(_walk: PairWalk, node: cst.Return, twin: ast.Return) -> Children:
    return optional(node.value, twin.value)


def _raise(walk: PairWalk, node: cst.Raise, twin: ast.Raise) -> Children:
    first = optional(node.exc, twin.exc)
    if node.cause is None or twin.cause is None:
        return (*first, *optional(node.cause, twin.cause))
    return *first, walk.unwrap(node.cause, node.cause.item, twin.cause)


def _assert(_walk: PairWalk, node: cst.Assert, twin: ast.Assert) -> Children:
    return (node.test, twin.test), *optional(node.msg, twin.msg)


def _delete(walk: PairWalk, node: cst.Del, twin: ast.Delete) -> Children:
    """``ast`` has no tuple for ``del a, b``, but one for ``del (a, b)``."""
    if isinstance(node.target, cst.Tuple) and not node.target.lpar:
        return elements(walk, node.target.elements, twin.targets)
    return zipped([node.target], twin.targets)


def _names(_walk: PairWalk, node: cst.Global | cst.Nonlocal, twin: ast.Global | ast.Nonlocal) -> Children:
    check(len(node.names) == len(twin.names), "numbers of names")
    check(all(same_name(item.name, name) for item, name in zip(node.names, twin.names, strict=True)), "names")
    return ()


def _import(_walk: PairWalk, node: cst.Import, twin: ast.Import) -> Children:
    return zipped(node.names, twin.names)


def _import_from(_walk: PairWalk, node: cst.ImportFrom, twin: ast.ImportFrom) -> Children:
    check(len(node.relative) == twin.level, "numbers of dots")
    return () if isinstance(node.names, cst.ImportStar) else zipped(node.names, twin.names)


def _body(block: cst.BaseSuite, edits: Sequence[ast.stmt]) -> Children:
    return zipped(_flat(block.body), edits)


def _flat(statements: Sequence[cst.CSTNode]) -> list[cst.CSTNode]:
    """Statements as ``ast`` counts them: a line with semicolons holds several."""
    found: list[cst.CSTNode] = []
    for statement in statements:
        if isinstance(statement, cst.SimpleStatementLine):
            found += statement.body
        else:
            found.append(statement)
    return found


def _otherwise(node: cst.If | cst.Else | None, edits: Sequence[ast.stmt]) -> Children:
    if node is None:
        return zipped((), edits)
    return zipped([node], edits) if isinstance(node, cst.If) else _body(node.body, edits)


def _if(walk: PairWalk, node: cst.If, twin: ast.If) -> Children:
    if walk.header_only:
        return ((node.test, twin.test),)
    return (node.test, twin.test), *_body(node.body, twin.body), *_otherwise(node.orelse, twin.orelse)


def _while(walk: PairWalk, node: cst.While, twin: ast.While) -> Children:
    if walk.header_only:
        return ((node.test, twin.test),)
    return (node.test, twin.test), *_body(node.body, twin.body), *_otherwise(node.orelse, twin.orelse)


def _for(walk: PairWalk, node: cst.For, twin: ast.For | ast.AsyncFor) -> Children:
    check((node.asynchronous is not None) == isinstance(twin, ast.AsyncFor), "loops")
    head = (node.target, twin.target), (node.iter, twin.iter)
    if walk.header_only:
        return head
    return *head, *_body(node.body, twin.body), *_otherwise(node.orelse, twin.orelse)


def _with(walk: PairWalk, node: cst.With, twin: ast.With | ast.AsyncWith) -> Children:
    check((node.asynchronous is not None) == isinstance(twin, ast.AsyncWith), "with statements")
    head = zipped(node.items, twin.items)
    return head if walk.header_only else (*head, *_body(node.body, twin.body))


def _with_item(walk: PairWalk, node: cst.WithItem, twin: ast.withitem) -> Children:
    if node.asname is None or twin.optional_vars is None:
        return (node.item, twin.context_expr), *optional(node.asname, twin.optional_vars)
    return (node.item, twin.context_expr), walk.unwrap(node.asname, node.asname.name, twin.optional_vars)


def _decorators(walk: PairWalk, nodes: Sequence[cst.Decorator], edits: Sequence[ast.expr]) -> Children:
    check(len(nodes) == len(edits), "numbers of decorators")
    return [walk.unwrap(node, node.decorator, twin) for node, twin in zip(nodes, edits, strict=True)]


def _function(walk: PairWalk, node: cst.FunctionDef, twin: ast.FunctionDef | ast.AsyncFunctionDef) -> Children:
    check(same_name(node.name, twin.name), "names")
    check((node.asynchronous is not None) == isinstance(twin, ast.AsyncFunctionDef), "functions")
    head = (
        *_decorators(walk, node.decorators, twin.decorator_list),
        *_type_parameters(walk, node.type_parameters, twin),
        (node.params, twin.args),
        *annotation(walk, node.returns, twin.returns),
    )
    return head if walk.header_only else (*head, *_body(node.body, twin.body))


def _class(walk: PairWalk, node: cst.ClassDef, twin: ast.ClassDef) -> Children:
    check(same_name(node.name, twin.name), "names")
    head = (
        *_decorators(walk, node.decorators, twin.decorator_list),
        *_type_parameters(walk, node.type_parameters, twin),
        *arguments(walk, (*node.bases, *node.keywords), twin.bases, twin.keywords),
    )
    return head if walk.header_only else (*head, *_body(node.body, twin.body))


def _try(walk: PairWalk, node: cst.Try, twin: ast.Try) -> Children:
    if walk.header_only:
        return ()
    return (
        *_body(node.body, twin.body),
        *zipped(node.handlers, twin.handlers),
        *_otherwise(node.orelse, twin.orelse),
        *(zipped((), twin.finalbody) if node.finalbody is None else _body(node.finalbody.body, twin.finalbody)),
    )


def _handler(_walk: PairWalk, node: cst.ExceptHandler | cst.ExceptStarHandler, twin: ast.ExceptHandler) -> Children:
    return *optional(node.type, twin.type), *_body(node.body, twin.body)


def _match(walk: PairWalk, node: cst.Match, twin: ast.Match) -> Children:
    if walk.header_only:
        return ((node.subject, twin.subject),)
    return (node.subject, twin.subject), *zipped(node.cases, twin.cases)


def _case(_walk: PairWalk, node: cst.MatchCase, twin: ast.match_case) -> Children:
    """Guard and body; patterns say nothing about values that a rule could ask, and stay without edits."""
    return *optional(node.guard, twin.guard), *_body(node.body, twin.body)


if sys.version_info >= (3, 12):

    def _type_parameters(
        walk: PairWalk,
        node: cst.TypeParameters | None,
        twin: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.TypeAlias,
    ) -> Children:
        params = () if node is None else node.params
        check(len(params) == len(twin.type_params), "numbers of type parameters")
        children: list[tuple[cst.CSTNode, ast.AST]] = []
        for param, other in zip(params, twin.type_params, strict=True):
            children.append(walk.unwrap(param, param.param, other))
            default = getattr(other, "default_value", None)
            children += optional(
                param.default, default.value if param.star and isinstance(default, ast.Starred) else default
            )
        return children

    def _type_variable(_walk: PairWalk, node: cst.TypeVar, twin: ast.TypeVar) -> Children:
        check(same_name(node.name, twin.name), "names")
        return optional(node.bound, twin.bound)

    def _type_alias(walk: PairWalk, node: cst.TypeAlias, twin: ast.TypeAlias) -> Children:
        return (
            (node.name, twin.name),
            *_type_parameters(walk, node.type_parameters, twin),
            (node.value, twin.value),
        )

else:

    def _type_parameters(_walk: PairWalk, node: cst.TypeParameters | None, _twin: ast.stmt) -> Children:
        if node is not None:
            raise PairingError("this Python has no type parameters")
        return ()


HANDLERS: dict[type[cst.CSTNode], tuple[FileEdits, Handler]] = dict(
    (
        *EXPRESSIONS.items(),
        entry(cst.Module, ast.Module, _module),
        entry(cst.Expr, ast.Expr, _expression),
        entry(cst.Assign, ast.Assign, _assign),
        entry(cst.AnnAssign, ast.AnnAssign, _annotated),
        entry(cst.AugAssign, ast.AugAssign, _augmented),
        entry(cst.Return, ast.Return, _return),
        entry(cst.Raise, ast.Raise, _raise),
        entry(cst.Assert, ast.Assert, _assert),
        entry(cst.Del, ast.Delete, _delete),
        entry(cst.Global, ast.Global, _names),
        entry(cst.Nonlocal, ast.Nonlocal, _names),
        entry(cst.Pass, ast.Pass, leaf),
        entry(cst.Break, ast.Break, leaf),
        entry(cst.Continue, ast.Continue, leaf),
        entry(cst.Import, ast.Import, _import),
        entry(cst.ImportFrom, ast.ImportFrom, _import_from),
        entry(cst.ImportAlias, ast.alias, leaf),
        entry(cst.If, ast.If, _if),
        entry(cst.While, ast.While, _while),
        either(cst.For, ast.For, ast.AsyncFor, _for),
        either(cst.With, ast.With, ast.AsyncWith, _with),
        entry(cst.WithItem, ast.withitem, _with_item),
        either(cst.FunctionDef, ast.FunctionDef, ast.AsyncFunctionDef, _function),
        entry(cst.ClassDef, ast.ClassDef, _class),
        entry(cst.Try, ast.Try, _try),
        entry(cst.ExceptHandler, ast.ExceptHandler, _handler),
        entry(cst.Match, ast.Match, _match),
        entry(cst.MatchCase, ast.match_case, _case),
    )
)

if sys.version_info >= (3, 11):

    def _try_star(_walk: PairWalk, node: cst.TryStar, twin: ast.TryStar) -> Children:
        return (
            *_body(node.body, twin.body),
            *zipped(node.handlers, twin.handlers),
            *_otherwise(node.orelse, twin.orelse),
            *(zipped((), twin.finalbody) if node.finalbody is None else _body(node.finalbody.body, twin.finalbody)),
        )

    HANDLERS.update(
        (entry(cst.TryStar, ast.TryStar, _try_star), entry(cst.ExceptStarHandler, ast.ExceptHandler, _handler))
    )

if sys.version_info >= (3, 12):
    HANDLERS.update(
        (
            entry(cst.TypeVar, ast.TypeVar, _type_variable),
            entry(cst.TypeVarTuple, ast.TypeVarTuple, leaf),
            entry(cst.ParamSpec, ast.ParamSpec, leaf),
            entry(cst.TypeAlias, ast.TypeAlias, _type_alias),
        )
    )

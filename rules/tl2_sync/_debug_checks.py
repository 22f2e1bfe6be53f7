"""Checks of tensors put behind a debug flag: the fix of TL201, and of TL208 where a condition exists to raise."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator

from torchlint import cst
from torchlint.facts.code.callers import stores_of
from torchlint.facts.code.model import Bind, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import is_false
from torchlint.late import regex
from torchlint.rule import Change, Fix, Kind, Option, Site
from torchlint.rule.build import expression, module_for, source

Reads = Callable[[Site, cst.BaseExpression], bool]
"""Whether an operand of a test reads a tensor, so that it is to be guarded."""
_FLAG = regex(r"(^|_)(debug\w*|sanity\w*|check_nans?|check_finite|check_numerics|validate|validation)($|_)")
_NEW_FLAG = "_DEBUG_CHECKS"
VARIABLE = Option[str]("variable", "TORCH_DEBUG_CHECKS", "the environment variable of the debug flag that the fix adds")
_BUILTINS = frozenset({"any", "all", "abs", "bool", "float", "int", "len", "max", "min"})


def behind_a_flag(site: Site, node: cst.If | cst.Assert, reads: Reads, variable: str) -> Fix | None:
    """Guard the test, or its operands that read tensors, by a debug flag; ``variable`` sets a new one."""
    if site.compiling.scripted() or _binds_name(node.test):
        return None
    flag, asserted = _debug_flag(site) or _NEW_FLAG, isinstance(node, cst.Assert)
    targets = _targets(site, node, reads)
    whole = len(targets) == 1 and targets[0] is node.test
    os_name, imports = module_for(site, "os", "os")
    definition = f'{_NEW_FLAG} = {os_name}.environ.get({json.dumps(variable)}) == "1"'
    effect_free = all(_is_effect_free(site, call) for call in calls(node.test))
    return Fix(
        message=f"check only when `{flag}` is set",
        replace=tuple((target, _form(_behind(flag, target, asserted), whole)) for target in targets),
        may_change=(Change.VALIDATION,),
        assumes="" if effect_free else "the calls in the test have no effect besides their value",
        imports=imports if flag == _NEW_FLAG else (),
        definitions=(definition,) if flag == _NEW_FLAG else (),
        under=flag if whole else "",
    )


def _binds_name(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.NamedExpr) or any(_binds_name(child) for child in node.children)


def _targets(site: Site, node: cst.If | cst.Assert, reads: Reads) -> list[cst.BaseExpression]:
    """What to guard: the whole test, or of ``x is None or torch.isnan(x).any()`` only what reads a tensor."""
    operands = _operands(node.test, cst.And if isinstance(node, cst.Assert) else cst.Or)
    reading = [operand for operand in operands if reads(site, operand)]
    return reading if len(reading) < len(operands) else [node.test]


def _form(guarded: cst.BooleanOperation, whole: bool) -> cst.BooleanOperation | str:
    """A guarded test; one among others in parentheses, for ``a or b and c`` is read wrongly."""
    return guarded if whole else f"({source(guarded)})"


def _behind(flag: str, target: cst.BaseExpression, asserted: bool) -> cst.BooleanOperation:
    """``flag and target``; where it is asserted ``not flag or target``. Parentheses around the target stay outside."""
    guard = expression(flag)
    if asserted:
        return cst.BooleanOperation(cst.UnaryOperation(cst.Not(), guard), cst.Or(), _operand(target, ()))
    return cst.BooleanOperation(guard, cst.And(), _operand(target, (cst.Or,)))


def _operand(node: cst.BaseExpression, looser: tuple[type[cst.BaseBooleanOp], ...]) -> cst.BaseExpression:
    """An expression as an operand: in parentheses if it binds more loosely than the operator."""
    bare = node.with_changes(lpar=[], rpar=[])
    if isinstance(bare, (cst.IfExp, cst.Lambda)) or (
        isinstance(bare, cst.BooleanOperation) and isinstance(bare.operator, looser)
    ):
        return bare.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return bare


def _is_effect_free(site: Site, call: cst.Call) -> bool:
    """Whether a call is proven to do nothing but compute: torch functions, methods of tensors, builtins."""
    func = call.func
    name = site.names.of(func) or ""
    if name.startswith(("torch.", "math.")) or name.removeprefix("builtins.") in _BUILTINS:
        return True
    return (
        isinstance(func, cst.Attribute)
        and not func.attr.value.endswith("_")
        and site.values.of(func.value).kind is Kind.TENSOR
    )


def _operands(test: cst.BaseExpression, operator: type[cst.BaseBooleanOp]) -> list[cst.BaseExpression]:
    """``[a, b, c]`` of ``a and b and c`` where the operator is ``and``; of anything else the expression itself."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, operator):
        return [*_operands(test.left, operator), *_operands(test.right, operator)]
    return [test]


def calls(node: cst.CSTNode) -> Iterator[cst.Call]:
    """Yield all calls in an expression, from outside to inside."""
    if isinstance(node, cst.Call):
        yield node
    for child in node.children:
        yield from calls(child)


def _debug_flag(site: Site) -> str | None:
    """A debug attribute or parameter in scope whose default is false."""
    scope: Scope | None = site.file.scope_of(site.twin).function
    while scope is not None and scope.kind == "function":
        for name in scope.params:
            default = scope.bindings[name][0].value
            if _FLAG.search(name) and len(scope.bindings[name]) == 1 and is_false(default):
                return name
        owner = scope.method_of
        if owner is not None and scope.self_name:
            attribute = _debug_attribute(site, owner)
            return f"{scope.self_name}.{attribute}" if attribute else None
        scope = scope.parent
    return None


def _debug_attribute(site: Site, owner: Scope) -> str | None:
    project = site.fact(Project)
    names = {name for cls in project.family(owner.dotted) for name in cls.stores if _FLAG.search(name)}
    for name in sorted(names):
        stores = list(stores_of(project, owner.dotted, name))
        if all(store.scope.kind == "class" or store.scope.name == "__init__" for store in stores) and all(
            _false_by_default(store.scope, store.binding.value) for store in stores
        ):
            return name
    return None


def _false_by_default(scope: Scope, value: ast.expr | None) -> bool:
    if is_false(value):
        return True
    if not isinstance(value, ast.Name):
        return False
    bound = scope.bindings.get(value.id, [])
    return len(bound) == 1 and bound[0].how is Bind.PARAM and is_false(bound[0].value)

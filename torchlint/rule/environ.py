"""Variables of the process environment that code sets: ``os.environ["NAME"] = value`` and its other spellings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint import cst
from torchlint.late import dataclass
from torchlint.models import function_names
from torchlint.rule.trigger import Call, Store

if TYPE_CHECKING:
    from torchlint.rule.site import Site

_SETTERS = frozenset({"os.environ.setdefault", "os.putenv", "os.environ.__setitem__"})
_UPDATE = "os.environ.update"
SETTING = Call(*_SETTERS, _UPDATE) | Store("os.environ")
_STARTERS = function_names(variables=True)
_VARIABLES, _HOLDER = "env_vars", "runtime_env"
WORKERS = Call(*_STARTERS)


@dataclass(frozen=True, slots=True)
class Setting:
    """A variable that is set: the names it may have, the value, and the node to report."""

    names: frozenset[str]
    value: cst.BaseExpression
    node: cst.CSTNode


def settings_at(site: Site) -> Iterator[Setting]:
    """Yield the variables that a call or a target of an assignment sets; ``SETTING`` finds such sites."""
    match site.node:
        case cst.Subscript(value=base, slice=[cst.SubscriptElement(slice=cst.Index(value=key))]):
            value = site.flow.stored()
            if value is not None and site.names.of(base) == "os.environ":
                yield Setting(site.names.texts(key), value, site.node)
        case cst.Call(func=func) as call if site.names.of(func) in _SETTERS:
            key_, given = site.calls.argument(call, 0, "key"), site.calls.argument(call, 1, "value")
            if key_ is not None and given is not None:
                yield Setting(site.names.texts(key_), given, call)
        case cst.Call(func=func) as call if site.names.of(func) == _UPDATE:
            yield from _updated(site, call)


def settings_of_workers(site: Site) -> Iterator[Setting]:
    """Yield the variables that a call sets in the processes that it starts; ``WORKERS`` finds such sites.

    ``ray.init(runtime_env={"env_vars": {"NAME": "1"}})``, ``RuntimeEnv(env_vars={"NAME": "1"})``.
    """
    call = site.node
    if not isinstance(call, cst.Call) or site.names.of(call.func) not in _STARTERS:
        return
    for argument in call.args:
        word = argument.keyword.value if argument.keyword is not None else ""
        if word in (_VARIABLES, _HOLDER):
            found = [argument.value]
            if word == _HOLDER:
                found = [value for key, value in _items(argument.value) if _VARIABLES in site.names.texts(key)]
            for key, value in (item for each in found for item in _items(each)):
                yield Setting(site.names.texts(key), value, value)


def _items(node: cst.BaseExpression) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """The keys and values that a dict is written out of."""
    for element in node.elements if isinstance(node, cst.Dict) else ():
        if isinstance(element, cst.DictElement):
            yield element.key, element.value


def _updated(site: Site, call: cst.Call) -> Iterator[Setting]:
    """``os.environ.update({"NAME": value}, NAME=value)``."""
    for argument in call.args:
        if argument.keyword is not None:
            yield Setting(frozenset({argument.keyword.value}), argument.value, argument.value)
        else:
            for key, value in _items(argument.value):
                yield Setting(site.names.texts(key), value, value)

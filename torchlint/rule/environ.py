"""Variables of the process environment that code sets: ``os.environ["NAME"] = value`` and its other spellings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint import cst
from torchlint.late import dataclass
from torchlint.rule.trigger import Call, Store

if TYPE_CHECKING:
    from torchlint.rule.site import Site

_SETTERS = frozenset({"os.environ.setdefault", "os.putenv", "os.environ.__setitem__"})
_UPDATE = "os.environ.update"
SETTING = Call(*_SETTERS, _UPDATE) | Store("os.environ")


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


def _updated(site: Site, call: cst.Call) -> Iterator[Setting]:
    """``os.environ.update({"NAME": value}, NAME=value)``."""
    for argument in call.args:
        if argument.keyword is not None:
            yield Setting(frozenset({argument.keyword.value}), argument.value, argument.value)
        elif isinstance(argument.value, cst.Dict):
            for element in argument.value.elements:
                if isinstance(element, cst.DictElement):
                    yield Setting(site.names.texts(element.key), element.value, element.value)

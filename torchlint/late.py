"""``dataclass`` as in the standard library, and regular expressions, compiled when they are first used.

The standard library compiles up to six methods for each class when its module is imported, and that is most of what it
costs to import a module of such classes. A run makes objects of few of the classes that it imports, compares fewer, and
prints none. Of a hundred regular expressions it needs a third.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields, is_dataclass
from reprlib import recursive_repr
from types import FunctionType, MethodType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass
    from re import compile as regex

    from _typeshed import DataclassInstance

    # Gives the text of a method of a class; what it needs besides its parameters is added to the names.
    _Text = Callable[[type[DataclassInstance], str, "_Names"], str]

__all__ = ["dataclass", "regex", "with_late_methods"]

_Names = dict[str, object]
_standard = dataclasses.dataclass
_OPTIONS = frozenset({"frozen", "eq", "slots", "order"})
_ORDER = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}

if not TYPE_CHECKING:

    def dataclass(cls: type | None = None, /, **options: bool) -> object:
        """Decorate a class as the standard library's ``dataclass`` does.

        Unusual classes are left to it: with other options than ``frozen``, ``eq``, ``slots`` and ``order``, or derived
        from another such class.
        """
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        if options.keys() - _OPTIONS or any(map(is_dataclass, cls.__mro__)):
            return _standard(cls, **options)
        made = with_late_methods(cls, **options)
        made.__dataclass_params__.frozen = options.get("frozen", False)
        return made

    class regex:
        """A regular expression: it takes the methods of ``re.Pattern`` one by one, when they are asked for."""

        def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
            """Take what ``re.compile`` takes; what is wrong with it is told at the first use."""
            self._given = pattern, flags

        def __getattr__(self, name: str) -> object:
            if name.startswith("__"):
                raise AttributeError(name)
            found = getattr(re.compile(*self._given), name)  # whose memory has the same for the next name
            setattr(self, name, found)
            return found


def with_late_methods(
    cls: type, *, frozen: bool = False, eq: bool = True, slots: bool = False, order: bool = False
) -> type[DataclassInstance]:
    """Make a class a dataclass with the fields that the standard library finds; none may be an ``InitVar``.

    It does not call itself frozen, though its objects are: the standard library would compile what guards them.
    """
    if cls.__doc__ is None:
        cls.__doc__ = f"{cls.__name__}(...)"  # or the standard library would write down a signature
    made: type[DataclassInstance] = _standard(init=False, repr=False, eq=False, slots=slots)(cls)
    texts: dict[str, _Text] = {"__init__": _frozen_init if frozen else _init}
    if eq:
        texts["__eq__"] = _comparison
    if order:
        texts |= dict.fromkeys(_ORDER, _comparison)
    if eq and frozen:
        texts["__hash__"] = _hash
    if frozen:
        texts |= {"__setattr__": _guard, "__delattr__": _guard}
    methods: dict[str, object] = {name: _Late(made, name, text) for name, text in texts.items()}
    methods["__repr__"] = _repr
    if eq and not frozen:
        methods["__hash__"] = None
    if frozen and slots:
        methods |= {"__getstate__": _getstate, "__setstate__": _setstate}
    own = {name for name, value in vars(made).items() if value is not None}
    for name in methods.keys() - own:
        setattr(made, name, methods[name])
    return made


class _Absent:
    """Stands for an argument that was not given, where what to take in its place is made for each object."""

    def __repr__(self) -> str:
        return "<factory>"


class _Late:
    """A method that is compiled and takes its own place when it is first asked for."""

    __slots__ = ("_holder", "_name", "_text")

    def __init__(self, holder: type[DataclassInstance], name: str, text: _Text) -> None:
        self._holder = holder
        self._name = name
        self._text = text

    def __set_name__(self, owner: type[DataclassInstance], _: str) -> None:
        self._holder = owner  # a copy of the class, made to give it slots

    def __get__(self, instance: object, _: type) -> FunctionType | MethodType:
        method = _compiled(self._holder, self._name, self._text)
        setattr(self._holder, self._name, method)
        return method if instance is None else MethodType(method, instance)


def _compiled(cls: type[DataclassInstance], name: str, text: _Text) -> FunctionType:
    names: _Names = {"__name__": cls.__module__}
    exec(text(cls, name, names), names)
    method = names[name]
    assert isinstance(method, FunctionType)
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    return method


def _init(cls: type[DataclassInstance], _: str, names: _Names) -> str:
    return _init_that(" self.{} = {}", cls, names)


def _frozen_init(cls: type[DataclassInstance], _: str, names: _Names) -> str:
    names["_store"] = object.__setattr__
    return _init_that(" _store(self, {!r}, {})", cls, names)


def _init_that(stores: str, cls: type[DataclassInstance], names: _Names) -> str:
    """The text of ``__init__``; what it needs besides its parameters is added to ``names``."""
    names["_absent"] = _Absent()
    parameters, lines = ["self"], []
    for each in sorted(fields(cls), key=lambda each: bool(each.kw_only)):
        name, default, value = each.name, f"_default_{each.name}", each.name
        if each.init and each.kw_only and "*" not in parameters:
            parameters.append("*")
        if each.default is not MISSING:
            names[default] = each.default
            parameter = f"{name}={default}"
            value = name if each.init else default
        elif each.default_factory is not MISSING:
            names[default] = each.default_factory
            parameter = f"{name}=_absent"
            value = f"{default}() if {name} is _absent else {name}" if each.init else f"{default}()"
        elif each.init:
            parameter = name
        else:
            continue
        if each.init:
            parameters.append(parameter)
        lines.append(stores.format(name, value))
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    return "\n".join((f"def __init__({', '.join(parameters)}):", *lines, " return None"))


def _compared(cls: type[DataclassInstance], of: str) -> str:
    return "".join(f"{of}.{each.name}, " for each in fields(cls) if each.compare)


def _comparison(cls: type[DataclassInstance], name: str, _: _Names) -> str:
    holds = f"({_compared(cls, 'self')}) {_ORDER.get(name, '==')} ({_compared(cls, 'other')})"
    return f"def {name}(self, other):\n return {holds} if other.__class__ is self.__class__ else NotImplemented"


def _hash(cls: type[DataclassInstance], _: str, __: _Names) -> str:
    return f"def __hash__(self):\n return hash(({_compared(cls, 'self')}))"


def _guard(cls: type[DataclassInstance], name: str, names: _Names) -> str:
    """The text of what keeps the fields of a frozen object as they are, but not what a derived class adds to it."""
    names |= {"_cls": cls, "_fields": {each.name for each in fields(cls)}, "_error": FrozenInstanceError}
    verb = "assign to" if name == "__setattr__" else "delete"
    return (
        f"def {name}(self, name, *value):\n"
        f" if type(self) is _cls or name in _fields:\n  raise _error(f'cannot {verb} field {{name!r}}')\n"
        f" super(_cls, self).{name}(name, *value)"
    )


@recursive_repr()
def _repr(self: DataclassInstance) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _getstate(self: DataclassInstance) -> list[object]:
    return [getattr(self, each.name) for each in fields(self)]


def _setstate(self: DataclassInstance, state: list[object]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)

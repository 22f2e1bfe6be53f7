"""What settings are: options of a command line, and objects of a class that a library fills from one or from a file."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from torchlint.facts.code.alike import among
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.tree import is_none
from torchlint.facts.values.asking import Ask
from torchlint.facts.values.join import BOOL, FLOAT, INT, STRING, join, list_of, tuple_of
from torchlint.facts.values.signatures import Of, is_true, keyword
from torchlint.late import dataclass
from torchlint.models import function_names
from torchlint.rule import UNKNOWN, Kind, Value

_NAMESPACE = "argparse.Namespace@"
"""Begins the class of what a parser of a command line gives: its attributes are the options of connected files."""
FLAGS = "absl.flags.FLAGS"
Near = Callable[[], Collection[str]]
_PARSER = Value(Kind.INSTANCE, name="argparse.ArgumentParser")
_OF_FIELDS = "transformers.HfArgumentParser"
_PARSERS, _FIELDS = function_names(parses="options"), function_names(parses="fields")
_FILLING = function_names(fills=True)
_CLASS_WORDS = ("config_class", "data_class", "f")
_TYPES = {"builtins.float": FLOAT, "builtins.int": INT, "builtins.bool": BOOL, "builtins.str": STRING}
_ACTIONS = {"store_true": BOOL, "store_false": BOOL, "count": INT}
_DEFINED = {"float": FLOAT, "integer": INT, "bool": BOOL, "boolean": BOOL, "string": STRING, "enum": STRING}
_DEFINING = {f"DEFINE_{word}": kind for word, kind in _DEFINED.items()}
_OF_PARSERS = frozenset({"add_argument", "add_argument_group", "parse_args", "parse_known_args"})
_SEVERAL = frozenset({"+", "*", "..."})


def made(name: str, call: ast.Call, of: Of) -> Value | None:
    """Return a parser of settings, or the object that a function fills with them; ``None`` for other calls."""
    if name in _PARSERS:
        return _PARSER
    if name not in _FIELDS and name not in _FILLING:
        return None
    classes = call.args[:1] or [word.value for word in call.keywords if word.arg in _CLASS_WORDS]
    given = of(classes[0]) if classes and not isinstance(classes[0], ast.Starred) else UNKNOWN
    if name in _FILLING:
        return _filled(given)
    listed = given.items if given.kind in (Kind.TUPLE, Kind.LIST) else (given,)
    return Value(Kind.INSTANCE, name=_OF_FIELDS, items=tuple(map(_filled, listed)))


def _filled(cls: Value) -> Value:
    return Value(Kind.INSTANCE, name=cls.name) if cls.kind is Kind.CLASS and "|" not in cls.name else UNKNOWN


def parsed(parser: Value, method: str, near: Near) -> Value | None:
    """Return what a method of a parser gives, ``None`` for other objects and methods.

    ``near`` gives the files that imports connect with the one that calls it, by path.
    """
    if parser == _PARSER and method in ("parse_args", "parse_known_args"):
        options = namespace(near())
        return options if method == "parse_args" else tuple_of(options, list_of(STRING))
    if parser.name == _OF_FIELDS and method.startswith("parse_") and method != "parse_args":
        return tuple_of(*parser.items)
    return None


def namespace(near: Collection[str]) -> Value:
    """Return what a parser of a command line gives in one of some connected files."""
    return Value(Kind.INSTANCE, name=f"{_NAMESPACE}{min(near)}")


def is_namespace(cls: str) -> bool:
    """Return whether a class is that of what a parser of a command line gives."""
    return cls.startswith(_NAMESPACE)


@dataclass(frozen=True, slots=True)
class Declared:
    """The options that connected files declare, by name; ``complete``: whether no other code can declare more."""

    options: Mapping[str, Sequence[tuple[FileFacts, ast.Call]]]
    complete: bool


@dataclass(eq=False, slots=True)
class ParsedOptions:
    """Answers what the options are that parsers in connected files declare; equal names are one option.

    The answer is unknown where code sets options that it does not name, as from a file of settings.
    """

    ask: Ask
    _declared: dict[str, Declared] = field(default_factory=dict)

    def of(self, cls: str, name: str, stored: Iterable[Value | None]) -> Value | None:
        """Return what an option of a namespace is by all declarations of its name, and by what code assigns to it.

        What is assigned decides alone only where all declarations are in sight, and none is of that name.
        """
        if cls not in self._declared:
            group = self.ask.project.groups[cls.removeprefix(_NAMESPACE)]
            self._declared[cls] = self._declarations([self.ask.project.files[path] for path in sorted(group)])
        declared = self._declared[cls]
        found = [self._option(facts, call, name) for facts, call in declared.options.get(name, ())]
        assigned = list(stored)
        if not found and not (assigned and declared.complete):
            return UNKNOWN
        return join((*found, *assigned))

    def _declarations(self, files: Sequence[FileFacts]) -> Declared:
        """The calls in some files that declare options, or set one that they name, by option."""
        declared: dict[str, list[tuple[FileFacts, ast.Call]]] = {}
        for facts, call in _calls(files, b"add_argument", b"DEFINE_", b"set_defaults", b"setattr"):
            for name in _named(call):
                declared.setdefault(name, []).append((facts, call))
        if not declared or set_by_text(files):
            return Declared({}, complete=False)
        return Declared(declared, "" not in declared and not self._are_declared_elsewhere(files))

    def _are_declared_elsewhere(self, files: Iterable[FileFacts]) -> bool:
        """Whether code of others may declare options: it is given a parser, or a parser is made with its parsers."""
        calls = list(_calls(files, b"add_argument", b"DEFINE_", b"ArgumentParser"))
        functions = (call.func for _, call in calls)
        parsers = [each.value for each in functions if isinstance(each, ast.Attribute) and each.attr in _OF_PARSERS]
        for facts, call in calls:
            given = (*call.args, *(word.value for word in call.keywords))
            if any(among(each, parsers) for each in given):
                if self.ask.project.qualified(facts, call.func) not in self.ask.project.functions:
                    return True
            if keyword(call, "parents") is not None and last_name(call.func) == "ArgumentParser":
                return True
        return False

    def _option(self, facts: FileFacts, call: ast.Call, name: str) -> Value | None:
        """What one declaration makes of an option."""
        if last_name(call.func) in ("set_defaults", "setattr"):
            given = keyword(call, name) or call.args[2]
            value = self.ask.value(facts, given)
            return _plain(value) if value is not None else None
        if (defined := _DEFINING.get(last_name(call.func))) is not None:
            return defined if len(call.args) > 1 and not is_none(call.args[1]) else UNKNOWN
        action = keyword(call, "action")
        if isinstance(action, ast.Constant):
            return _ACTIONS.get(str(action.value), UNKNOWN)
        if action is not None:
            return (
                BOOL if (self.ask.project.qualified(facts, action) or "").endswith("BooleanOptionalAction") else UNKNOWN
            )
        default, converter, many = keyword(call, "default"), keyword(call, "type"), keyword(call, "nargs")
        first = self.ask.value(facts, default) if default is not None else None
        if default is not None and first is None:
            return None
        kind = STRING if converter is None else _TYPES.get(self.ask.project.qualified(facts, converter) or "")
        shown = _plain(first) if first is not None else None
        if kind is None or (converter is None and shown is not None):
            kind = shown or UNKNOWN
        optional = not is_true(keyword(call, "required")) and _is_flag(call)
        if optional and (default is None or is_none(default)):
            return UNKNOWN
        if many is not None:
            several = isinstance(many, ast.Constant) and (many.value in _SEVERAL or isinstance(many.value, int))
            return list_of(kind) if several and kind.known else UNKNOWN
        agrees = shown is None or shown == kind or {shown.dtype, kind.dtype} == {"int", "float"}
        return kind if agrees else UNKNOWN


def set_by_text(files: Iterable[FileFacts]) -> bool:
    """Return whether some code sets defaults or attributes by texts: ``parser.set_defaults(**config)``, ``setattr``."""
    for facts, call in _calls(files, b"set_defaults", b"setattr", b"__dict__", b"vars(", b"parse_args", b"parse_known"):
        match call:
            case ast.Call(func=ast.Attribute(attr="set_defaults")) if any(w.arg is None for w in call.keywords):
                return True
            case ast.Call(func=ast.Attribute(attr="parse_args" | "parse_known_args")) if (
                len(call.args) > 1 or keyword(call, "namespace") is not None
            ):
                return True
            case ast.Call(func=ast.Name(id="setattr"), args=[owner, name, _]) if not isinstance(name, ast.Constant):
                if not (isinstance(owner, ast.Name) and owner.id == facts.scope_of(call).function.self_name):
                    return True
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Attribute(attr="__dict__") | ast.Call(func=ast.Name(id="vars")), attr="update"
                )
            ):
                return True
    return False


def _calls(files: Iterable[FileFacts], *words: bytes) -> Iterator[tuple[FileFacts, ast.Call]]:
    """Yield the calls in the files whose text holds one of some words."""
    for facts in files:
        if any(word in facts.source.utf8 for word in words):
            yield from ((facts, call) for scope in facts.scopes for call in scope.calls)


def _named(call: ast.Call) -> Iterator[str]:
    """Yield the options that a call declares or sets, an empty name where it is not seen."""
    match call:
        case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=str(name)), _]):
            yield name
        case ast.Call(func=ast.Attribute(attr="set_defaults"), keywords=words):
            yield from (word.arg for word in words if word.arg is not None)
        case _ if last_name(call.func) == "add_argument" or last_name(call.func) in _DEFINING:
            yield destination(call)


def _plain(value: Value) -> Value:
    """A number or text without the one that it is."""
    if value.kind is Kind.NUMBER:
        return {"bool": BOOL, "int": INT, "float": FLOAT}.get(value.dtype or "", UNKNOWN)
    return STRING if value.kind is Kind.STRING else UNKNOWN


def _is_flag(call: ast.Call) -> bool:
    return (
        not (isinstance(call.args[0], ast.Constant) and not str(call.args[0].value).startswith("-"))
        if call.args
        else True
    )


def destination(call: ast.Call) -> str:
    """Return the attribute that an option becomes, empty where that is not seen."""
    named = keyword(call, "dest")
    if named is not None:
        return named.value if isinstance(named, ast.Constant) and isinstance(named.value, str) else ""
    flags = [flag.value for flag in call.args if isinstance(flag, ast.Constant) and isinstance(flag.value, str)]
    long = [flag for flag in flags if flag.startswith("--")]
    return (long or flags or [""])[0].lstrip("-").replace("-", "_")

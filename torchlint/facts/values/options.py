"""What settings are: options of a command line, and objects of a class that a library fills from one or from a file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.tree import is_none
from torchlint.facts.values.asking import Ask
from torchlint.facts.values.join import BOOL, FLOAT, INT, STRING, join, list_of, tuple_of
from torchlint.facts.values.signatures import Of, is_true, keyword
from torchlint.late import dataclass
from torchlint.models import function_names
from torchlint.rule import UNKNOWN, Kind, Value

NAMESPACE = "argparse.Namespace"
"""The class of what a parser of a command line gives: its attributes are the options."""
FLAGS = "absl.flags.FLAGS"
_PARSER = Value(Kind.INSTANCE, name="argparse.ArgumentParser")
_OF_FIELDS = "transformers.HfArgumentParser"
_PARSERS, _FIELDS = function_names(parses="options"), function_names(parses="fields")
_FILLING = function_names(fills=True)
_CLASS_WORDS = ("config_class", "data_class", "f")
_TYPES = {"builtins.float": FLOAT, "builtins.int": INT, "builtins.bool": BOOL, "builtins.str": STRING}
_ACTIONS = {"store_true": BOOL, "store_false": BOOL, "count": INT}
_DEFINED = {"float": FLOAT, "integer": INT, "bool": BOOL, "boolean": BOOL, "string": STRING, "enum": STRING}
_DEFINING = {f"DEFINE_{word}": kind for word, kind in _DEFINED.items()}
_SEVERAL = frozenset({"+", "*", "..."})


def made(name: str, call: ast.Call, of: Of) -> Value | None:
    """Return a parser of settings, or the object that a function fills with them; ``None`` for other calls."""
    if name in _PARSERS:
        return _PARSER
    if name not in _FIELDS and name not in _FILLING:
        return None
    told = call.args[:1] or [word.value for word in call.keywords if word.arg in _CLASS_WORDS]
    given = of(told[0]) if told and not isinstance(told[0], ast.Starred) else UNKNOWN
    if name in _FILLING:
        return _filled(given)
    classes = given.items if given.kind in (Kind.TUPLE, Kind.LIST) else (given,)
    return Value(Kind.INSTANCE, name=_OF_FIELDS, items=tuple(map(_filled, classes)))


def _filled(cls: Value) -> Value:
    return Value(Kind.INSTANCE, name=cls.name) if cls.kind is Kind.CLASS and "|" not in cls.name else UNKNOWN


def parsed(parser: Value, method: str) -> Value | None:
    """Return what a method of a parser gives, ``None`` for other objects and methods."""
    if parser == _PARSER and method in ("parse_args", "parse_known_args"):
        options = Value(Kind.INSTANCE, name=NAMESPACE)
        return options if method == "parse_args" else tuple_of(options, list_of(STRING))
    if parser.name == _OF_FIELDS and method.startswith("parse_") and method != "parse_args":
        return tuple_of(*parser.items)
    return None


@dataclass(eq=False, slots=True)
class ParsedOptions:
    """Answers what the options are that the parsers of a project declare, told apart by name alone.

    Nothing is said where code sets options that it does not name, as from a file of settings.
    """

    ask: Ask
    _declared: dict[str, list[tuple[FileFacts, ast.Call]]] | None = field(default=None)

    def of(self, name: str) -> Value | None:
        """Return what an option is by all that declare it, unknown where nothing does."""
        if self._declared is None:
            self._declared = {}
            for facts in (*self._files(b"add_argument"), *self._files(b"DEFINE_")):
                for call in (call for scope in facts.scopes for call in scope.calls):
                    if last_name(call.func) == "add_argument" or last_name(call.func) in _DEFINING:
                        self._declared.setdefault(_destination(call), []).append((facts, call))
            if self._declared and self._are_set_by_text():
                self._declared = {}
        found = self._declared.get(name)
        return join(self._option(facts, call) for facts, call in found) if found else UNKNOWN

    def _files(self, word: bytes) -> Iterator[FileFacts]:
        return (facts for facts in self.ask.project.files.values() if word in facts.source.utf8)

    def _are_set_by_text(self) -> bool:
        """Whether some code sets defaults or attributes by texts: ``parser.set_defaults(**config)``, ``setattr``."""
        words = (b"set_defaults", b"setattr", b"__dict__", b"vars(")
        for facts in (facts for word in words for facts in self._files(word)):
            for call in (call for scope in facts.scopes for call in scope.calls):
                match call:
                    case ast.Call(func=ast.Attribute(attr="set_defaults")) if any(w.arg is None for w in call.keywords):
                        return True
                    case ast.Call(func=ast.Name(id="setattr"), args=[owner, name, _]) if not isinstance(
                        name, ast.Constant
                    ):
                        if not (isinstance(owner, ast.Name) and owner.id == facts.scope_of(call).function.self_name):
                            return True
                    case ast.Call(
                        func=ast.Attribute(
                            value=ast.Attribute(attr="__dict__") | ast.Call(func=ast.Name(id="vars")), attr="update"
                        )
                    ):
                        return True
        return False

    def _option(self, facts: FileFacts, call: ast.Call) -> Value | None:
        """What one declaration makes of an option."""
        if (defined := _DEFINING.get(last_name(call.func))) is not None:
            return defined if len(call.args) > 1 and not is_none(call.args[1]) else UNKNOWN
        action = keyword(call, "action")
        if isinstance(action, ast.Constant):
            return _ACTIONS.get(str(action.value), UNKNOWN)
        if action is not None:
            return (
                BOOL if (self.ask.project.qualified(facts, action) or "").endswith("BooleanOptionalAction") else UNKNOWN
            )
        default, told, many = keyword(call, "default"), keyword(call, "type"), keyword(call, "nargs")
        first = self.ask.value(facts, default) if default is not None else None
        if default is not None and first is None:
            return None
        kind = _TYPES.get(self.ask.project.qualified(facts, told) or "") if told is not None else STRING
        shown = _plain(first) if first is not None else None
        if kind is None or (told is None and shown is not None):
            kind = shown or UNKNOWN
        optional = not is_true(keyword(call, "required")) and _is_flag(call)
        if optional and (default is None or is_none(default)):
            return UNKNOWN
        if many is not None:
            several = isinstance(many, ast.Constant) and (many.value in _SEVERAL or isinstance(many.value, int))
            return list_of(kind) if several and kind.known else UNKNOWN
        agrees = shown is None or shown == kind or {shown.dtype, kind.dtype} == {"int", "float"}
        return kind if agrees else UNKNOWN


def _plain(value: Value) -> Value | None:
    """A number or text without the one that it is."""
    if value.kind is Kind.NUMBER:
        return {"bool": BOOL, "int": INT, "float": FLOAT}.get(value.dtype or "")
    return STRING if value.kind is Kind.STRING else UNKNOWN


def _is_flag(call: ast.Call) -> bool:
    return (
        not (isinstance(call.args[0], ast.Constant) and not str(call.args[0].value).startswith("-"))
        if call.args
        else True
    )


def _destination(call: ast.Call) -> str:
    """The attribute that an option becomes, empty where that is not seen."""
    told = keyword(call, "dest")
    if told is not None:
        return told.value if isinstance(told, ast.Constant) and isinstance(told.value, str) else ""
    flags = [flag.value for flag in call.args if isinstance(flag, ast.Constant) and isinstance(flag.value, str)]
    long = [flag for flag in flags if flag.startswith("--")]
    return (long or flags or [""])[0].lstrip("-").replace("-", "_")

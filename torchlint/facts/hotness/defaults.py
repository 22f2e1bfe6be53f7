"""What a project's command lines, classes and functions give a setting by default, by its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import constants_of
from torchlint.facts.code.model import Bind, FileFacts, Scope
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import conjuncts
from torchlint.facts.hotness.offering import Offering
from torchlint.late import dataclass
from torchlint.models import Word

_CHECK = Word("flag of a check of numbers")
_STORED = {"store_true": False, "store_false": True}
_SHORT = 2
"""An interval of this many rounds is over about as often as each round is."""


@dataclass(eq=False, slots=True)
class SettingDefaults(Fact):
    """Answers what a setting is by default: `use_wandb` of a parser, a dataclass, a dict or a function.

    Settings are told apart by name alone, because the object that holds them is seldom seen to come from a parser.
    """

    project: Project
    _off: dict[str, bool] = field(default_factory=dict)
    _on: dict[str, bool] = field(default_factory=dict)
    _short: dict[tuple[FileFacts, str], bool] = field(default_factory=dict)
    _offering: Offering = field(init=False)

    def __post_init__(self) -> None:
        self._offering = Offering(self.project)

    def off(self, name: str) -> bool:
        """Return whether a default of a setting is known, and all known ones are false, zero, empty or ``None``."""
        if name not in self._off:
            self._off[name] = {bool(default) for default in self._defaults(name)} == {False}
        return self._off[name]

    def checks(self, test: ast.expr) -> bool:
        """Return whether a test is a flag for a check of numbers that is on wherever it has a default."""
        name = last_name(test) if isinstance(test, (ast.Name, ast.Attribute)) else ""
        if not _CHECK.fits(name):
            return False
        if name not in self._on:
            defaults = list(self._defaults(name))
            self._on[name] = bool(defaults) and all(default is True for default in defaults)
        return self._on[name]

    def unset(self, facts: FileFacts, test: ast.expr, truth: bool) -> bool:
        """Return whether a test is true only with an optional setting that is off wherever it has a default.

        ``block`` of ``block = options.get("block", 0)``, where the command line has a default of 0, too. Or only with a
        value that no choice of an option is.
        """
        if self._offering.never(facts, test, truth):
            return True
        flags = (part for part, way in conjuncts(test, truth) if way and isinstance(part, ast.Name))
        return any(self._is_off(facts, flag) for flag in flags)

    def _is_off(self, facts: FileFacts, flag: ast.expr) -> bool:
        match self.project.reaching(facts, flag).value:
            case (
                ast.Call(
                    func=ast.Attribute(attr="get" | "pop"),
                    args=[ast.Constant(value=str(key)), ast.Constant() as default],
                )
                | ast.Call(
                    func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(key)), ast.Constant() as default]
                )
            ):
                return not default.value and self.off(key)
        return False

    def is_short(self, facts: FileFacts, period: ast.expr) -> bool:
        """Return whether an interval that code of a file asks for is over in each or every second round by default.

        What the file itself declares decides, where it declares a setting of that name. What its functions take by
        default does unless all that the project declares elsewhere says otherwise; else all of the project decides.
        """
        match period:
            case ast.Constant(value=value):
                return _is_short(value)
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
                key = facts, name
                if key not in self._short:
                    self._short[key] = self._is_short(facts, name)
                return self._short[key]
        return False

    def _is_short(self, facts: FileFacts, name: str) -> bool:
        taken = [default for scope in facts.scopes for default in _of_parameter(scope, name)]
        found = list(_declared(facts, name))
        others = [] if found else [*self._declared_anywhere(name), *constants_of(self.project, name)]
        if not found and taken:
            return all(map(_is_short, taken)) and (not others or any(map(_is_short, others)))
        found = found or [*others, *self._taken_anywhere(name)]
        return bool(found) and all(map(_is_short, found))

    def _defaults(self, name: str) -> Iterator[object]:
        """Every literal default of a setting in the project."""
        yield from self._declared_anywhere(name)
        yield from self._taken_anywhere(name)

    def _taken_anywhere(self, name: str) -> Iterator[object]:
        """What functions of the project take by default."""
        for facts in self._mentioning(name):
            for scope in facts.scopes:
                yield from _of_parameter(scope, name)

    def _declared_anywhere(self, name: str) -> Iterator[object]:
        """What classes, command lines and dicts of the project declare."""
        for facts in self._mentioning(name):
            yield from _declared(facts, name)
            for node in facts.nodes(ast.Dict):
                yield from _of_dict(node, name)

    def _mentioning(self, name: str) -> Iterator[FileFacts]:
        spellings = {name.encode(), name.replace("_", "-").encode()}
        for facts in self.project.files.values():
            if any(each in facts.source.utf8 for each in spellings):
                yield facts


def _is_short(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _SHORT


def _declared(facts: FileFacts, name: str) -> Iterator[object]:
    """The literal defaults of a setting among the fields of classes and the options of command lines in a file."""
    for scope in facts.scopes:
        yield from _of_field(scope, name)
        for call in scope.calls:
            yield from _of_option(call, name)
            yield from _of_settings(call, name)


def _of_parameter(scope: Scope, name: str) -> Iterator[object]:
    """``def train(self, use_wandb=False)``."""
    return _bound(scope, name, Bind.PARAM)


def _of_field(scope: Scope, name: str) -> Iterator[object]:
    """``use_wandb: bool = False`` in the body of a class."""
    return _bound(scope, name, Bind.ASSIGN) if scope.kind == "class" else iter(())


def _bound(scope: Scope, name: str, how: Bind) -> Iterator[object]:
    for binding in scope.bindings.get(name, ()):
        given = _given(binding.value) if binding.how is how and not binding.path else None
        if isinstance(given, ast.Constant):
            yield given.value


def _given(value: ast.expr | None) -> ast.expr | None:
    """The default that a field of a class declares: ``0`` of ``field(default=0, metadata=...)``."""
    match value:
        case ast.Call(func=ast.Name(id="field" | "Field") | ast.Attribute(attr="field" | "Field")):
            named = (word.value for word in value.keywords if word.arg == "default")
            return next(named, value.args[0] if value.args else None)
    return value


def _of_option(call: ast.Call, name: str) -> Iterator[object]:
    """``parser.add_argument("--use-wandb", action="store_true")``."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "add_argument" or not call.args:
        return
    words = {word.arg: word.value.value for word in call.keywords if isinstance(word.value, ast.Constant)}
    flags = [flag.value for flag in call.args if isinstance(flag, ast.Constant) and isinstance(flag.value, str)]
    named = words["dest"] if "dest" in words else flags[-1].lstrip("-").replace("-", "_") if flags else None
    if named == name and "default" in words:
        yield words["default"]
    elif named == name and isinstance(words.get("action"), str):
        yield _STORED.get(str(words["action"]), False)


def _of_settings(call: ast.Call, name: str) -> Iterator[object]:
    """``dict(use_wandb=False)``, and ``self.config.update(use_wandb=False)`` of defaults that come before others."""
    match call.func:
        case ast.Name(id="dict") | ast.Attribute(attr="update"):
            for word in call.keywords:
                if word.arg == name and isinstance(word.value, ast.Constant):
                    yield word.value.value


def _of_dict(node: ast.Dict, name: str) -> Iterator[object]:
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == name and isinstance(value, ast.Constant):
            yield value.value

"""What a project's command lines, classes and functions give a setting by default, by its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.late import dataclass

_STORED = {"store_true": False, "store_false": True}


@dataclass(eq=False, slots=True)
class SettingDefaults:
    """Answers whether a setting is off by default: `use_wandb` of a parser, a dataclass, a dict or a function.

    Settings are told apart by name alone, because the object that holds them is seldom seen to come from a parser.
    """

    project: Project
    _truths: dict[str, set[bool]] | None = field(default=None)

    def off(self, name: str) -> bool:
        """Whether some default of a setting is seen, and all that are seen are false, zero, empty or ``None``."""
        if self._truths is None:
            self._truths = {}
            for setting, value in self._all():
                self._truths.setdefault(setting, set()).add(bool(value))
        return self._truths.get(name) == {False}

    def _all(self) -> Iterator[tuple[str, object]]:
        """Every literal default in the project, with the name of its setting."""
        for facts in self.project.files.values():
            for scope in facts.scopes:
                yield from _of_parameters(scope.node)
                if scope.kind == "class":
                    yield from _of_class(scope.node)
                for call in scope.calls:
                    yield from _of_option(call)
            for node in walk(facts.tree):
                if isinstance(node, ast.Dict):
                    yield from _of_dict(node)


def _of_parameters(node: ast.AST) -> Iterator[tuple[str, object]]:
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    given = node.args
    named = [*given.posonlyargs, *given.args]
    named = [*named[len(named) - len(given.defaults) :], *given.kwonlyargs]
    for parameter, default in zip(named, [*given.defaults, *given.kw_defaults], strict=True):
        if isinstance(default, ast.Constant):
            yield parameter.arg, default.value


def _of_class(node: ast.AST) -> Iterator[tuple[str, object]]:
    for stmt in node.body if isinstance(node, ast.ClassDef) else ():
        match stmt:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=value)):
                yield name, value
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)):
                yield name, value


def _of_option(call: ast.Call) -> Iterator[tuple[str, object]]:
    """``parser.add_argument("--use-wandb", action="store_true")``."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "add_argument" or not call.args:
        return
    words = {word.arg: word.value.value for word in call.keywords if isinstance(word.value, ast.Constant)}
    flags = [flag.value for flag in call.args if isinstance(flag, ast.Constant) and isinstance(flag.value, str)]
    names = [words["dest"]] if "dest" in words else [flag.lstrip("-").replace("-", "_") for flag in flags[-1:]]
    action = words.get("action")
    for name in names:
        if isinstance(name, str) and ("default" in words or isinstance(action, str)):
            yield name, words["default"] if "default" in words else _STORED.get(str(action), False)


def _of_dict(node: ast.Dict) -> Iterator[tuple[str, object]]:
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and isinstance(value, ast.Constant):
            yield key.value, value.value

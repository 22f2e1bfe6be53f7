"""Click, made to name the nearest valid word for every wrong one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from torchlint.settings.check import nearest

if TYPE_CHECKING:
    from click.decorators import FC
    from click.shell_completion import CompletionItem

    _Word = click.ParamType[str]
    _WordList = click.ParamType[tuple[str, ...]]
    _PatternList = click.ParamType[tuple[tuple[str, tuple[str, ...]], ...]]
else:
    # Click before 8.4 has no generic type of parameters.
    _Word = _WordList = _PatternList = click.ParamType


SELECTORS = "selectors"
# Longer lists of words would leave no room for the text beside them.
_WIDE = 40


class InterruptedCommandError(Exception):
    """An interrupt while a command ran. Click writes an empty line for the one that Python raises."""


class CommandGroup(click.Group):
    """A group that names the nearest command, and imports the module of a command when it is called.

    Attributes:
        lazy: by name of a command, the module that defines a function of that name.
    """

    lazy: Mapping[str, str] = MappingProxyType({})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, whether their modules are imported or not."""
        return sorted({*super().list_commands(ctx), *self.lazy})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name."""
        if cmd_name not in self.lazy:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(import_module(self.lazy[cmd_name]), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Call the command.

        Raises:
            InterruptedCommandError: the run is to end.
        """
        try:
            result: object = super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise InterruptedCommandError from error
        return result

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or fail with the nearest one."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"no such command: {name}{nearest(name, self.list_commands(ctx))}", ctx)
        return super().resolve_command(ctx, args)


def _items(words: Iterable[str]) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(word) for word in words]


Ignores = tuple[tuple[str, tuple[str, ...]], ...]


class OneOf(_Word):
    """One word of several."""

    name = "choice"

    def __init__(self, choices: Sequence[str]) -> None:
        """Take the words to choose from."""
        self.choices = tuple(choices)

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the words that begin with the typed text."""
        return _items(word for word in self.choices if word.startswith(incomplete))

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word as it is."""
        if value in self.choices:
            return value
        message = f"{value!r} is not one of {', '.join(self.choices)}{nearest(value, self.choices)}"
        self.fail(message, param, ctx)


def choice_option(
    *names: str, choices: Sequence[str], text: str, default: str | None = None, envvar: str | None = None
) -> Callable[[FC], FC]:
    """Return an option that takes one of several words and shows them in its help."""
    metavar = "|".join(choices)
    if len(metavar) > _WIDE:
        metavar, text = "NAME", f"{text} One of {', '.join(choices)}."
    return click.option(*names, type=OneOf(choices), metavar=metavar, default=default, envvar=envvar, help=text)


def _codes() -> Sequence[str]:
    """The codes of all rules, those of rule packages included."""
    from torchlint.cli.rulebook import rules_here
    from torchlint.engine.rules import load_rules
    from torchlint.settings.check import SettingsError

    try:
        return [rule.code for rule in rules_here()]
    except SettingsError:  # whoever completes a word is told nothing of the settings
        return [rule.code for rule in load_rules()]


def complete_code(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the codes of rules that begin with the typed text."""
    return _items(code for code in _codes() if code.startswith(incomplete.upper()))


class Words(_WordList):
    """Words separated by commas, each one of ``choices`` where there are some."""

    def __init__(self, name: str, choices: Sequence[str] = ()) -> None:
        """Take the name that stands for a word in the help, and the words to choose from."""
        self.name = name
        self._one_of = OneOf(choices) if choices else None

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the completions of the last of the words."""
        before, comma, last = incomplete.rpartition(",")
        codes = _codes() if self.name == SELECTORS else ()
        known = self._one_of.choices if self._one_of else codes
        return _items(f"{before}{comma}{word}" for word in known if word.startswith(last))

    def convert(
        self, value: str | tuple[str, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the words, stripped and without empty ones."""
        if not isinstance(value, str):
            return value
        words = tuple(word.strip() for word in value.split(",") if word.strip())
        return tuple(self._one_of.convert(word, param, ctx) for word in words) if self._one_of else words


class FilePatterns(_PatternList):
    """Patterns of files, each with selectors: ``tests/*:TL1,demo.py:TL201``."""

    name = "pattern:selector"

    def convert(self, value: str | Ignores, param: click.Parameter | None, ctx: click.Context | None) -> Ignores:
        """Return pairs of a pattern and its selectors; a selector without a pattern belongs to the last pattern."""
        if not isinstance(value, str):
            return value
        pairs: list[tuple[str, tuple[str, ...]]] = []
        for word in filter(None, map(str.strip, value.split(","))):
            pattern, colon, selector = word.rpartition(":")
            if not colon and pairs:
                pairs[-1] = (pairs[-1][0], (*pairs[-1][1], word))
            elif pattern and selector:
                pairs.append((pattern, (selector,)))
            else:
                self.fail(f"{word!r} is not of the form PATTERN:SELECTOR, e.g. 'tests/*:TL1'", param, ctx)
        return tuple(pairs)

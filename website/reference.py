"""Reference pages: every setting from its definition, every command from its click command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import click

from torchlint.cli.app import application
from torchlint.cli.help import Sectioned
from torchlint.settings.describe import KEYS, Key, default_of, toml_value


def settings_page() -> str:
    """Return all keys of a settings file: what they do, what they may be, what holds without them."""
    parts = [
        "---\ntitle: Settings\n---",
        "# Settings",
        "In `pyproject.toml` settings are in `[tool.torchlint]`, in `torchlint.toml` and `.torchlint.toml` they have "
        "no heading. The settings file closest to a linted file counts for it; `extend` merges a parent. What steers "
        "a run as a whole (output, exit code, hotness, baseline) comes from the file closest to the paths that are "
        "given. A flag of the command line wins over both. An unknown key is an error that names the file, the line "
        "and the nearest key. `torchlint config` prints this page for a terminal, `torchlint config --schema` the JSON "
        "schema.",
    ]
    for name, key in KEYS.items():
        parts += [f"## {name}", key.text, "\n".join(_facts(name, key)), _example(name, key)]
    return "\n\n".join(parts) + "\n"


def _facts(name: str, key: Key) -> Iterator[str]:
    default = default_of(name)
    shown = "none" if default is None else f"`{toml_value(default)}`"
    if isinstance(default, list) and len(default) > 8:
        shown = ", ".join(f"`{item}`" for item in default)
    yield f"- **Takes**: {_kind(key.schema)}"
    yield f"- **Default**: {shown}"


def _kind(schema: Mapping[str, object]) -> str:
    """A JSON schema in words."""
    words = schema.get("enum")
    if isinstance(words, Sequence):
        return "one of " + ", ".join(f"`{word}`" for word in words)
    items = schema.get("items")
    if isinstance(items, Mapping):
        pattern = items.get("pattern")
        inner = "strings like `package.module:function`" if pattern else _kind(items).replace("a string", "strings")
        return f"a list of {inner}" if not inner.startswith("one of") else f"a list; each {inner}"
    if schema.get("type") == "object":
        return "a table"
    return {"boolean": "`true` or `false`", "integer": "a whole number"}.get(str(schema.get("type")), "a string")


def _example(name: str, key: Key) -> str:
    line = f"{name} = {key.example}"
    return f"```toml\n[tool.torchlint]\n{line}\n```"


def commands_page() -> str:
    """Return all commands: how they are called, their examples and their options."""
    context = click.Context(application, info_name="torchlint", help_option_names=["-h", "--help"])
    parts = [
        "---\ntitle: Command line\n---",
        "# Command line",
        "Every command has `--help` with examples. Codes, prefixes, names and `ALL` select rules wherever a flag takes "
        "selectors.",
        "| Exit code | Means |\n|---|---|\n| 0 | clean, everything fixed, or only findings below `--fail-level` |\n"
        "| 1 | findings remain; with `--diff`, something would change; of `verify`: fixes were rejected |\n"
        "| 2 | wrong usage, broken settings, unreadable input, or an internal error |",
    ]
    for path, command in _commands(application, context, ()):
        parts += _command(path, command, context)
    parts += [
        "## Environment",
        "\n".join(
            [
                "| Variable | Does |",
                "|---|---|",
                *_variables(context),
                "| `TORCHLINT_DATA_DIR` | where `bench` keeps what it measured |",
                "| `TORCHLINT_VERIFY` | is 1 for the command that `verify` runs |",
                "| `NO_COLOR`, `FORCE_COLOR` | no colours; colours even where the output is no terminal |",
            ]
        ),
        "## Completion",
        'In `.bashrc`: `eval "$(_TORCHLINT_COMPLETE=bash_source torchlint)"`; in `.zshrc` the same with `zsh_source`; '
        "for fish `_TORCHLINT_COMPLETE=fish_source torchlint | source`. Codes of rules complete, too, those of rule "
        "packages included.",
    ]
    return "\n\n".join(parts) + "\n"


def _commands(
    group: click.Group, context: click.Context, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    # What is called most comes first.
    for name in sorted(group.list_commands(context), key=lambda name: (name != "check", name)):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, context, (*path, name))
        elif command is not None:
            yield (*path, name), command


def _variables(context: click.Context) -> Iterator[str]:
    """The environment variables that stand for options, a row each."""
    for path, command in _commands(application, context, ()):
        for option in command.params:
            if isinstance(option, click.Option) and isinstance(option.envvar, str):
                yield f"| `{option.envvar}` | stands for `{option.opts[-1]}` of `torchlint {' '.join(path)}` |"


def _command(path: tuple[str, ...], command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=" ".join(path), parent=parent)
    yield f"## torchlint {' '.join(path)}"
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```\ntorchlint {' '.join(path)} {usage}\n```"
    yield from _help(command.help or "")
    options = {param.name: param for param in command.params if isinstance(param, click.Option) and param.name}
    sections = dict(command.sections) if isinstance(command, Sectioned) else {}
    listed = {name for names in sections.values() for name in names}
    others = [name for name in options if name not in listed]
    for heading, names in (*sections.items(), ("", others)):
        rows = [record for each in names if (record := options[each].get_help_record(context))]
        if rows:
            if heading:
                yield f"### {heading}" + f" {{ #{path[-1]}-{_slug(heading)} }}"
            yield "\n".join(
                ["| Option | Does |", "|---|---|", *(f"| `{name}` | {_cell(text)} |" for name, text in rows)]
            )


def _help(text: str) -> Iterator[str]:
    """The paragraphs of a command's help; those after a backspace are kept as they are."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in paragraph.splitlines()]
        if lines[0] != "\b":
            yield " ".join(lines).replace("|", "\\|")
        elif lines[1].endswith(":"):
            yield "\n".join(["```", *lines[2:], "```"])
        else:
            yield " ".join(lines[1:])


def _slug(text: str) -> str:
    return text.lower().replace(" ", "-")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

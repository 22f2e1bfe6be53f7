"""Writes ``torchlint/cli/flags.py``, the table of the reader without click, from the click command."""

from __future__ import annotations

from pathlib import Path

import click

from torchlint.cli.check import check
from torchlint.cli.nearest import FilePatterns, OneOf, Words

FILE = Path(__file__).resolve().parent.parent / "torchlint" / "cli" / "flags.py"
# Rare, and with a grammar of their own: click reads these.
LEFT_TO_CLICK = ("add_noqa", "per_file_ignores", "target_torch")

HEAD = '''"""The options of ``torchlint check`` for the reader without click; ``make index`` writes this file.

``FLAGS`` gives for each option its parameter and what it takes, ``ENVIRONMENT`` the same for variables, ``CHOICES`` the
words that a parameter may have, ``START`` the parameters when nothing is given.
"""

'''


def kind_of(option: click.Option) -> str:
    """What an option takes, in a word that the reader knows."""
    kind = option.type
    if option.is_flag:
        return "on"
    if isinstance(kind, Words):
        return "words"
    if isinstance(kind, OneOf):
        return "choice"
    if isinstance(kind, click.IntRange):
        assert (kind.min, kind.max) == (1, None)
        return "count"
    if isinstance(kind, click.Path):
        assert not kind.exists
        return "path" if kind.dir_okay and kind.file_okay else "file" if kind.file_okay else "folder"
    assert kind is click.STRING, f"{option.name}: the plain reader knows no {kind}"
    return "each" if option.multiple else "text"


def table() -> str:
    """The text of the file."""
    flags: dict[str, tuple[str, str]] = {}
    choices: dict[str, tuple[str, ...]] = {}
    environment: dict[str, tuple[str, str]] = {}
    for option in check.params:
        if (
            not isinstance(option, click.Option)
            or option.name in LEFT_TO_CLICK
            or isinstance(option.type, FilePatterns)
        ):
            continue
        kind = kind_of(option)
        flags.update(dict.fromkeys(option.opts, (option.name, kind)))
        flags.update(dict.fromkeys(option.secondary_opts, (option.name, "off")))
        one_of = option.type._one_of if isinstance(option.type, Words) else option.type
        if isinstance(one_of, OneOf):
            choices[option.name] = one_of.choices
        if option.envvar:
            environment[option.envvar] = (option.name, kind)
    start = dict(sorted(check.make_context("check", [], help_option_names=["-h", "--help"]).params.items()))
    return (
        HEAD
        + "\n".join(
            f"{name} = {{\n{''.join(f'    {key!r}: {value!r},{chr(10)}' for key, value in rows.items())}}}"
            for name, rows in (("FLAGS", flags), ("CHOICES", choices), ("ENVIRONMENT", environment), ("START", start))
        ).replace("'", '"')
        + "\n"
    )


if __name__ == "__main__":
    FILE.write_text(table(), encoding="utf-8")

"""The help of a command with many options: under headings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import click


class Sectioned(click.Command):
    """A command whose options are listed under headings.

    Attributes:
        sections: by heading, the names of parameters, in the order of the help.
    """

    sections: ClassVar[Mapping[str, Sequence[str]]] = {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, those of no section last."""
        listed = {name for names in self.sections.values() for name in names}
        params = (param for param in self.get_params(ctx) if isinstance(param, click.Option))
        options = {param.name: param for param in params if param.name}
        others = [name for name in options if name not in listed]
        for heading, names in (*self.sections.items(), ("Other options", others)):
            records = [record for name in names if (record := options[name].get_help_record(ctx))]
            with formatter.section(heading):
                formatter.write_dl(records)

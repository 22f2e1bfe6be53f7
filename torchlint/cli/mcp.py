"""``torchlint mcp``: the server for coding agents."""

from __future__ import annotations

import gc
import os
from importlib import import_module
from pathlib import Path

import click

from torchlint import __version__
from torchlint.cli import OK


@click.command(short_help="Run the server for coding agents.")
@click.argument("folder", default=".", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--read-only", is_flag=True, help="Omit the tools that run a command: count and verify.")
def mcp(folder: Path, read_only: bool) -> int:
    """Serve the Model Context Protocol on standard input and output, for coding agents.

    \b
    Examples:
      torchlint mcp               for the project in this folder
      torchlint mcp --read-only   no tool that runs a command

    Requires torchlint[mcp]. The documentation describes the setup of agents, and a text for them in your repository.
    """
    try:
        import_module("mcp.server.mcpserver")
    except ImportError as error:
        raise click.ClickException(
            f"torchlint mcp needs the package mcp ({error}): pip install 'torchlint[mcp]'"
        ) from error
    from torchlint.agents.serve import serve

    gc.enable()  # it runs as long as the agent does
    serve(Path(os.path.abspath(folder)), __version__, read_only=read_only)
    return OK

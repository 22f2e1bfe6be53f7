"""``torchlint server``: the language server."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import redirect_stdout
from importlib import import_module

import click

from torchlint import __version__
from torchlint.cli import FOUND, OK


@click.command(short_help="Run the language server for editors.")
def server() -> int:
    """Serve the language server protocol on standard input and output, for editors.

    \b
    Examples:
      torchlint server

    Requires torchlint[server]. The documentation describes the setup of VS Code, Neovim, Helix, Zed and Emacs.
    """
    try:
        import_module("pygls.lsp.server")
    except ImportError as error:
        raise click.ClickException(
            f"torchlint server needs pygls ({error}): pip install 'torchlint[server]'"
        ) from error
    from torchlint.server.serve import ProtocolError, serve

    if sys.stdin is None:
        raise click.ClickException("standard input is closed")
    gc.enable()  # it runs as long as the editor does
    try:
        # The server closes its stream at the end; whatever a rule prints is not part of the protocol.
        with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as stdout, redirect_stdout(sys.stderr):
            in_order = serve(sys.stdin.buffer, stdout, __version__)
    except ProtocolError as error:
        raise click.ClickException(f"standard input: {error}") from error
    return OK if in_order else FOUND

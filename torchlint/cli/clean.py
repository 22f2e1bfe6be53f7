"""``torchlint clean``: remove what torchlint keeps in a project."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from torchlint.cli import OK
from torchlint.cli.output import write
from torchlint.settings.root import project_root

_CACHE = ".torchlint_cache"


@click.command(short_help="Remove the cache of a project.")
@click.argument("path", default=".", type=click.Path(exists=True, path_type=Path))
def clean(path: Path) -> int:
    """Remove the cache of the project that holds PATH (default: this folder). Nothing else is touched.

    \b
    Examples:
      torchlint clean
      torchlint clean ../other-project
    """
    cache = project_root(path) / _CACHE
    if cache.is_symlink() or not cache.is_dir():
        write(sys.stdout, f"There is no {cache}\n")
        return OK
    try:
        shutil.rmtree(cache)
    except OSError as error:
        raise click.ClickException(f"cannot remove {cache}: {error.strerror or error}") from error
    write(sys.stdout, f"Removed {cache}\n")
    return OK

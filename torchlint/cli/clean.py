"""``torchlint clean``: remove what torchlint keeps of a project."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from torchlint.cache.place import FOLDER
from torchlint.cache.store import path_of
from torchlint.cli import OK
from torchlint.cli.output import write
from torchlint.settings.root import project_root


@click.command(short_help="Remove the cache of the project.")
@click.argument("path", default=".", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--cache-dir",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="TORCHLINT_CACHE_DIR",
    help="Cache folder (default: .torchlint_cache in the project).",
)
def clean(path: Path, cache_dir: Path | None) -> int:
    """Remove the cache of the project that holds PATH (default: this folder). Nothing else is touched.

    \b
    Examples:
      torchlint clean
      torchlint clean ../other-project
    """
    root = project_root(path)
    # A folder of the user's choice may hold the caches of other projects, and anything else.
    cache = root / FOLDER if cache_dir is None else Path(path_of(os.path.abspath(cache_dir), str(root)))
    kept = cache.is_dir() if cache_dir is None else cache.is_file()
    link = cache.is_symlink()
    if not kept and not link:
        write(sys.stdout, f"There is no {cache}\n")
        return OK
    try:
        shutil.rmtree(cache) if cache.is_dir() and not link else cache.unlink()
    except OSError as error:
        raise click.ClickException(f"cannot remove {cache}: {error.strerror or error}") from error
    write(sys.stdout, f"Removed {'the link ' if link else ''}{cache}\n")
    return OK

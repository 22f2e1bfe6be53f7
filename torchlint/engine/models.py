"""The rows about functions and methods that the settings and rule packages add to those about libraries."""

from __future__ import annotations

import json
from functools import cache

from torchlint.engine.packages import RulePackageError
from torchlint.engine.rules import folder_of
from torchlint.models import Models, Rows, WrongRowError, check_rows, merged
from torchlint.settings.model import Settings


def models_of(settings: Settings) -> Models:
    """Read the rows of rule packages and of the settings, which win.

    Raises:
        RulePackageError: the ``models.json`` of a package holds something else.
    """
    return Models(merged(*map(_rows, settings.plugins), settings.models))


@cache
def _rows(package: str) -> Rows:
    path = folder_of(package) / "models.json"
    if not path.is_file():
        return {}
    try:
        return check_rows(json.loads(path.read_text(encoding="utf-8")))
    except WrongRowError as error:
        raise RulePackageError(f"plugins: {package!r}: models.json: {'.'.join(error.path)}: {error.message}") from error
    except (OSError, ValueError) as error:
        raise RulePackageError(f"plugins: {package!r}: models.json cannot be read ({error})") from error

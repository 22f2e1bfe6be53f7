"""The rules that commands know: the built-in ones and those of the packages that the settings here name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.settings.load import load_settings

if TYPE_CHECKING:
    from torchlint.rule import Rule


def plugins_here() -> tuple[str, ...]:
    """Return the rule packages that the settings for the working folder name.

    Raises:
        SettingsError: the settings are wrong.
    """
    return load_settings(Path.cwd(), overrides={}).plugins


def rules_here() -> tuple[type[Rule], ...]:
    """Return all rules, selected or not.

    Raises:
        SettingsError: the settings are wrong, or a rule package cannot be used.
    """
    from torchlint.engine.rules import load_rules

    return load_rules(plugins_here())

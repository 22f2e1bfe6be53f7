"""The settings that decide what is found in a unit; what is shown of it, and which files there are, is apart."""

from __future__ import annotations

from torchlint.settings.model import Settings

DECISIVE = (
    *("root", "select", "ignore", "extend_select", "extend_ignore", "preview", "per_file_ignores", "ignore_noqa"),
    *("hot", "cold", "ignore_guards", "observed", "sights", "device", "rules", "models", "plugins"),
    *("target_torch", "target_version", "line_length", "distributed", "packages", "pinned_torch"),
)


def decisive(settings: Settings) -> str:
    """Return a text that is equal for settings under which the same is found."""
    return repr([getattr(settings, name) for name in DECISIVE])

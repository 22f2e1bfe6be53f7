"""The built-in rules of torchlint: one folder per family, one file per rule."""

TORCHLINT_API = 1

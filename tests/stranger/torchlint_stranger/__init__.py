"""A rule package as someone else would ship it; tests install it with pip."""

TORCHLINT_API = 1

"""A rule package as somebody else would ship it; tests install it with pip."""

TORCHLINT_API = 1

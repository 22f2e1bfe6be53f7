"""The tokens of a text, for what ``ast`` does not see: comments and logical lines."""

from __future__ import annotations

import io
import tokenize
import warnings


def read_tokens(text: str) -> list[tokenize.TokenInfo] | None:
    """Return all tokens with their rows, ``None`` when the text is broken."""
    # newline=None makes \r and \r\n end a row, and nothing else, as Python's own reader does.
    stream = io.StringIO(text, newline=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return list(tokenize.generate_tokens(stream.readline))
        except (tokenize.TokenError, SyntaxError):
            return None

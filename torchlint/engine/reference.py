"""The slow and plain way to pair a file: LibCST parses all of it, and no statement is cut out.

Tests compare the fast way with it.
"""

from __future__ import annotations

import ast

import libcst as cst

from torchlint.engine.pair import Pairs, pair
from torchlint.sources.text import Source


def whole_file(source: Source, tree: ast.Module) -> Pairs:
    """Pair every node of a file, bodies included; iterating gives the pairs in the order of the source.

    Raises:
        libcst.ParserSyntaxError: LibCST does not understand the file.
        PairingError: the trees do not say the same.
    """
    return pair(tree, cst.parse_module(source.text), header_only=False)

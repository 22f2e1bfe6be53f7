"""LibCST's node classes, loaded when first touched (PEP 562), for rules and ``match`` patterns.

Importing libcst costs about 150 ms, so a rule module imports ``from torchlint import cst`` and nothing happens until a
rule looks at a node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from libcst import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        import libcst

        return getattr(libcst, name)

"""LibCST's node classes, loaded when first touched (PEP 562), for rules and ``match`` patterns.

Importing libcst costs about 150 ms, two thirds of which go into compiling methods of its 200 classes of nodes, so a rule
module imports ``from torchlint import cst``, nothing happens until a rule looks at a node, and then only the methods of
those nodes are compiled that are met.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from libcst import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        load()
        import libcst

        found = globals()[name] = getattr(libcst, name)
        return found


def load() -> None:
    """Import libcst, if nobody has."""
    if "libcst" in sys.modules:
        return
    import dataclasses

    from torchlint.late import with_late_methods

    standard = dataclasses.dataclass
    nodes: list[type] = []

    def decorate(cls: type | None = None, **options: bool) -> object:
        if cls is None:
            return lambda cls: decorate(cls, **options)
        if not cls.__module__.startswith("libcst._nodes.") or options != {"frozen": True}:
            return standard(cls, **options)
        nodes.append(with_late_methods(cls, frozen=True))
        return nodes[-1]

    dataclasses.dataclass = decorate
    try:
        import libcst
    finally:
        dataclasses.dataclass = standard
    for node in nodes:
        node.__dataclass_params__.frozen = True

"""LibCST's node classes, loaded when first touched (PEP 562), for rules and ``match`` patterns.

To import libcst takes 120 ms, two thirds of it for the methods of its 200 data classes, of which a run meets few. So a
rule module imports ``from torchlint import cst``, nothing happens until a rule looks at a node, and then the methods
of these classes are compiled one by one, when they are first used.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from libcst import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        if name.startswith("__"):  # the import system looks for some
            raise AttributeError(name)
        load()
        import libcst

        found = globals()[name] = getattr(libcst, name)
        return found


# The releases whose classes of nodes were seen to be the same in all respects, whichever way they are imported.
_SAME = ("1.5.", "1.6.", "1.7.", "1.8.", "1.9.")


def load() -> None:
    """Import libcst, if no one has; in less time than ``import libcst`` takes where the release is known."""
    if "libcst" in sys.modules or not _version().startswith(_SAME):
        return
    import dataclasses

    from torchlint.late import with_late_methods

    standard, names = dataclasses.dataclass, vars(dataclasses)
    frozen: list[type] = []

    def decorate(cls: type | None = None, **options: bool) -> object:
        if cls is None:
            return lambda cls: decorate(cls, **options)
        if not cls.__module__.startswith("libcst.") or options.keys() - {"frozen"}:
            return standard(cls, **options)
        made = with_late_methods(cls, **options)
        frozen.extend([made] if options.get("frozen") else [])
        return made

    names["dataclass"] = decorate
    try:
        import libcst  # noqa: F401
    finally:
        names["dataclass"] = standard
    for made in frozen:
        vars(made)["__dataclass_params__"].frozen = True


def _version() -> str:
    """The release of libcst that would be imported; empty if no one can tell."""
    from importlib.util import find_spec

    spec = find_spec("libcst")
    folder = next(iter(spec.submodule_search_locations or ()), "") if spec is not None else ""
    try:
        with open(os.path.join(folder, "_version.py"), encoding="utf-8") as stream:
            return stream.read().rpartition("__version__ = version = '")[2].partition("'")[0]
    except OSError:
        return ""

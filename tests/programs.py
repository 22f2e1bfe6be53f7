"""The programs in benchmarks/ as modules, for the tests of what they compute and write."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from types import ModuleType

from conftest import ROOT


@cache
def benchmark(name: str) -> ModuleType:
    """Import a program once; its name is another one here, since a folder of the tests may have it as well."""
    folder = ROOT / "benchmarks"
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(folder))  # it imports its neighbours
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module

"""Start the counted device in a program when it imports torch, and let the program's text be observed.

``torchlint count`` and ``torchlint verify --observe`` put this folder on ``PYTHONPATH``, so every Python that the
program starts imports this file.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_HERE = os.path.dirname(os.path.abspath(__file__))


class _AfterTorch(MetaPathFinder):
    """Finds torch as if this finder were not there, and starts the device once torch is imported.

    It stays until then: code that only asks whether there is a torch, by ``importlib.util.find_spec``, imports none.
    """

    def __init__(self, start: Callable[[], None], missing: Callable[[], None]) -> None:
        """Call ``start`` when torch is there, and ``missing`` when it is looked for and not found."""
        self._begin = start
        self._missing = missing
        self._looking = False

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002  the protocol's
        target: ModuleType | None = None,  # noqa: ARG002  the protocol's
    ) -> ModuleSpec | None:
        """Return the spec of torch with a loader that goes on."""
        if fullname != "torch" or self._looking:
            return None
        self._looking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._looking = False
        if spec is None:
            self._missing()
        elif spec.loader is not None:
            spec.loader = _Starting(spec.loader, self._start)
        return spec

    def _start(self) -> None:
        """Start the device, once."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            self._begin()


class _Starting(Loader):
    """Loads torch, then starts the device."""

    def __init__(self, loader: Loader, start: Callable[[], None]) -> None:
        """Keep the loader of torch."""
        self._loader = loader
        self._start = start

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Make the module as its own loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run torch's code, then start the device."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._start()


def _torchlint() -> None:
    """Make this copy of torchlint importable, also in an environment that has none."""
    if "torchlint" in sys.modules:
        return
    folder = os.path.dirname(os.path.dirname(_HERE))
    spec = importlib.util.spec_from_file_location(
        "torchlint", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["torchlint"] = module
    spec.loader.exec_module(module)


def _own_customization() -> None:
    """Run the ``sitecustomize`` that this file hides, if the environment has one."""
    elsewhere = [folder for folder in sys.path if os.path.abspath(folder or os.curdir) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _begin() -> None:
    """Count and observe in this process, if the environment orders it."""
    _torchlint()
    from torchlint.device import seeing
    from torchlint.device.program import ordered

    seeing.start()
    program = ordered()
    if program is not None:
        sys.meta_path.insert(0, _AfterTorch(program.start, program.missing))


_begin()
_own_customization()

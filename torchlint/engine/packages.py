"""Importing rule packages: installed ones alone, whatever the working folder and the environment offer.

Settings belong to the project that is linted, and a project that no one trusts may name any package. So a package is
looked for where installers put packages, never in the working folder, in ``PYTHONPATH`` or below what is linted.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import site
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from torchlint.settings.check import SettingsError

_Result = TypeVar("_Result")


class RulePackageError(SettingsError):
    """A rule package cannot be used; the message says which and why in one line."""


def import_installed(package: str) -> ModuleType:
    """Import a package and those above it from where packages are installed.

    Raises:
        RulePackageError: it is not installed, it fails when it is imported, or another module has its name.
    """
    module: ModuleType | None = None
    parts = package.split(".")
    for count in range(1, len(parts) + 1):
        name = ".".join(parts[:count])
        spec = _spec(name, module)
        if spec is None:
            raise RulePackageError(
                f"plugins: no package {name!r} is installed (only installed packages are loaded, nothing from the "
                "project or the working folder)"
            )
        module = _loaded(name, spec, package)
    if module is None or not hasattr(module, "__path__"):
        raise RulePackageError(f"plugins: {package!r} is a module, not a package")
    return module


def installed_folders(package: str) -> Sequence[str]:
    """Return the folders of the topmost package above an installed one, without importing anything."""
    spec = _spec(package.partition(".")[0], None)
    return list(spec.submodule_search_locations or ()) if spec is not None else []


def import_below(package: str, name: str) -> ModuleType:
    """Import a module of a package that is imported already.

    Raises:
        RulePackageError: it fails.
    """
    return _guarded(package, name, lambda: importlib.import_module(name))


def _guarded(package: str, name: str, action: Callable[[], _Result]) -> _Result:
    """Do something that runs code of a package; whatever goes wrong is told as the package's fault."""
    try:
        return action()
    except Exception as error:  # a rule package is someone else's code and may fail in any way
        inside = "" if name == package else f" (in {name})"
        told = next(iter(str(error).splitlines()), "")
        message = f"plugins: {package!r} cannot be imported{inside}: {type(error).__name__}: {told}"
        raise RulePackageError(message) from error


def _loaded(name: str, spec: ModuleSpec, package: str) -> ModuleType:
    """The module of a spec: the one that is loaded already where it is the same file, else loaded now."""
    known = sys.modules.get(name)
    if known is not None:
        if _places(known.__spec__) != _places(spec):
            raise RulePackageError(f"plugins: another module called {name!r} is in use ({_where(known)})")
        return known
    module = importlib.util.module_from_spec(spec)
    if spec.submodule_search_locations is not None:
        # A namespace package would otherwise look through the whole search path again, the working folder included.
        module.__path__ = list(spec.submodule_search_locations)
    sys.modules[name] = module
    loader = spec.loader
    if loader is None:  # a namespace package: nothing to run
        return module
    try:
        _guarded(package, name, lambda: loader.exec_module(module))
    except RulePackageError:
        del sys.modules[name]
        raise
    return module


def _spec(name: str, parent: ModuleType | None) -> ModuleSpec | None:
    if parent is not None:
        return PathFinder.find_spec(name, list(getattr(parent, "__path__", ())))
    folders = list(dict.fromkeys(_search_path()))
    spec = PathFinder.find_spec(name, folders)
    if spec is None or spec.origin is None:  # nothing, or folders of a namespace that an editable install may fill
        spec = next(_editable(name, folders), spec)
    return spec


def _search_path() -> Iterator[str]:
    """The folders of installed packages, and those that path files there name."""
    import sysconfig  # brings threads along, and few runs have plugins

    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()]
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    for folder in dict.fromkeys(folders):
        yield folder
        for file in sorted(Path(folder).glob("*.pth")):
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                path = os.path.join(folder, line.strip())
                if line.strip() and not line.startswith(("#", "import ", "import\t")) and os.path.isdir(path):
                    yield path


def _editable(name: str, folders: Sequence[str]) -> Iterator[ModuleSpec]:
    """What the import hooks of editable installs know; such a hook lies among the installed packages itself."""
    for finder in sys.meta_path:
        home = sys.modules.get(getattr(finder, "__module__", ""))
        file = getattr(home, "__file__", None)
        if file is not None and os.path.dirname(file) in folders:
            spec = finder.find_spec(name, None)
            if spec is not None:
                yield spec


def _places(spec: ModuleSpec | None) -> tuple[str, ...]:
    if spec is None:
        return ()
    return (spec.origin,) if spec.origin else tuple(spec.submodule_search_locations or ())


def _where(module: ModuleType) -> str:
    return ", ".join(_places(module.__spec__)) or "no file"

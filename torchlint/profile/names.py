"""Names in profiles: of built-ins, operators and the functions that a profile can only describe."""

from __future__ import annotations

import re

from torchlint.late import regex

AUTOGRAD = "autograd::engine::evaluate_function: "
"""Stands before the name of what autograd runs in a backward pass: ``AddmmBackward0``."""
_BUILT_IN = regex(r"<built-in (?:method|function) (?P<name>[^\s>]+)")
_METHOD = regex(r"<(?:slot wrapper|method(?:-wrapper)?) '(?P<name>[^']+)'")
_INSTALLED = regex(r"(?:^|.*[/\\])(?:site|dist)-packages[/\\]")
_TORCH = regex(r"(?:^|.*[/\\])(?=torch[/\\])")
_IMPORTLIB = regex(r"<frozen importlib\._bootstrap|(^|[/\\])importlib[/\\]_bootstrap")
_ADDRESS = regex(r" at 0x[0-9a-fA-F]+")


def called_name(name: str) -> str:
    """Return the name by which code calls a recorded function.

    ``item`` for ``<method 'item' of 'TensorBase' objects>``.

    The last part of a dotted name; a name that is not one of a built-in comes back as it is.
    """
    match = _BUILT_IN.match(name) or _METHOD.match(name)
    return match["name"].rpartition(".")[2] if match else name


def module_of(file: str) -> str:
    """Return the module of a recorded file of installed code: ``torch.optim.adam``; of other files return the name."""
    for start in (_INSTALLED, _TORCH):
        match = start.match(file)
        if match:
            return re.sub(r"[/\\]", ".", file[match.end() :].removesuffix(".py").removesuffix("/__init__"))
    return re.split(r"[/\\]", file)[-1].removesuffix(".py")


def imports(file: str) -> bool:
    """Return whether a recorded file is that of the machinery which imports modules."""
    return _IMPORTLIB.search(file) is not None


def without_address(name: str) -> str:
    """Return a built-in's name without the address of its object, so that calls on different objects have one name."""
    return _ADDRESS.sub("", name)

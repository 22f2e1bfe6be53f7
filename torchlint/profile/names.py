"""Names in profiles: of built-ins, operators and the functions that a profile can only describe."""

from __future__ import annotations

from torchlint.late import regex

AUTOGRAD = "autograd::engine::evaluate_function: "
"""Stands before the name of what autograd runs in a backward pass: ``AddmmBackward0``."""
_BUILT_IN = regex(r"<built-in (?:method|function) (?P<name>[^\s>]+)")
_METHOD = regex(r"<(?:slot wrapper|method(?:-wrapper)?) '(?P<name>[^']+)'")
_ADDRESS = regex(r" at 0x[0-9a-fA-F]+")


def called_name(name: str) -> str:
    """The name by which code calls what a profile names: ``item`` for ``<method 'item' of 'TensorBase' objects>``.

    The last part of a dotted name; a name that is none of a built-in comes back as it is.
    """
    match = _BUILT_IN.match(name) or _METHOD.match(name)
    return match["name"].rpartition(".")[2] if match else name


def without_address(name: str) -> str:
    """A built-in's name without the address of its object, so that calls on different objects have one name."""
    return _ADDRESS.sub("", name)

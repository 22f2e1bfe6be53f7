"""Layers: which classes of libraries have parameters, and which a module keeps whose class is not known."""

from __future__ import annotations

import ast

from torchlint.facts.code.callers import given_once
from torchlint.facts.code.model import Bind, FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import root_of, subscripted
from torchlint.models import function_names, last_names, protocols

# Modules of torch without parameters; a loss or an activation, besides those found by their names' ends.
_BARE = frozenset(
    """
    Sequential ModuleList ModuleDict Module Identity Flatten Unflatten ReLU ReLU6 ELU SELU CELU GELU SiLU Mish LeakyReLU
    Sigmoid Tanh Softmax LogSoftmax Softplus Hardtanh Hardswish Hardsigmoid LogSigmoid Softsign Tanhshrink Softmin
    Threshold GLU Dropout Dropout1d Dropout2d Dropout3d AlphaDropout Upsample PixelShuffle CosineSimilarity
    """.split()
)
_BARE_ENDS = ("Loss", "Pool1d", "Pool2d", "Pool3d", "Pad1d", "Pad2d", "Pad3d")

_HOLDING = last_names("torch.nn", holds="modules")
_LAYERS = function_names("torch.nn", layer=True)
_WALKING = last_names("builtins", elements=("all", "pairs"))


def has_parameters(name: str) -> bool:
    """Return whether modules of a class of a library have parameters."""
    if protocols.makers(name):
        return True
    last = name.rpartition(".")[2]
    return name.startswith("torch.nn.") and last[:1].isupper() and last not in _BARE and not last.endswith(_BARE_ENDS)


def is_bare(name: str) -> bool:
    """Return whether a class is a layer of torch that has no parameters and holds no other modules."""
    last = name.rpartition(".")[2]
    empty = last not in _HOLDING and last != "Module"
    return name.startswith("torch.nn.") and empty and (last in _BARE or last.endswith(_BARE_ENDS))


def is_kept_layer(project: Project, facts: FileFacts, func: ast.expr) -> bool:
    """Return whether a call runs a layer that the calling module keeps: ``self.activation(x)``, ``self.layers[0](x)``.

    ``for layer in self.layers: x = layer(x)`` counts. Ask where the callee is not known: it maps tensors to tensors.
    """
    scope = facts.scope_of(func).function
    owner = facts.scope_of(func).owner
    if owner is None or not scope.self_name or not project.is_module(owner.dotted):
        return False
    node = func
    if isinstance(node, ast.Name):
        binding = project.reaching(facts, node).only
        if binding is None or binding.how is not Bind.ELEMENT or binding.value is None:
            return False
        node = binding.value
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _WALKING and node.args:
            zipped = (
                part for part in node.args if node.func.id == "zip" and last_name(root_of(part)) == scope.self_name
            )
            node = next(zipped, node.args[0])
    return last_name(root_of(node)) == scope.self_name and _kept(project, owner.dotted, node)


def is_layer(project: Project, facts: FileFacts, func: ast.expr) -> bool:
    """Return whether a method calls a layer of torch that its object keeps, and that takes nothing but a tensor.

    ``self.conv(x)``, ``self.convs[0](x)``; the constructor alone sets that attribute.
    """
    scope = facts.scope_of(func).function
    kept = func.value if isinstance(func, ast.Subscript) else func
    match kept:
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if scope.self_name == name and scope.owner is not None:
            given = [_made(value, func) for value in given_once(scope.owner, attr)]
            return bool(given) and all(
                isinstance(call, ast.Call) and project.qualified(scope.owner.file, call.func) in _LAYERS
                for call in given
            )
    return False


def _made(value: ast.expr | None, func: ast.expr) -> ast.expr | None:
    """What an attribute is given; where an element of it is called, that element of the list it is given."""
    if not isinstance(func, ast.Subscript):
        return value
    match value, func.slice:
        case ast.Call(args=[ast.List(elts=layers)]), ast.Constant(value=int(place)) if 0 <= place < len(layers):
            return layers[place]
    return None


def _kept(project: Project, cls: str, node: ast.expr) -> bool:
    """Whether the attribute is one that the class or a relative sets, not a method."""
    node = subscripted(node)
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return False
    return project.stores(cls, node.attr) and not project.implementations(cls, node.attr)

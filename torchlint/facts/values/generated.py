"""What pretrained models take and give: rows of tokens, objects with names, the texts that they make."""

from __future__ import annotations

import ast
from dataclasses import replace

from torchlint.facts.code.model import Binding, FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.values.join import NDARRAY, TENSOR
from torchlint.facts.values.operators import is_mask, is_part_along_axes, observes
from torchlint.facts.values.signatures import Of, table
from torchlint.models import Word, protocols
from torchlint.rule import UNKNOWN, Device, Kind, Value

_TAKEN = Word("argument of a generating model")
_ENGINE = Word("argument of a generating engine")
_TOKENS = Value(Kind.TENSOR, dtype="int64", rank=2)


def tokens(call: ast.Call, *, known: bool) -> Value:
    """Return the tokens that a model makes in a call of ``generate``; ``known``: that it is one of a library.

    Engines for inference take texts or lists and return objects with texts, and a model that is asked for scores, too,
    returns an object.
    """
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr != "generate":
        return UNKNOWN
    names = [keyword.arg or "" for keyword in call.keywords]
    if "return_dict_in_generate" in names or any(map(_ENGINE.fits, names)):
        return UNKNOWN
    first = last_name(call.args[0]) if call.args else ""
    return _TOKENS if known or any(map(_TAKEN.fits, (first, *names))) else UNKNOWN


def picks_of_tensor(node: ast.Subscript, of: Of) -> bool:
    """Return whether what is not known otherwise gives a tensor by an index.

    A mask picks of a tensor, for nothing else takes one on a device, and the first item of what a model gives is one.
    A part along several axes of what tokenizers give is one, too: ``batch["attention_mask"][:, 1:]``.
    """
    index = node.slice
    if is_mask(index, of) or (is_part_along_axes(node) and _is_of_tokens(node.value)):
        return True
    return isinstance(index, ast.Constant) and index.value == 0 and _is_output(node.value, of)


def _is_of_tokens(node: ast.expr) -> bool:
    """Whether an expression has a name, or is under a key, that tokenizers have for what they give."""
    key = node.slice.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) else None
    return (key or last_name(node)) in table()["outputs"]["inputs"]


def _is_output(node: ast.expr, of: Of) -> bool:
    """Whether a pretrained model of a framework gives an object, whose first item is what it computes."""
    callee = of(node.func) if isinstance(node, ast.Call) else UNKNOWN
    return callee.kind is Kind.MODULE and any(map(protocols.makers, callee.name.split("|")))


def is_input(project: Project, binding: Binding) -> bool:
    """Return whether a parameter of a module has a name that tokenizers have for what they give all models."""
    owner = binding.scope.method_of if binding.scope is not None else None
    named = binding.target in table()["outputs"]["inputs"]
    return named and owner is not None and project.is_module(owner.dotted)


def suggested_for(project: Project, binding: Binding) -> Value:
    """Return what a parameter is by its name and that of its method: tokens of a module, an observation of a wrapper.

    Unknown for others.
    """
    if is_input(project, binding):
        return of_rows(binding, TENSOR)
    scope = binding.scope
    owner = scope.method_of if scope is not None and scope.name == "observation" else None
    return NDARRAY if owner is not None and observes(project.ancestry(owner.dotted)) else UNKNOWN


def of_rows(binding: Binding, value: Value) -> Value:
    """Return a tensor with one row of tokens for each text, where nothing else is known of a parameter."""
    rows = binding.target in table()["outputs"]["rows"] and value.kind is Kind.TENSOR
    return replace(value, rank=2) if rows and value.rank is None else value


def encoded(key: object) -> Value:
    """Return what a tokenizer puts under a key, on the host."""
    return replace(TENSOR, device=Device.CPU, rank=2 if key in table()["outputs"]["rows"] else None)


def tokenizes(call: ast.Call) -> bool:
    """Return whether a call makes tensors of texts or images on the host: ``tokenizer(texts, return_tensors="pt")``."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    made = named.get("return_tensors")
    return isinstance(made, ast.Constant) and made.value == "pt" and "device" not in named


def is_encoding(project: Project, facts: FileFacts, node: ast.expr) -> bool:
    """Return whether an expression is what such a call gives, by itself or by a name: tensors under names."""
    value = project.reaching(facts, node).value if isinstance(node, ast.Name) else node
    return isinstance(value, ast.Call) and tokenizes(value)

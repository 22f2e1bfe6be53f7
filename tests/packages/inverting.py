"""Puts smells into code that is free of them: fixes turned round, on places where both forms do the same.

Every inverter takes a call that is as fast as it can be and gives the slow form that a fix of torchlint would turn
back. It gives nothing where the two are not equal for sure; kinds of values come from torchlint's own facts.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import libcst as cst
from conftest import ROOT
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from torchlint.engine.analysis import analyse, parse
from torchlint.facts.analyses import Analyses
from torchlint.facts.code.model import FileFacts
from torchlint.facts.values.values import Values
from torchlint.rule import Kind
from torchlint.settings.model import Settings
from torchlint.sources.decode import decode

_TWINS = ROOT / "rules" / "tl4_allocation" / "functional_twins.json"
_METHODS = ("flatten", "tanh", "sigmoid", "relu", "softmax", "log_softmax")
_CREATORS = ("zeros", "ones", "empty", "eye", "full", "arange")
_ANY_DTYPE = ("zeros", "ones", "empty", "eye")
_LEGACY = {"float32": "FloatTensor", "float": "FloatTensor", "int64": "LongTensor", "long": "LongTensor"}


@dataclass(frozen=True)
class Twin:
    """A module without parameters: how many tensors it takes, and its settings by the function's keyword."""

    module: str
    inputs: int
    settings: Mapping[str, str]


def _twins() -> dict[str, Twin]:
    """The modules that TL403 knows a function for, by that function; those with other defaults are left out."""
    rows = json.loads(_TWINS.read_text(encoding="utf-8"))["modules"]
    found = {}
    for module, row in rows.items():
        if not row.get("tuples") and (not row.get("always") or row["function"] == "torch.flatten"):
            settings = {meant: word for word, meant in row["settings"].items() if meant is not None}
            found[row["function"]] = Twin(module.rpartition(".")[2], row["inputs"], settings)
    return found


@dataclass
class File:
    """One file: what its names mean, where its expressions stand, and what the facts say of them."""

    names: Mapping[str, str]
    positions: dict[cst.CSTNode, CodeRange]
    facts: FileFacts
    analyses: Analyses
    expressions: Mapping[tuple[int, int, int, int], ast.expr]
    twins: Mapping[str, Twin]

    def name(self, node: cst.BaseExpression) -> str:
        """The qualified name of ``th.nn.functional.relu``, empty for what is not an imported name."""
        if isinstance(node, cst.Name):
            return self.names.get(node.value, "")
        if isinstance(node, cst.Attribute):
            owner = self.name(node.value)
            return f"{owner}.{node.attr.value}" if owner else ""
        return ""

    def spelled(self, qualified: str) -> cst.BaseExpression | None:
        """A name of torch as the file can write it."""
        for local, full in sorted(self.names.items(), key=lambda item: -len(item[1])):
            if qualified.startswith(f"{full}."):
                return cst.parse_expression(local + qualified.removeprefix(full))
        return None

    def kind(self, node: cst.BaseExpression) -> Kind:
        """What torchlint proves a value to be."""
        place = self.positions.get(node)
        if place is None:
            return Kind.UNKNOWN
        found = self.expressions.get((place.start.line, place.start.column, place.end.line, place.end.column))
        return Kind.UNKNOWN if found is None else self.analyses[Values].of(self.facts, found).kind


def arguments(call: cst.Call) -> dict[str, cst.BaseExpression] | None:
    """Arguments by keyword, or by place (``0``, ``1``); ``None`` with star arguments."""
    if any(arg.star for arg in call.args):
        return None
    return {arg.keyword.value if arg.keyword else str(at): arg.value for at, arg in enumerate(call.args)}


def called(function: cst.BaseExpression, *values: cst.BaseExpression, **words: cst.BaseExpression) -> cst.Call:
    """``function(values, words=...)``."""
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    named = [cst.Arg(value, keyword=cst.Name(word), equal=equal) for word, value in words.items()]
    return cst.Call(function, [*map(cst.Arg, values), *named])


def method(owner: cst.BaseExpression, name: str, *values: cst.BaseExpression) -> cst.Call:
    """``owner.name(values)``."""
    bare = isinstance(owner, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or owner.lpar
    inner = owner if bare else owner.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return called(cst.Attribute(inner, cst.Name(name)), *values)


def _literal(node: cst.BaseExpression) -> bool:
    number = node.expression if isinstance(node, cst.UnaryOperation) else node
    word = isinstance(node, cst.Name) and node.value in ("True", "False", "None")
    return word or isinstance(number, (cst.Integer, cst.Float, cst.SimpleString))


def _plain(node: cst.BaseExpression) -> bool:
    """Whether an expression may be evaluated later, or once more: a name or an attribute of one."""
    return isinstance(node, cst.Name) or (isinstance(node, cst.Attribute) and _plain(node.value))


def built_module(call: cst.Call, file: File) -> cst.BaseExpression | None:
    """TL403: a function of torch becomes a module that is built and called."""
    given = arguments(call)
    twin = file.twins.get(file.name(call.func))
    if given is None:
        return None
    values = list(given.items())
    if twin is None and isinstance(call.func, cst.Attribute) and call.func.attr.value in _METHODS:
        tensor, word = call.func.value, call.func.attr.value
        if file.name(call.func) or file.kind(tensor) is not Kind.TENSOR:
            return None
        twin = next(found for name, found in file.twins.items() if name.rpartition(".")[2] == word)
        values = [("0", tensor), *((str(int(w) + 1) if w.isdigit() else w, value) for w, value in values)]
    if twin is None:
        return None
    inputs, settings = values[: twin.inputs], values[twin.inputs :]
    words = list(twin.settings)
    built: dict[str, cst.BaseExpression] = {"start_dim": cst.Integer("0")} if twin.module == "Flatten" else {}
    for place, value in settings:
        at = int(place) - twin.inputs if place.isdigit() else -1
        word = words[at] if 0 <= at < len(words) else place
        if word not in twin.settings or not _literal(value):
            return None
        built[twin.settings[word]] = value
    module = file.spelled(f"torch.nn.{twin.module}")
    if module is None or len(inputs) < twin.inputs or not all(word.isdigit() for word, _ in inputs):
        return None
    return called(called(module, **built), *(value for _, value in inputs))


def unsqueezed(call: cst.Call, file: File) -> cst.BaseExpression | None:
    """TL409: ``stack`` becomes ``cat`` of tensors that get the dimension one by one."""
    given = arguments(call)
    cat = file.spelled("torch.cat")
    if file.name(call.func) != "torch.stack" or given is None or cat is None or not set(given) <= {"0", "1", "dim"}:
        return None
    dim = given.get("dim", given.get("1", cst.Integer("0")))
    if not isinstance(dim, cst.Integer):
        return None
    match given.get("0"):
        case cst.ListComp(elt=element) as tensors:
            new = tensors.with_changes(elt=method(element, "unsqueeze", dim))
        case cst.List(elements=[_, _, *_] as elements) as tensors if all(isinstance(e, cst.Element) for e in elements):
            new = tensors.with_changes(
                elements=[e.with_changes(value=method(e.value, "unsqueeze", dim)) for e in elements]
            )
        case cst.Call(func=cst.Name("tuple" | "list"), args=[cst.Arg(cst.GeneratorExp(elt=element, for_in=rest))]):
            new = cst.ListComp(method(element, "unsqueeze", dim), rest)
        case _:
            return None
    return called(cat, new, dim=dim)


def moved(call: cst.Call, file: File) -> cst.BaseExpression | None:
    """TL102: a creator makes its tensor on the CPU, in the default dtype, and moves it."""
    creator = file.name(call.func).removeprefix("torch.")
    given = arguments(call)
    if creator not in _CREATORS or given is None or {"out", "pin_memory", "layout", "requires_grad"} & set(given):
        return None
    device, dtype = given.get("device"), given.get("dtype")
    if dtype is not None and (creator not in _ANY_DTYPE or not _plain(dtype)):
        dtype = None
    if device is None or not _plain(device):
        return None
    dropped = ("device", "dtype") if dtype is not None else ("device",)
    kept = [arg for arg in call.args if arg.keyword is None or arg.keyword.value not in dropped]
    new: cst.BaseExpression = call.with_changes(args=_closed(kept))
    for value in (dtype, device):
        new = method(new, "to", value) if value is not None else new
    return new


def legacy(call: cst.Call, file: File) -> cst.BaseExpression | None:
    """TL101: data go through ``FloatTensor`` or ``LongTensor`` and are then moved, where a device is given.

    Like these two constructors, ``as_tensor`` shares memory with an array of its dtype; ``tensor`` does not, and is
    turned round only for lists.
    """
    given = arguments(call)
    creator = file.name(call.func)
    if creator not in ("torch.as_tensor", "torch.tensor") or given is None or set(given) - {"device"} != {"0", "dtype"}:
        return None
    dtype = file.name(given["dtype"]).removeprefix("torch.")
    proven = (Kind.LIST, Kind.TUPLE, Kind.NDARRAY) if creator == "torch.as_tensor" else (Kind.LIST, Kind.TUPLE)
    if dtype not in _LEGACY or file.kind(given["0"]) not in proven:
        return None
    constructor = file.spelled(f"torch.{_LEGACY[dtype]}")
    if constructor is None:
        return None
    made = called(constructor, given["0"])
    return method(made, "to", given["device"]) if "device" in given else made


def retained(call: cst.Call, file: File) -> cst.BaseExpression | None:
    """TL304: ``backward`` keeps a graph that nothing goes through again."""
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "backward" or call.args:
        return None
    return called(call.func, retain_graph=cst.Name("True"))


def zeroed(call: cst.Call, file: File) -> cst.BaseExpression | None:
    """TL308: gradients are filled with zeros."""
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "zero_grad" or call.args:
        return None
    return called(call.func, set_to_none=cst.Name("False"))


INVERTERS: tuple[tuple[str, Callable[[cst.Call, File], cst.BaseExpression | None]], ...] = (
    ("TL403", built_module),
    ("TL409", unsqueezed),
    ("TL102", moved),
    ("TL101", legacy),
    ("TL304", retained),
    ("TL308", zeroed),
)


def _closed(args: Sequence[cst.Arg]) -> list[cst.Arg]:
    """Arguments without a comma after the last."""
    return [*args[:-1], args[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)] if args else []


class Inversion(cst.CSTTransformer):
    """Turns every place of a file round that an inverter takes, from the inside out."""

    def __init__(self, file: File) -> None:
        """Start with nothing done."""
        super().__init__()
        self.file = file
        self.counts: Counter[str] = Counter()

    def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> object:
        """What a node becomes stands, for questions, where the node stood."""
        place = self.file.positions.get(original_node)
        if place is not None:
            self.file.positions[updated_node] = place
        new = super().on_leave(original_node, updated_node)
        if place is not None and isinstance(new, cst.CSTNode):
            self.file.positions[new] = place
        return new

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        """The first inverter that takes the call."""
        for code, invert in INVERTERS:
            if (new := invert(updated_node, self.file)) is not None:
                self.counts[code] += 1
                return new.with_changes(lpar=updated_node.lpar, rpar=updated_node.rpar)
        return updated_node


def invert(root: Path, package: str) -> Counter[str]:
    """Turn every place of a package round that an inverter takes; how many by code."""
    sources = {
        name: decode(path.read_bytes(), path, name)
        for path in sorted(root.glob(f"{package}/**/*.py"))
        if b"torch" in path.read_bytes() and (name := path.relative_to(root).as_posix())
    }
    files, _ = parse(sources)
    analyses = analyse(files, Settings(root=root, isolated=True))
    twins, done = _twins(), Counter[str]()
    for facts in files:
        tree = cst.parse_module(facts.source.text)
        positions = dict(MetadataWrapper(tree, unsafe_skip_copy=True).resolve(PositionProvider))
        expressions = {
            (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset): node
            for node in ast.walk(facts.tree)
            if isinstance(node, ast.expr)
        }
        inversion = Inversion(File(dict(_imported(facts.tree)), positions, facts, analyses, expressions, twins))
        new = tree.visit(inversion)
        if inversion.counts:
            (root / facts.path).write_text(new.code, encoding="utf-8")
            done += inversion.counts
    return done


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names that the imports at the top of a file bind, with what they mean."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"

"""What code reads and changes besides its own names: attributes, items of containers, objects, parameters of networks.

State is named by the text of the chain that leads to it, from a name the code sees: ``self.h``, ``env``, ``buffer``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.callers import Caller, passed
from torchlint.facts.code.collect import dotted
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Bind, FileFacts, Scope, is_super
from torchlint.facts.code.nesting import body_of, nodes_of
from torchlint.facts.code.project import Project
from torchlint.facts.code.solver import Solver
from torchlint.facts.code.tree import root_of
from torchlint.facts.values.values import Values
from torchlint.late import dataclass, regex
from torchlint.models import Word, method_names
from torchlint.rule import Kind, Value

PARAMETERS = "<parameters>"
"""The state that optimizers change and networks read."""
EVERYTHING = "<everything>"
"""Stands for all state there is."""

_PURE = ("builtins.", "torch.", "numpy.", "math.", "itertools.", "operator.", "copy.", "time.", "collections.")
_DRAWING = regex(
    r"^(numpy\.random\.|torch\.(rand|normal|multinomial|bernoulli|poisson|nn\.init\.)|builtins\.(next|input)$)"
)
_INITIALIZERS = "torch.nn.init."
_TOKENIZER = Word("tokenizer")
_OPTIMIZER = Word("optimizer")
_LAYER = regex(r"torch\.nn\.(?!Module$)[A-Z]\w*$")
_PLAIN = frozenset({Kind.TENSOR, Kind.NDARRAY, Kind.SCALAR, Kind.ITEM, Kind.NUMBER, Kind.STRING, Kind.SIZE, Kind.TUPLE})
_MUTATORS = (method_names(adds=True), method_names(removes=True, elsewhere=False), method_names(reorders=True))
# Methods that tensors and arrays have and few other objects: harmless on a receiver of unknown kind.
_READERS = (
    method_names(pure=True)
    | method_names("dict", returns=("element", "keys", "parts"), removes=False, adds=False)
    | method_names(gives=("parameters", "state"))
    | method_names("str Tensor", text=True)
    | method_names(autograd="backward")
)


@dataclass(frozen=True, slots=True)
class Effects:
    """What some code reads and writes; ``known`` is false where it may do more, ``draws`` where it is random."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    known: bool = True
    draws: bool = False


_NONE = Effects()
_UNKNOWN = Effects(known=False)
_ANYTHING = Effects(frozenset({EVERYTHING}), frozenset({EVERYTHING}), known=False, draws=True)
# A function that touches more pieces of state than this may touch anything: in a large project what it calls leads to
# half of the project, and to list that for each function would cost the square of its size.
_MANY = 200


def together(parts: Iterable[Effects]) -> Effects:
    """Return the effects of all parts of some code."""
    reads: set[str] = set()
    writes: set[str] = set()
    known, draws = True, False
    for part in parts:
        if part is not _NONE:
            reads |= part.reads
            writes |= part.writes
            known, draws = known and part.known, draws or part.draws
    return Effects(frozenset(reads), frozenset(writes), known, draws)


def _wholes(text: str) -> Iterator[str]:
    """A piece of state and all that it is part of: ``a.b``, ``a``."""
    while text:
        yield text
        text = text.rpartition(".")[0]


@dataclass(eq=False, slots=True)
class Sides(Fact):
    """Answers what code reads and changes, with a memory for functions."""

    project: Project
    graph: CallGraph
    values: Values
    _solver: Solver[Scope, Effects] = field(init=False)
    _calls: dict[ast.Call, Effects] = field(default_factory=dict)
    _holding: dict[frozenset[str], frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._solver = Solver(self._function, _UNKNOWN)

    def overlaps(self, one: str, others: frozenset[str]) -> bool:
        """Return whether a piece of state is, holds, or is part of one of others."""
        if EVERYTHING in others or (one == EVERYTHING and others):
            return True
        holding = self._holding.get(others)
        if holding is None:
            holding = self._holding[others] = frozenset(whole for text in others for whole in _wholes(text))
        return one in holding or any(whole in others for whole in _wholes(one))

    def of(self, facts: FileFacts, body: Iterable[ast.AST]) -> Effects:
        """Return what some code of one function reads and writes, in names of that function."""
        return together(self._single(facts, node) for node in nodes_of(body))

    def _single(self, facts: FileFacts, node: ast.AST) -> Effects:
        if isinstance(node, ast.Call):
            return self.call(facts, node)
        if isinstance(node, (ast.Attribute, ast.Name)):
            return self._chain(facts, node)
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            return Effects(writes=self._texts(facts, node))
        return _NONE

    def call(self, facts: FileFacts, call: ast.Call) -> Effects:
        """Return what a call itself reads and writes; its arguments are not looked into."""
        if not self._solver.idle:  # it may be a guess
            return self._called(facts, call)
        found = self._calls.get(call)
        if found is None:
            found = self._calls[call] = self._called(facts, call)
        return found

    def _called(self, facts: FileFacts, call: ast.Call) -> Effects:
        targets = self.graph.callees.get(call)
        if targets is not None and _LAYER.match(self.values.of(facts, call.func).name):
            return Effects(reads=frozenset({PARAMETERS}))  # the layer itself, not a class of the project made from it
        if targets is not None:
            return together(
                self._translated(facts, call, target, self._solver.ask(target) or _NONE) for target in targets
            )
        name = self.project.qualified(facts, call.func) or ""
        if name.startswith(_PURE) or name in self.project.classes:
            out = [keyword.value for keyword in call.keywords if keyword.arg == "out"]
            in_place = name in ("builtins.setattr", "builtins.next") or name.startswith(_INITIALIZERS)
            changed = [*out, *call.args[:1]] if in_place else out
            writes = frozenset().union(*(self._texts(facts, node) for node in changed))
            if name.startswith(_INITIALIZERS):
                writes |= {PARAMETERS}
            return Effects(writes=writes, draws=bool(_DRAWING.search(name)))
        if (tokenizer := _tokenizer(call.func)) is not None:
            return Effects(reads=self._texts(facts, tokenizer))
        callee = self.values.of(facts, call.func)
        if isinstance(call.func, ast.Attribute) and callee.kind is not Kind.MODULE:
            return self._method(facts, call.func)
        return self._value_called(facts, call, callee)

    def _value_called(self, facts: FileFacts, call: ast.Call, callee: Value) -> Effects:
        """A call of something held in a variable."""
        if callee.kind is Kind.MODULE:
            return Effects(reads=frozenset({PARAMETERS}))
        if callee.kind in (Kind.CLASS, Kind.DTYPE, Kind.DEVICE):
            return Effects()
        given = [arg.value if isinstance(arg, ast.Starred) else arg for arg in call.args]
        objects = [node for node in given if self.values.of(facts, node).kind not in _PLAIN]
        texts = frozenset().union(*(self._texts(facts, node) for node in objects))
        return Effects(reads=texts, writes=texts, known=False)

    def _method(self, facts: FileFacts, func: ast.Attribute) -> Effects:
        """A method that is not one of the project's."""
        receiver, attr = self.values.of(facts, func.value), func.attr
        here = self._texts(facts, func.value)
        if receiver.kind is Kind.OPTIMIZER or (attr == "step" and _OPTIMIZER.fits(_last(func.value))):
            return Effects(writes=frozenset({PARAMETERS}) if attr == "step" else frozenset())
        in_place = attr.endswith("_") and not attr.endswith("__")
        if receiver.kind in _PLAIN or receiver.kind in (Kind.DEVICE, Kind.CLASS, Kind.NAMESPACE):
            return Effects(reads=here, writes=here if in_place or attr == "fill" else frozenset())
        if receiver.kind is Kind.DISTRIBUTION:
            return Effects(reads=here, draws="sample" in attr)
        if receiver.kind is Kind.MODULE:
            changes = attr in ("load_state_dict", "reset_parameters", "requires_grad_")
            return Effects(frozenset({PARAMETERS, *here}), frozenset({PARAMETERS}) if changes else frozenset())
        if in_place or any(attr in names for names in _MUTATORS):
            return Effects(reads=here, writes=here)
        if receiver.kind in (Kind.LIST, Kind.DICT, Kind.SET) or attr in _READERS:
            return Effects(reads=here)
        return Effects(reads=here, writes=here, known=receiver.kind is Kind.ENV)

    # names of state -------------------------------------------------------------------------------------------------

    def _chain(self, facts: FileFacts, node: ast.Attribute | ast.Name) -> Effects:
        """A chain of names by itself: read or written; a name alone is not state when it is bound."""
        above = facts.parent.get(node)
        if isinstance(above, ast.Attribute):
            return _NONE  # the whole chain counts
        if isinstance(above, ast.Call) and above.func is node:
            return _NONE
        texts = self._texts(facts, node)
        if isinstance(node.ctx, ast.Load):
            return Effects(reads=texts)
        return Effects(writes=texts) if isinstance(node, ast.Attribute) else _NONE

    def _texts(self, facts: FileFacts, node: ast.expr) -> frozenset[str]:
        """The state that an expression names: that of the longest chain of names in it."""
        while not (text := dotted(node)):
            if isinstance(node, (ast.Subscript, ast.Attribute, ast.Starred)):
                node = node.value
            elif is_super(node) and (owner := facts.scope_of(node).method) is not None:
                return frozenset({owner.self_name})
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                node = node.func.value
            elif isinstance(node, (ast.Tuple, ast.List)):
                return frozenset().union(*(self._texts(facts, part) for part in node.elts))
            else:
                return frozenset()
        return frozenset({self.canonical(facts, node, text)})

    def canonical(self, facts: FileFacts, node: ast.expr, text: str) -> str:
        """Return the text of a chain; if its first name is an alias, with the chain that it stands for in its place."""
        value = self.project.reaching(facts, root_of(node)).value
        longer = dotted(value) if isinstance(value, ast.Attribute) else ""
        return longer + text[len(text.partition(".")[0]) :] if longer else text

    # functions ------------------------------------------------------------------------------------------------------

    def _function(self, function: Scope) -> Effects:
        """The effects of a function on what outlives its call, in names of its parameters and of the module."""
        found = self.of(function.file, body_of(function.node))
        if EVERYTHING in found.reads or len(found.reads) + len(found.writes) > _MANY:
            return _ANYTHING
        own = {name for name, bound in function.bindings.items() if bound[0].how is not Bind.PARAM}
        kept = [frozenset(text for text in texts if text.partition(".")[0] not in own) for texts in _both(found)]
        return Effects(kept[0], kept[1], found.known, found.draws)

    def _translated(self, facts: FileFacts, call: ast.Call, target: Scope, effects: Effects) -> Effects:
        """The effects of a project function in names of its caller."""
        bases: dict[str, frozenset[str] | None] = {}
        found: list[frozenset[str]] = []
        for texts in _both(effects):
            names: set[str] = set()
            for text in texts:
                root, dot, rest = text.partition(".")
                if root not in bases:
                    bases[root] = self._given(facts, call, target, root)
                given = bases[root]
                if given is None:
                    names.add(text)
                else:
                    names.update([_shortened(base + dot + rest) for base in given])
            found.append(frozenset(names))
        return Effects(found[0], found[1], effects.known, effects.draws)

    def _given(self, facts: FileFacts, call: ast.Call, target: Scope, root: str) -> frozenset[str] | None:
        """The state that a caller hands to a callee's parameter; ``None`` for names that are none of them."""
        if root not in target.params:
            return None
        own = target.self_name
        if root == own:
            if target.name == "__init__" or not isinstance(call.func, (ast.Attribute, ast.Name)):
                return frozenset()  # a new object, or one without a name
            is_call_of_object = target.name in ("forward", "__call__")
            method = isinstance(call.func, ast.Attribute) and call.func.attr == target.name
            node: ast.expr | None = call.func
            if method or not is_call_of_object:
                node = call.func.value if isinstance(call.func, ast.Attribute) else None
        else:
            node = passed(target, root, Caller(facts, call, 1 if own else 0))
        return self._texts(facts, node) if node is not None else frozenset()


def _tokenizer(func: ast.expr) -> ast.expr | None:
    """What a call is made of that is called a tokenizer: ``tokenizer(text)``, ``self.tokenizer.decode(ids)``."""
    held = func.value if isinstance(func, ast.Attribute) else func
    return next((each for each in (func, held) if _TOKENIZER.fits(_last(each))), None)


def _both(effects: Effects) -> tuple[frozenset[str], frozenset[str]]:
    return effects.reads, effects.writes


def _shortened(text: str) -> str:
    """A chain of at most four names, for state that is nested in state may be so without end."""
    return ".".join(text.split(".")[:4]) if text.count(".") > 3 else text


def _last(node: ast.expr) -> str:
    """The last name of a chain."""
    return dotted(node).rpartition(".")[2]

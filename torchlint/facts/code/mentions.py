"""Where names and attributes are read: an index of each file, made when it is first asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.code.structure import Structures
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.rule import Kind

_SETTINGS = frozenset({"args", "arg", "cfg", "config", "conf", "opt", "opts", "hparams", "hp", "FLAGS", "params"})
Read = tuple[FileFacts, ast.expr]
"""A place that reads an attribute: ``x.name``, or ``getattr(x, "name")``."""
_HOLDERS = (ast.List, ast.Tuple, ast.Dict, ast.Set)
_ADDING_UP = frozenset({"torch.sum", "torch.mul", "torch.multiply", "torch.einsum", "torch.matmul", "torch.where"})
_OBJECTS = (Kind.INSTANCE, Kind.MODULE, Kind.CLASS)


@dataclass(eq=False, slots=True)
class _Index:
    """The names and attributes of one file, by what they are called; attributes with the object that has them."""

    names: dict[str, list[ast.Name]] = field(default_factory=dict)
    attributes: dict[str, list[tuple[ast.expr, ast.expr]]] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class _Fields:
    """The places that read an attribute, in order, and which of them may read that of which class."""

    reads: list[Read] = field(default_factory=list)
    anyone: list[int] = field(default_factory=list)
    by_class: dict[str, list[int]] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Mentions(Fact):
    """Finds where a binding or an attribute is read; the target of ``x += 1`` reads ``x`` too."""

    project: Project
    graph: CallGraph
    values: Values
    structures: Structures
    _indices: dict[str, _Index] = field(default_factory=dict)
    _known: dict[tuple[frozenset[str], str], _Fields] = field(default_factory=dict)
    _fields: dict[tuple[frozenset[str], str, str], tuple[Read, ...]] = field(default_factory=dict)

    def of_binding(self, facts: FileFacts, name: str, stmt: ast.AST) -> Iterator[ast.Name]:
        """Yield the places that may read what a statement binds to a name."""
        for node in self._index(facts).names.get(name, ()):
            if any(binding.stmt is stmt for binding in self.project.reaching(facts, node).bindings):
                yield node

    def handed_on(self, facts: FileFacts, name: ast.Name) -> bool:
        """Return whether what a name holds also goes elsewhere: to a call, into a container, or out of the function.

        Operators, the methods of the value, and functions of torch that sum or multiply it, hand nothing on.
        """
        stmts = {binding.stmt for binding in self.project.reaching(facts, name).bindings}
        reads = (read for stmt in stmts for read in self.of_binding(facts, name.id, stmt))
        return any(self._goes_on(facts, read) for read in reads)

    def _goes_on(self, facts: FileFacts, read: ast.expr) -> bool:
        """Whether the value that is read here is handed to something, as it is or by another view of it."""
        node, parent = read, facts.parent.get(read)
        while isinstance(parent, (ast.Attribute, ast.Call)) and node is not None:
            if isinstance(parent, ast.Call) and node is not parent.func:
                return self.project.qualified(facts, parent.func) not in _ADDING_UP
            node, parent = parent, facts.parent.get(parent)
        return isinstance(parent, (*_HOLDERS, ast.keyword, ast.Return, ast.Yield, ast.Starred)) or (
            isinstance(parent, ast.Assign)
            and any(isinstance(t, (ast.Attribute, ast.Subscript)) for t in parent.targets)
        )

    def of_field(self, facts: FileFacts, classes: str, attr: str) -> tuple[Read, ...]:
        """Return the places that may read an attribute of instances of classes, or of any object without classes."""
        group = self.graph.groups[facts.path]
        found = self._fields.get((group, classes, attr))
        if found is None:
            found = self._fields[group, classes, attr] = tuple(self._reads(group, classes, attr))
        return found

    def _reads(self, group: frozenset[str], classes: str, attr: str) -> Iterator[Read]:
        known = self._known.get((group, attr))
        if known is None:
            known = self._known[group, attr] = self._read_anywhere(group, attr)
        names = classes.split("|") if classes else []
        places = {place for place in known.anyone if self._fits(known.reads[place], names)}
        for one in names:
            below = (child.dotted for child in self.project.descendants(one))
            for cls in (*self.project.ancestry(one), *below):
                places.update(known.by_class.get(cls, ()))
        if not names:
            places.update(*known.by_class.values())
        return (known.reads[place] for place in sorted(places))

    def _fits(self, read: Read, classes: Sequence[str]) -> bool:
        """Whether an object of unknown class may be one of some classes, as far as what is asked of it tells."""
        facts, node = read
        holder = holder_of(node)
        return not classes or any(self.structures.may_be(facts, node, holder, cls) for cls in classes)

    def _read_anywhere(self, group: frozenset[str], attr: str) -> _Fields:
        """The places that read an attribute of any object, by the class of that."""
        found = _Fields()
        word = attr.encode()
        for path in sorted(group):
            file = self.project.files[path]
            for node, holder in self._index(file).attributes.get(attr, ()) if word in file.source.utf8 else ():
                value = self.values.of(file, holder)
                place = len(found.reads)
                found.reads.append((file, node))
                if not value.known:
                    if not (isinstance(holder, ast.Name) and holder.id in _SETTINGS):
                        found.anyone.append(place)
                elif value.kind in _OBJECTS:
                    for cls in value.name.split("|"):
                        found.by_class.setdefault(cls, []).append(place)
        return found

    def _index(self, facts: FileFacts) -> _Index:
        found = self._indices.get(facts.path)
        if found is None:
            found = self._indices[facts.path] = _Index()
            for name in facts.nodes(ast.Name):
                if isinstance(name.ctx, ast.Load) or _augments(name, facts.parent[name]):
                    found.names.setdefault(name.id, []).append(name)
            asking = b"getattr" in facts.source.utf8
            for node in facts.parent if asking else facts.nodes(ast.Attribute):
                if isinstance(node, ast.Attribute):
                    if isinstance(node.ctx, ast.Load) or _augments(node, facts.parent[node]):
                        found.attributes.setdefault(node.attr, []).append((node, node.value))
                elif isinstance(node, ast.Call) and (asked := _asked(node)) is not None:
                    found.attributes.setdefault(asked, []).append((node, node.args[0]))
        return found


def holder_of(read: ast.expr) -> ast.expr:
    """Return the object of which a place reads an attribute."""
    if isinstance(read, ast.Call):
        return read.args[0]
    assert isinstance(read, ast.Attribute)
    return read.value


def _asked(call: ast.Call) -> str | None:
    """The attribute that ``getattr(x, "name")`` reads; ``None`` of any other call."""
    match call:
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            return name
    return None


def _augments(node: ast.expr, parent: ast.AST) -> bool:
    return isinstance(parent, ast.AugAssign) and parent.target is node

"""Tuples, lists and sets that are written out, and lists that are records: ``memory.append([state, action, 1.0])``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from torchlint.facts.code.callers import fields_of
from torchlint.facts.code.decorating import keeps_result
from torchlint.facts.code.model import Binding, FileFacts, Scope
from torchlint.facts.code.solver import NotYetError
from torchlint.facts.values.asking import Ask
from torchlint.facts.values.join import contents, join, list_of, tuple_of
from torchlint.facts.values.operators import listed, unpack
from torchlint.models import Word
from torchlint.rule import UNKNOWN, Kind, Value

_KEEPING = Word("keeping of a record")
_OBJECTS = frozenset({Kind.MODULE, Kind.INSTANCE, Kind.CLASS})
_MIXED = frozenset({Kind.UNKNOWN, Kind.ITEM})
_TUPLE = "typing.NamedTuple"
_FEWEST = 3
"""Lists of two are pairs of the same kind as well, which code changes and extends."""


def display(ask: Ask, facts: FileFacts, node: ast.List | ast.Set | ast.Tuple) -> Value | None:
    """Return the value of a display; ``None`` when nothing is known of the elements of a list yet.

    A list of different things that is handed to what keeps it is taken for the tuple that it might be.
    """
    if isinstance(node, ast.Tuple):
        return _in_order(ask, facts, node)
    if any(isinstance(element, ast.Starred) for element in node.elts):
        return list_of(UNKNOWN)
    found = listed([ask.value(facts, element) for element in node.elts])
    if not ask.guesses or found is None or found.element.kind not in _MIXED or not _is_record(ask, facts, node):
        return found
    return ask.guess(_in_order(ask, facts, node))


def either_row(rows: Sequence[Value | None]) -> Value | None:
    """Return what is known of one of several tuples; of those of different lengths what holds for all elements."""
    found = join(rows)
    known = [row for row in rows if row is not None]
    if found != UNKNOWN or any(row.kind is not Kind.TUPLE for row in known):
        return found
    element = join(item for row in known for item in row.items) or UNKNOWN
    return list_of(element) if element.known else UNKNOWN


def some_of(whole: Value, index: ast.Slice) -> Value:
    """Return what a slice takes of a tuple: those elements, or a list where it is not known which."""
    bounds: list[int | None] = []
    for part in (index.lower, index.upper, index.step):
        bounds.append(_number(part))
        if part is not None and bounds[-1] is None:
            return list_of(join(whole.items) or UNKNOWN)
    lower, upper, step = bounds
    return tuple_of(*whole.items[lower:upper:step]) if step != 0 else UNKNOWN


def _in_order(ask: Ask, facts: FileFacts, node: ast.List | ast.Set | ast.Tuple) -> Value:
    parts = ask.arguments(facts, node.elts)
    return tuple_of(*parts) if parts is not None else UNKNOWN


def _number(bound: ast.expr | None) -> int | None:
    """The integer that a bound of a slice is."""
    match bound:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
    return None


def _is_record(ask: Ask, facts: FileFacts, node: ast.List | ast.Set) -> bool:
    """Whether a list is written out where a method keeps it, and nothing else can change it."""
    call = facts.parent.get(node)
    if not isinstance(node, ast.List) or len(node.elts) < _FEWEST or not isinstance(call, ast.Call):
        return False
    keeps = isinstance(call.func, ast.Attribute) and node in call.args and _KEEPING.fits(call.func.attr)
    return keeps and not (ask.project.qualified(facts, call.func) or "").startswith(("numpy.", "torch."))


def unpacked(ask: Ask, facts: FileFacts, binding: Binding, value: Value | None) -> Value | None:
    """Return what a statement takes apart; of a call of unknown value only tuples of as many parts as it takes.

    A function that may return two values or three returns three to ``a, b, c = f()``: with two it would raise. Of two
    networks, one of which gives a pair and one a tensor, each part is one of the pair or a part of the tensor. A list
    that a call gives, of which no more is known, holds what the annotation of the name promises.
    """
    if value is not None and value.kind is Kind.LIST and binding.annotation is not None:
        called = isinstance(binding.value, ast.Call) and not binding.path
        promised = ask.annotations.read(facts, binding.annotation) if called else UNKNOWN
        return replace(value, items=contents(value, promised))
    match binding.stmt:
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Call() as call) if value == UNKNOWN:
            functions = _functions(ask, facts, call)
            given = [(function.file, node) for function in functions for node in function.results]
            fitting = [(file, node) for file, node in given if _may_fill(node, parts)]
            plain = all(keeps_result(ask.project, each) and not each.yields for each in functions)
            if plain and 0 < len(fitting) < len(given):
                return join(ask.value(file, node) for file, node in fitting)
            if plain and len(functions) > 1 and given and not any(isinstance(part, ast.Starred) for part in parts):
                return _by_parts([ask.value(file, node) for file, node in given], len(parts))
    return value


def part_of(ask: Ask, value: Value, step: int) -> Value:
    """Return one element of what is taken apart; -1 stands for what comes after a starred target."""
    return field_of(ask, value, step) or unpack(value, step)


def field_of(ask: Ask, value: Value, place: int) -> Value | None:
    """Return what is at a place of a named tuple whose class says what its fields are, ``None`` for anything else."""
    named = value.kind is Kind.INSTANCE and not value.items and _TUPLE in ask.project.ancestry(value.name)
    fields = list(fields_of(ask.project, value.name)) if named else []
    if not 0 <= place < len(fields):
        return None
    found = ask.attribute(value.name, fields[place])
    if found is None:
        raise NotYetError
    return found


def _by_parts(values: Sequence[Value | None], count: int) -> Value | None:
    """The tuple of what is known of each part, whichever of some values is taken apart."""
    known = [value for value in values if value is not None]
    parts = [join(unpack(value, place) for value in known) for place in range(count)]
    return tuple_of(*(part or UNKNOWN for part in parts)) if known else None


def _functions(ask: Ask, facts: FileFacts, call: ast.Call) -> Sequence[Scope]:
    """The functions of the project that a call of one, of a method or of a module means; none if some are others'."""
    project = ask.project
    named = project.functions.get(project.qualified(facts, call.func) or "")
    if named is not None:
        return [named]
    if isinstance(call.func, ast.Attribute):
        source = ask.known(facts, call.func.value)
        names = source.name.split("|") if source.kind in _OBJECTS else []
        own = [each for cls in names for each in project.implementations(cls, call.func.attr)]
        if own:
            return own if all(project.implementations(cls, call.func.attr) for cls in names) else []
    callee = ask.known(facts, call.func)
    names = callee.name.split("|") if callee.kind is Kind.MODULE else []
    called = [project.called(cls, module=True) for cls in names]
    return [each for own in called for each in own] if all(called) else []


def _may_fill(node: ast.expr, parts: Sequence[ast.expr]) -> bool:
    """Whether an expression may be taken apart into as many parts, unlike a number or a display of another length."""
    if isinstance(node, ast.Constant):
        return False
    starred = any(isinstance(part, ast.Starred) for part in (*parts, *getattr(node, "elts", ())))
    return starred or not isinstance(node, ast.Tuple) or len(node.elts) == len(parts)

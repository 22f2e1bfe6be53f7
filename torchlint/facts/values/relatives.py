"""What one of many objects is: of more classes than are kept apart, an object of the class that all derive from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchlint.facts.code.project import Project
from torchlint.facts.values.join import join
from torchlint.rule import Kind, Value

_OBJECTS = (Kind.MODULE, Kind.INSTANCE)


def joined(project: Project, values: Iterable[Value | None]) -> Value | None:
    """Return what holds for all values, as ``join`` does; of objects of many classes, their nearest common class."""
    asked: list[Value] = []
    rest = iter(values)
    result = join(_noted(rest, asked))
    if result is None or result.name or not asked or not all(each.kind in _OBJECTS and each.name for each in asked):
        return result
    asked += [each for each in rest if each is not None and each.kind is not Kind.NONE]
    if not all(each.kind is asked[0].kind and each.name for each in asked):
        return result
    names = dict.fromkeys(name for each in asked for name in each.name.split("|"))
    lines = [[name, *project.ancestry(name)] for name in names]
    common = next((cls for cls in lines[0] if cls in project.classes and all(cls in line for line in lines)), "")
    return Value(asked[0].kind, name=common, derived=True) if common else result


def _noted(values: Iterator[Value | None], asked: list[Value]) -> Iterator[Value | None]:
    """The values one by one; those of which something is known are noted."""
    for value in values:
        if value is not None and value.kind is not Kind.NONE:
            asked.append(value)
        yield value

"""What attributes of objects are, and what lists hold that grow elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from torchlint.facts import operators, signatures
from torchlint.facts.asking import Ask
from torchlint.facts.callers import methods, stores_of
from torchlint.facts.join import TENSOR, join
from torchlint.facts.model import Bind, Binding, FileFacts, Store
from torchlint.rule import UNKNOWN, Kind, Value


@dataclass(eq=False, slots=True)
class Attributes:
    """Answers what ``object.name`` is."""

    ask: Ask

    def of(self, source: Value, attr: str) -> Value | None:
        """An attribute of a value."""
        if source.kind is Kind.TENSOR:
            return signatures.tensor_attribute(attr, source)
        if source.kind is Kind.NDARRAY:
            return signatures.ndarray_attribute(attr, source)
        if source.kind is Kind.DISTRIBUTION:
            tensors = signatures.table()["distribution_methods"]["tensor_attributes"]
            return TENSOR if attr in tensors else UNKNOWN
        if source.kind is Kind.MODULE and attr in ("weight", "bias"):
            return TENSOR
        if source.kind in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS) and source.name:
            return self.ask.attribute(source.name, attr)
        return UNKNOWN

    def of_class(self, cls: str, name: str) -> Value | None:
        """What ``instance.name`` is for an instance of a class."""
        project = self.ask.project
        own = project.implementations(cls, name)
        if own:
            if "property" in own[0].decorator_names or "cached_property" in own[0].decorator_names:
                return self.ask.returned(own)
            return Value(Kind.FUNCTION, name=own[0].dotted)
        stores = [*stores_of(project, cls, name), *self.outside(cls, name)]
        result = join([self._stored(store) for store in stores])
        if result is None:
            return None if stores else UNKNOWN
        if result.kind is Kind.LIST:
            return self._grown(cls, name, result)
        return result

    def outside(self, cls: str, name: str) -> Iterator[Store]:
        """Assignments to an attribute of what is known to be an instance of a class, or of a relative."""
        project = self.ask.project
        for facts, node, store in project.outside.get(name, ()):
            value = self.ask.value(facts, node) or UNKNOWN
            if value.kind in (Kind.INSTANCE, Kind.MODULE) and any(
                cls in project.ancestry(other) or other in project.ancestry(cls) for other in value.name.split("|")
            ):
                yield store

    def _stored(self, store: Store) -> Value | None:
        if store.binding.how is Bind.AUGMENT:
            return None  # changes the number, hardly ever the kind
        return self.ask.solver.ask((store.scope.file, store.binding))

    # lists that grow ------------------------------------------------------------------------------------------------

    def grown(self, facts: FileFacts, binding: Binding, value: Value) -> Value | None:
        """A list with what the same function appends to it under the same name."""
        scope = facts.scope_of(binding.stmt).function
        names = [n for n, bound in scope.bindings.items() if binding in bound]
        if not names:
            return value
        return self._filled(value, ((facts, how, node) for how, node in scope.appends.get(names[0], ())))

    def _grown(self, cls: str, name: str, value: Value) -> Value | None:
        project = self.ask.project
        classes = [*project.family(cls), *project.descendants(cls)]
        return self._filled(
            value,
            (
                (method.file, how, node)
                for scope in classes
                for method in methods(scope)
                if method.self_name
                for how, node in method.appends.get(f"{method.self_name}.{name}", ())
            ),
        )

    def _filled(self, value: Value, appended: Iterable[tuple[FileFacts, str, ast.expr]]) -> Value | None:
        """A list with what is appended to it; each addition says how."""
        elements: list[Value | None] = list(value.items)
        for facts, how, node in appended:
            item = self.ask.value(facts, node) if how != "unknown" else UNKNOWN
            if item is not None and how == "extend":
                item = signatures.element_of(item)
            elements.append(item)
        if not elements:
            return value
        element = join(elements)
        return replace(value, items=operators.items(element)) if element is not None else None

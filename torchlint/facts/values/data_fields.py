"""Where tensors in fields of dataclasses lie: on the host where all code that makes such objects puts them there."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import field, replace

from torchlint.facts.code.callers import fields_of, methods
from torchlint.facts.code.model import AttributeStore, FileFacts, Scope, decorators
from torchlint.facts.code.naming import last_name
from torchlint.facts.values.asking import Ask
from torchlint.facts.values.signatures import starred
from torchlint.late import dataclass
from torchlint.rule import Device, Kind, Value

_DECORATORS = frozenset({"dataclasses.dataclass"})
_COPYING = frozenset({"dataclasses.replace", "copy.replace"})
# What sets fields of objects by names that the code does not show.
_SETTING = (b"setattr(", b"__dict__", b"vars(")


@dataclass(eq=False, slots=True)
class DataFields:
    """Answers where a field of a dataclass lies, with an index of calls by name."""

    ask: Ask
    _calls: dict[str, list[tuple[FileFacts, ast.Call]]] | None = None
    _plain: dict[Scope, bool] = field(default_factory=dict)

    def placed(self, cls: str, name: str, stores: list[AttributeStore], result: Value) -> Value:
        """Return what a field is: a tensor on the host where all calls of the class give it tensors that lie there."""
        scope = self.ask.project.classes.get(cls)
        if scope is None or result.kind is not Kind.TENSOR or result.device is not Device.UNKNOWN:
            return result
        if any(store.scope.kind != "class" for store in stores) or not self._is_plain_record(scope):
            return result
        places = {self._place(facts, call, cls, name) for facts, call in self._making(scope)}
        return replace(result, device=Device.CPU) if places <= {Device.CPU, None} and Device.CPU in places else result

    def _place(self, facts: FileFacts, call: ast.Call, cls: str, name: str) -> Device | None:
        """Where one call puts a field, ``None`` where it gives none or nothing is known yet."""
        named = {word.arg: word.value for word in call.keywords}
        order = list(dict.fromkeys(fields_of(self.ask.project, cls)))
        given = named.get(name) or dict(zip(order, call.args, strict=False)).get(name)
        if starred(call):
            return Device.UNKNOWN
        value = self.ask.value(facts, given) if given is not None else None
        if value is None or value.kind is Kind.NONE:
            return None
        return value.device if value.kind is Kind.TENSOR else Device.UNKNOWN

    def _making(self, cls: Scope) -> Iterator[tuple[FileFacts, ast.Call]]:
        """The calls that may make an object of a class."""
        if self._calls is None:
            self._calls = defaultdict(list)
            for facts in self.ask.project.files.values():
                for call in (call for scope in facts.scopes for call in scope.calls):
                    self._calls[last_name(call.func)].append((facts, call))
        for facts, call in self._calls.get(cls.name, ()):
            meant = self.ask.project.qualified(facts, call.func)
            if meant == cls.dotted or meant not in self.ask.project.classes:
                yield facts, call

    def _is_plain_record(self, cls: Scope) -> bool:
        """Whether calls of a class are all that sets the fields of its objects."""
        found = self._plain.get(cls)
        if found is None:
            found = self._plain[cls] = self._is_plain(cls)
        return found

    def _is_plain(self, cls: Scope) -> bool:
        project = self.ask.project
        family = list(project.family(cls.dotted))
        made = {project.qualified(cls.file, getattr(each, "func", each)) for each in decorators(cls.node)}
        alone = not project.descendants(cls.dotted) and len(family) == len(project.ancestry(cls.dotted))
        if _DECORATORS.isdisjoint(made) or not alone:
            return False
        own = [method for each in family for method in methods(each)]
        if any(method.name in ("__init__", "__post_init__") for method in own):
            return False
        called = [last_name(call.func) for method in own for call in method.run_calls()]
        if not {"", "cls", "__class__"}.isdisjoint(called):
            return False  # it may make objects of its own class
        files = [project.files[path] for path in project.groups[cls.file.path]]
        if any(word in facts.source.utf8 for facts in files for word in _SETTING):
            return False
        calls = (
            (facts, call)
            for facts in files
            if b"replace" in facts.source.utf8
            for s in facts.scopes
            for call in s.calls
        )
        return not any(project.qualified(facts, call.func) in _COPYING for facts, call in calls)

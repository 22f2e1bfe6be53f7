"""Programs that set the device on which torch makes new tensors: there, one that names no device may lie anywhere."""

from __future__ import annotations

import ast
from dataclasses import field, replace

from torchlint.facts.code.closure import reached
from torchlint.facts.code.model import FileFacts
from torchlint.facts.values.asking import Ask
from torchlint.facts.values.signatures import rules, table
from torchlint.late import dataclass
from torchlint.rule import Device, Kind, Value

_SETTING = frozenset({"torch.set_default_device", "torch.set_default_tensor_type"})
# A file without any of these sets none.
_WORDS = tuple(name.removeprefix("torch").encode() for name in _SETTING)
_MAKING = ("arange", "convert", "create", "integers")
# It stays where its data lie.
_KEEPING = "from_numpy"


@dataclass(eq=False, slots=True)
class DefaultDevices:
    """Answers what creators of torch make in files that import, at whatever distance, one that sets the device."""

    ask: Ask
    _moving: frozenset[str] | None = field(default=None)

    def made(self, facts: FileFacts, call: ast.Call, name: str, known: Value) -> Value:
        """Return what a function of torch makes, of which ``known`` holds where nothing is set.

        A tensor is copied where it lies. What nothing is known of is data, since torch warns of copies of tensors.
        """
        if not _takes_default(name) or any(word.arg in (None, "device", "out") for word in call.keywords):
            return known
        data = rules("torch").get(name.rpartition(".")[2]) == "convert" and bool(call.args)
        if known.kind is not Kind.TENSOR or (data and self.ask.known(facts, call.args[0]).kind is Kind.TENSOR):
            return known
        if self._moving is None:
            self._moving = self._found()
        if facts.path in self._moving:
            return replace(known, device=Device.UNKNOWN, pinned=None)
        if name != "torch.tensor" or known.device is not Device.UNKNOWN:
            return known
        return self.ask.rather(replace(known, device=Device.CPU), known)

    def _found(self) -> frozenset[str]:
        """The files that set the device on which tensors are made, import one that does, or are imported by one.

        What is imported for its functions and classes makes its tensors after the device is set.
        """
        files = self.ask.project.files.values()
        named = (facts for facts in files if any(word in facts.source.utf8 for word in _WORDS))
        setting = [facts.path for facts in named if self._sets(facts)]
        if not setting:
            return frozenset()
        importing: dict[str, list[str]] = {}
        imported: dict[str, list[str]] = {}
        for facts in files:
            for dotted in (*facts.imports, *facts.star_imports):
                for target in self.ask.project.names.meant(facts.path, dotted):
                    importing.setdefault(target.path, []).append(facts.path)
                    imported.setdefault(facts.path, []).append(target.path)
        above = reached(setting, lambda path: importing.get(path, ()))
        return frozenset(above) | frozenset(reached(setting, lambda path: imported.get(path, ())))

    def _sets(self, facts: FileFacts) -> bool:
        calls = (call for scope in facts.scopes for call in scope.calls if call.args)
        return any(
            self.ask.project.qualified(facts, call.func) in _SETTING and not self._is_host(facts, call.args[0])
            for call in calls
        )

    def _is_host(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a device, or a type of tensors, is written out and is that of the host."""
        match node:
            case ast.Constant(value=text):
                return text is None or (isinstance(text, str) and _names_host(text))
            case ast.Call(args=[inner, *_]):
                return self._is_host(facts, inner)
        return _names_host(self.ask.project.qualified(facts, node) or "")


def _names_host(text: str) -> bool:
    """``cpu``, ``torch.DoubleTensor``."""
    module, _, last = text.rpartition(".")
    return text.startswith("cpu") or (module == "torch" and last in table()["legacy"])


def _takes_default(name: str) -> bool:
    module, _, last = name.rpartition(".")
    if module != "torch" or last == _KEEPING:
        return False
    return last == "Tensor" or rules("torch").get(last) in _MAKING

"""Where a value goes that is an argument of a call, and what methods of containers do with what they hold."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from torchlint.facts.autograd.layers import is_kept_layer
from torchlint.facts.code.callers import fields_of
from torchlint.facts.code.model import is_super
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.relaying import handed_on
from torchlint.facts.dataflow.spots import Key, Spot, iterated, picked
from torchlint.facts.flow.carriers import Carrier, Next
from torchlint.facts.flow.renaming import items_taken
from torchlint.facts.flow.store import Ground
from torchlint.facts.hotness.beginnings import runs
from torchlint.facts.hotness.phases import STEP
from torchlint.late import dataclass, regex
from torchlint.models import Word, function_names, method_names
from torchlint.models.protocols import logging_method, logs, named
from torchlint.rule import Kind, Use

_LOG_LIBRARIES = (
    *("builtins.print", "logging.", "wandb.", "mlflow.", "neptune.", "warnings.", "tqdm.", "rich.", "loguru."),
    *("sys.stdout.", "sys.stderr.", "click.", "absl.logging.", "comet_ml.", "aim.", "swanlab.", "tensorboard"),
    *("torch.utils.tensorboard", "matplotlib.", "seaborn.", "plotly.", "json.", "csv.", "visdom.", "yaml."),
)
_LOG_METHODS = method_names(logs=True)
_LOGGERS = regex(
    r"(^|_)(log(ger|s|ging)?|writer|wandb|tb|tensorboard|summary|p(rogress_?)?bar|progress|tqdm|recorder|reporter|console"
    r"|stdout|stderr|tbwriter|neptune|mlflow|statsd)(_run|_client|\d)?$",
    re.IGNORECASE,
)
_LOGGED_CLASS = regex(r"^([A-Z]\w*)?Summary$")
_LOGGER_CLASS = regex(r"(Logger|Writer|Recorder|Reporter|ProgressBar|tqdm|WandB|Wandb)$")
_CONTAINERS = (Kind.LIST, Kind.DICT, Kind.SET)
_LOGS = Word("function that logs")
_ENV_NAME = Word("variable of an environment")
_ENV_METHODS = method_names(environment=("acts", "answers"))
_ENV_BASE = regex(r"(Env|EnvBase|Environment|Wrapper)$")
_KERNEL_SIZE = Word("size that a kernel takes")
_MAPPING = function_names(maps="leaves")
_SENDING = method_names(sends=True)
_READING = method_names("list deque dict", returns="element")


@dataclass(frozen=True, slots=True)
class CallContexts:
    """Follows values into calls."""

    ground: Ground
    carrier: Carrier

    def argument(self, spot: Spot, call: ast.Call, place: Key) -> Next:
        """Follow the value as an argument of a call: at a position, behind a keyword, or (``None``) anywhere."""
        if self._logs(spot, call):
            yield self.carrier.text
        elif self._steps(spot, call):
            yield Use.ENVIRONMENT
            yield from self.carrier.stepped(spot, call)
        else:
            name = self.ground.project.qualified(spot.facts, call.func) or ""
            if name == "builtins.dict" and isinstance(place, str):
                yield spot.at(call, place, *spot.path)
                return
            if fields := self._fields_given(spot, call):
                position = fields.index(place) if isinstance(place, str) and place in fields else place
                yield spot.at(call, position, *spot.path)
                return
            if name == "builtins.getattr" and place == 0 and spot.path:
                key = self.ground.key(spot, call.args[1]) if len(call.args) > 1 else None
                yield from self._taken(spot, call, key)
                return
            if (handed := handed_on(name, call)) is not None and spot.node is handed:
                yield spot.same(call)
                return
            if call in self.ground.graph.callees:
                yield from self._project(spot, call, place, name)
                return
            if isinstance(place, str) and _KERNEL_SIZE.fits(place):
                yield Use.SIZE  # a kernel is started for it: no tensor will do
                return
            known = self._mapped(spot, call, place) if name in _MAPPING else None
            if known is None and name:
                known = self.carrier.library(spot, call, name)
            if known is None and self._is_layer(spot, call.func):
                known = self.carrier.operation(spot, call)
            if known is None and isinstance(call.func, ast.Attribute):
                known = self._method(spot, call, call.func, place)
            if known is None and _KERNEL_SIZE.fits(last_name(spot.node)):
                yield Use.SIZE
            elif known is None:
                yield Use.REPORTED if self._sends_report(spot, call) else Use.PASSED
            else:
                yield from known

    def _sends_report(self, spot: Spot, call: ast.Call) -> bool:
        """Return whether a call makes an object of an unknown class of a record, or sends one, in code with updates.

        Workers send their metrics so to the process that logs them: ``Reply(info={"metrics": metrics})``,
        ``self.replies.put(metrics)``.
        """
        last = last_name(call.func)
        if not (last[:1].isupper() or last in _SENDING) or not self.ground.is_recorded(spot):
            return False
        return self.ground.updates(spot.facts.scope_of(call).function)

    def _fields_given(self, spot: Spot, call: ast.Call) -> tuple[str, ...]:
        """The fields of the named tuple that a call makes of its arguments, in order; none of other calls."""
        callee = self.ground.values.of(spot.facts, call.func)
        if callee.kind is Kind.CLASS:
            return callee.keys
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "_replace":
            return ()
        return self.ground.values.of(spot.facts, call.func.value).keys

    def _taken(self, spot: Spot, call: ast.Call, key: Key) -> Next:
        """The value as an attribute that a call takes out of what holds it; a field of a named tuple has a position."""
        fields = self.ground.values.of(spot.facts, spot.node).keys
        path = picked(spot.path, fields.index(key) if isinstance(key, str) and key in fields else key)
        if path is not None:
            yield replace(spot.same(call), path=path)

    def _mapped(self, spot: Spot, call: ast.Call, place: Key) -> Next | None:
        """A leaf of a structure: what the function does with it, and the structure that comes of it."""
        given = self.ground.values.of(spot.facts, call.args[0])
        functions = self.ground.project.functions
        found = [functions[name] for name in given.name.split("|") if name in functions]
        if place is None and isinstance(call.args[1], ast.Starred) and not any(each.positional for each in found):
            place = 1  # ``map_structure(lambda *leaves: np.mean(leaves), *reports)``: wherever it is among them
        if given.kind is not Kind.FUNCTION or not found or not isinstance(place, int) or not place:
            return None
        leaf = replace(spot, path=())
        ends = [end for each in found for end in self.ground.parameter(leaf, call, each, place - 1, quiet=False)]
        return iter((*ends, spot.same(call)))

    def _is_layer(self, spot: Spot, func: ast.expr) -> bool:
        """Whether a call runs a module, or what one keeps without its class being known."""
        value = self.ground.values.of(spot.facts, func)
        if value.kind is Kind.MODULE:
            return True
        return not value.known and is_kept_layer(self.ground.project, spot.facts, func)

    def _project(self, spot: Spot, call: ast.Call, place: Key, name: str) -> Next:
        """A function or class of the project."""
        functions = self.ground.graph.callees[call]
        if call in self.ground.graph.weak:
            yield Use.PASSED
        if not functions:
            fields = list(fields_of(self.ground.project, name))
            field = fields[place] if isinstance(place, int) and place < len(fields) else place
            if isinstance(field, str) and field in fields:
                unpacked = "typing.NamedTuple" in self.ground.project.ancestry(name)
                ends = self.ground.field(spot, name, field)
                yield from (end for end in ends if not (unpacked and end is Use.STORED))
                if unpacked:
                    yield spot.at(call, fields.index(field), *spot.path)
            else:
                yield Use.PASSED
        for function in functions:
            known = self.carrier.summary(spot, call, function)
            if known is not None:
                yield from known
            elif place is None:
                yield Use.PASSED
            else:
                yield from self.ground.parameter(spot, call, function, place, self.carrier.quiet(spot, call))
            if function.name == "__init__" and function.method_of is not None:
                ancestry = self.ground.project.ancestry(function.method_of.dotted)
                if any(base.startswith("torch.distributions.") for base in ancestry):
                    yield from self.carrier.operation(spot, call)

    # loggers and environments -----------------------------------------------------------------------------------------

    def _logs(self, spot: Spot, call: ast.Call) -> bool:
        """Whether a call prints, writes or logs what it is given."""
        func = call.func
        name = self.ground.project.qualified(spot.facts, func) or ""
        if name.startswith(_LOG_LIBRARIES) or "logs" in self.ground.values.row(spot.facts, call):
            return True
        if _LOGGED_CLASS.search(name.rpartition(".")[2]) and name not in self.ground.project.classes:
            return True  # what a library makes of a name and a number, for a log
        if not name and _LOGS.fits(last_name(func)) and not self.ground.graph.sure(call):
            return True  # a function or an object that callers hand in
        if not isinstance(func, ast.Attribute):
            return False
        if func.attr in _LOG_METHODS or self._framework_logs(spot, func):
            return True
        receiver = func.value.func if isinstance(func.value, ast.Call) else func.value
        last = last_name(receiver)
        value = self.ground.values.of(spot.facts, func.value)
        if value.kind in _CONTAINERS:
            return False
        if _LOGGER_CLASS.search(value.name):
            return True
        if func.attr == "format" and value.kind is Kind.STRING:
            return True
        return bool(_LOGGERS.search(last)) and func.attr not in ("append", "extend", "update", "setdefault", "exp")

    def _framework_logs(self, spot: Spot, func: ast.Attribute) -> bool:
        """Whether a method is one by which a framework logs: ``super().log(x)`` of a trainer, ``self.log(name, x)``."""
        if not logging_method(func.attr):
            return False
        if is_super(func.value):
            owner = spot.facts.scope_of(func).owner
            classes = owner.dotted if owner is not None else ""
        else:
            classes = self.ground.values.of(spot.facts, func.value).name or named(last_name(func.value))
        bases = (base for cls in classes.split("|") for base in self.ground.project.ancestry(cls))
        return any(func.attr in logs(base) for base in bases)

    def _steps(self, spot: Spot, call: ast.Call) -> bool:
        """Whether a call steps an environment with what it is given."""
        func = call.func
        if self.ground.values.row(spot.facts, call).get("runs") == "step":
            return True
        if not isinstance(func, ast.Attribute) or func.attr not in _ENV_METHODS:
            return False
        value = self.ground.values.of(spot.facts, func.value)
        if value.kind is Kind.ENV:
            return True
        last = func.value.attr if isinstance(func.value, ast.Attribute) else getattr(func.value, "id", "")
        if value.name:
            bases = self.ground.project.ancestry(value.name.split("|")[0])
            known = any(_ENV_BASE.search(base) for base in bases)
            if known or bases[0] in self.ground.project.classes:
                return known
        return _ENV_NAME.fits(last) or runs(spot.facts, call, self.ground.values) == STEP

    # methods of other things than the value ---------------------------------------------------------------------------

    def _method(self, spot: Spot, call: ast.Call, func: ast.Attribute, place: Key) -> Next | None:
        """A method of something that is given the value."""
        value = self.ground.values.of(spot.facts, func.value)
        if value.kind in _CONTAINERS or not value.known:
            put = self._filled(spot, call, func, place)
            if put is not None:
                return put
        return self.carrier.given(spot, call, func.attr)

    def _filled(self, spot: Spot, call: ast.Call, func: ast.Attribute, place: Key) -> Next | None:
        """The value is put into a container, or looked up in it."""
        name, base = func.attr, func.value
        if name in ("append", "appendleft"):
            return iter((spot.inside(base, None, *spot.path),))
        if name == "extend":
            return iter((spot.inside(base, *(spot.path or (None,))),))
        if name == "insert":
            return iter((self.carrier.index(spot) if place == 0 else spot.inside(base, None, *spot.path),))
        if name == "update" and (spot.path or isinstance(place, str)):
            keys = (place,) if isinstance(place, str) else ()
            return iter((spot.inside(base, *keys, *spot.path),))
        known = self.ground.values.of(spot.facts, base).kind in _CONTAINERS
        if name == "add" and known:
            return iter((spot.inside(base, None, *spot.path),))
        if name in _READING and (known or name == "setdefault"):
            if place == 0:
                return iter((self.carrier.index(spot),))
            reads = spot.same(call)
            if name != "setdefault":
                return iter((reads,))
            return iter((reads, spot.inside(base, self.ground.key(spot, call.args[0]), *spot.path)))
        return iter((self.carrier.index(spot),)) if known and name in ("remove", "index", "count", "discard") else None

    # methods of containers that hold the value ------------------------------------------------------------------------

    def _running(self, spot: Spot, call: ast.Call) -> Next | None:
        """What a method does with the value in its own object, of a class of the project; ``None`` of other methods."""
        graph = self.ground.graph
        functions = graph.sure(call)
        if not functions or any((caller := graph.caller(each, call)) is None or caller.skip != 1 for each in functions):
            return None
        quiet = self.carrier.quiet(spot, call)
        return (end for each in functions for end in self.ground.parameter(spot, call, each, -1, quiet))

    def held(self, spot: Spot, call: ast.Call, method: str) -> Next:
        """Follow the value through a method of the container that holds it.

        Methods that put something else in give nothing of it.
        """
        path = spot.path
        found: tuple[Key, ...] | None = None
        if (running := self._running(spot, call)) is not None:
            yield from running
        elif method == "items" and (taken := items_taken(self.ground, spot, call)) is not None:
            yield from taken
        elif method == "items":
            found = (None, 1, *path[1:])
        elif method == "values":
            found = (None, *path[1:])
        elif method in ("get", "pop", "setdefault") and call.args:
            yield from self.ground.taken(spot, call, call.args[0])
        elif method in ("get", "pop", "setdefault"):
            found = picked(path, None)
        elif method in ("popleft", "__getitem__"):
            found = iterated(path)
        elif method == "popitem":
            found = (1, *path[1:])
        elif method in ("copy", "_asdict", "_replace"):
            fields = self.ground.values.of(spot.facts, spot.node).keys if method == "_asdict" else ()
            place = path[0]
            found = (fields[place], *path[1:]) if isinstance(place, int) and place < len(fields) else path
        elif method not in _SILENT:
            yield Use.PASSED
            return
        if found is not None:
            yield replace(spot.same(call), path=found)


_SILENT = method_names("list deque set dict OrderedDict", returns=(None, "number", "keys"))

"""What a condition asks for: a flag for debugging, the end of an episode, a cache that is empty, a broken number."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Sequence
from itertools import takewhile

from torchlint.facts.code.alike import among
from torchlint.facts.code.callers import given_once
from torchlint.facts.code.model import Bind, Binding, FileFacts
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.tree import arguments_of, is_none, is_number, names_in, walk
from torchlint.facts.hotness.intervals import is_interval
from torchlint.models import Word, last_names, method_names

_DEBUG = Word("debug flag")
_LOGGER = Word("logger in use")
_NO_DISPLAY = Word("no display")
_DONE = Word("end of an episode")
_RUNNING = Word("episode goes on")

_EPISODE_KEY = Word("key of an ended episode")
_SWITCH = Word("switch of a debug mode")
_DUE = Word("work if due")
_DEBUG_MODE = Word("debug mode")
_DEMO, _MODE = Word("mode of a demo"), Word("option of a mode")
NONFINITE = method_names(tests="nonfinite")
_FINITE = method_names(tests="finite")
_FINDING = last_names(finds=True)
_ACTING = method_names(environment="acts")
_FOLDING = frozenset({"any", "all"})
_EVALUATION = Word("flag of an evaluation")
_EVALUATED = Word("results of an evaluation")
_TRACED = frozenset({"is_compiling", "is_dynamo_compiling", "is_exporting", "is_tracing", "is_scripting"})


def is_debug_flag(node: ast.expr) -> bool:
    """Return whether an expression is a flag for debugging, logging, rendering or the like."""
    if isinstance(node, ast.Name):
        return node.id == "__debug__" or _DEBUG.fits(node.id)
    if isinstance(node, ast.Attribute):
        return _DEBUG.fits(node.attr)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "isEnabledFor":
            return True
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
            return isinstance(node.args[0], ast.Constant) and is_text_flag(node.args[0].value)
        return is_debug_flag(node.func) or any(_DEBUG.fits(word) for word in names_in(node.func))
    if isinstance(node, ast.Subscript):
        return is_debug_flag(node.value) or (isinstance(node.slice, ast.Constant) and is_text_flag(node.slice.value))
    return isinstance(node, ast.Compare) and _compares_flag(node)


def lacks_display(node: ast.expr) -> bool:
    """Return whether an expression is a flag that says that nothing is shown: ``self.headless``."""
    return isinstance(node, (ast.Name, ast.Attribute)) and _NO_DISPLAY.fits(last_name(node))


def asks_for_tracing(node: ast.AST) -> bool:
    """Return whether an expression asks whether code is being compiled, traced or exported: ``is_compiling()``."""
    return isinstance(node, ast.Call) and last_name(node.func) in _TRACED


def is_evaluation_flag(node: ast.expr) -> bool:
    """Return whether an expression is a flag that says that nothing is learnt now: ``if self.is_test:``."""
    return isinstance(node, (ast.Name, ast.Attribute)) and _EVALUATION.fits(last_name(node))


def is_evaluated(test: ast.expr) -> bool:
    """Return whether a test is for results of an evaluation that are there: ``evaluation_scores is not None``."""
    return _compares_results(test, ast.IsNot) or is_not(test, lacks_evaluation)


def lacks_evaluation(test: ast.expr) -> bool:
    """Return whether a test is for results of an evaluation that are not there: ``evaluation_scores is None``."""
    return _compares_results(test, ast.Is)


def _compares_results(test: ast.expr, how: type[ast.cmpop]) -> bool:
    """Whether a test compares the results of an evaluation with ``None``."""
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[other]):
            return isinstance(op, how) and is_none(other) and _EVALUATED.fits(name)
    return False


def logger_flag(node: ast.expr) -> str | None:
    """Return the name that an expression tests for a logger in use: ``self.use_tb``, ``config["wandb"]``."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            pass
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            pass
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
            pass
        case _:
            return None
    return name if _LOGGER.fits(name) else None


def _compares_flag(node: ast.Compare) -> bool:
    """``verbose > 1``, ``mode == "debug"``, ``mode == "demo_1"``; a logger that is there is no special case.

    That is ``writer is not None``.
    """
    op, other = node.ops[0], node.comparators[0]
    if isinstance(op, ast.Eq) and isinstance(other, ast.Constant):
        chosen = str(other.value)
        if _DEBUG_MODE.fits(chosen) or (_DEMO.fits(chosen) and _MODE.fits(last_name(node.left))):
            return True
    if isinstance(op, ast.IsNot) and is_none(other) and not _SWITCH.fits(" ".join(names_in(node.left))):
        return False
    return is_debug_flag(node.left) and isinstance(op, (ast.Gt, ast.GtE, ast.Eq, ast.Is, ast.IsNot, ast.NotEq))


def is_text_flag(value: object) -> bool:
    """Return the same for the key of a settings dictionary."""
    return isinstance(value, str) and _DEBUG.fits(value)


def is_full(test: ast.expr, facts: FileFacts) -> bool:
    """Return whether a test calls the file's only method of its name, which returns whether a count is reached.

    ``if agent.store(item):`` with ``return self.count % self.capacity == 0`` at the end of ``store``.
    """
    if not isinstance(test, ast.Call) or not isinstance(test.func, ast.Attribute):
        return False
    found = [scope for scope in facts.scopes if scope.name == test.func.attr and scope.method_of is not None]
    given = found[0].results if len(found) == 1 else ()
    return len(given) == 1 and is_interval(given[0])


def is_past_end(test: ast.expr) -> bool:
    """Return whether a stored position is past the end of a sequence: ``self.at[i] >= len(self.plans[i])``."""
    match test:
        case ast.Compare(
            left=ast.Attribute() | ast.Subscript(),
            ops=[ast.GtE()],
            comparators=[ast.Call(func=ast.Name(id="len"), args=[_])],
        ):
            return True
    return False


def is_reset(test: ast.expr, *, running: bool = False) -> bool:
    """Return whether an expression is a flag for the end of an episode, or made of one.

    With ``running``, it is a flag for the opposite.
    """
    if isinstance(test, ast.Call) and isinstance(test.func, (ast.Attribute, ast.Name)):
        if isinstance(test.func, ast.Attribute) and test.func.attr in _FOLDING and test.args:
            return is_reset(test.args[0], running=running)  # ``np.all(dones)``
        inner = test.func.value if isinstance(test.func, ast.Attribute) else test.args[0] if test.args else test.func
        return is_reset(inner, running=running)
    if isinstance(test, ast.Subscript):
        return is_reset(test.value, running=running)
    if isinstance(test, ast.Compare):
        reset = isinstance(test.ops[0], ast.Eq) and getattr(test.comparators[0], "value", None) == "reset"
        key = test.left.value if isinstance(test.left, ast.Constant) else None
        ended = isinstance(test.ops[0], ast.In) and isinstance(key, str) and _EPISODE_KEY.fits(key)
        return (reset or ended) and not running
    name = last_name(test)
    return _RUNNING.fits(name) if running else _DONE.fits(name) and not _RUNNING.fits(name)


def is_over(test: ast.expr) -> bool:
    """Return whether a condition beside ``done or`` ends the episode or training.

    ``t >= max_steps``, ``stop.is_set()``.
    """
    if isinstance(test, ast.Call):
        return isinstance(test.func, ast.Attribute) and test.func.attr == "is_set"
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Gt, ast.GtE, ast.Eq))


def is_ended(test: ast.expr, facts: FileFacts) -> bool:
    """Return whether a name is one of the flags for the end of an episode: ``for i, d in enumerate(done): if d:``."""
    if not isinstance(test, ast.Name):
        return False
    bindings = facts.scope_of(test).function.bindings.get(test.id, ())
    around = set(facts.ancestors(test))
    inner = [b for b in bindings if b.how is Bind.ELEMENT and b.stmt in around]
    return bool(bindings) and all(b.how is Bind.ELEMENT and _are_ends(b.value, b.path) for b in inner or bindings)


def was_due(test: ast.expr, facts: FileFacts) -> bool:
    """Return whether a test asks for the result of a call that is due at intervals.

    ``score = evaluator.evaluate_if_necessary(step)`` and then ``if score is not None``.
    """
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.IsNot) or not is_none(test.comparators[0]):
        return False
    if not isinstance(test.left, ast.Name):
        return False
    bindings = facts.scope_of(test).function.bindings.get(test.left.id, ())
    made = [b.value.func for b in bindings if isinstance(b.value, ast.Call)]
    words = [last_name(func) for func in made]
    return bool(words) and len(words) == len(bindings) and all(_DUE.fits(word) for word in words)


def _are_ends(flags: ast.expr | None, path: tuple[int, ...]) -> bool:
    """Whether the items of an iterable, or one part of its counted items or of a ``zip``, are the flags."""
    match flags:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            return path[:1] == (1,) and _are_ends(inner, path[1:])
        case ast.Call(func=ast.Name(id="zip"), args=args):
            return len(path) == 1 and path[0] < len(args) and _are_ends(args[path[0]], ())
        case ast.Name() | ast.Attribute():
            return not path and is_reset(flags)
    return False


def goes_over_ends(loop: ast.AST, facts: FileFacts) -> bool:
    """Return whether a loop goes over the environments whose episode ended: ``for i in np.where(dones)[0]:``."""
    if not isinstance(loop, (ast.For, ast.AsyncFor)):
        return False
    return _places_of_ends(loop.iter, facts)


def counts_ends(test: ast.expr, facts: FileFacts) -> bool:
    """Return whether a test counts ended episodes to see if there is any: ``if len(ended) > 0:``."""
    match test:
        case ast.Compare(left=count, ops=[ast.Gt() | ast.NotEq()], comparators=[ast.Constant(value=0)]):
            return _count_of_ends(count, facts)
        case ast.Compare(left=count, ops=[ast.GtE()], comparators=[ast.Constant(value=1)]):
            return _count_of_ends(count, facts)
    return _count_of_ends(test, facts)


def _count_of_ends(node: ast.expr, facts: FileFacts) -> bool:
    """Whether an expression is the number of environments whose episode ended."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[places]):
            return _places_of_ends(places, facts)
        case ast.Attribute(value=places, attr="size") | ast.Call(func=ast.Attribute(value=places, attr="numel")):
            return _places_of_ends(places, facts)
        case ast.Subscript(value=ast.Attribute(value=places, attr="shape"), slice=ast.Constant(value=0)):
            return _places_of_ends(places, facts)
        case ast.Name():
            return _always(node, facts, lambda value: not isinstance(value, ast.Name) and _count_of_ends(value, facts))
    return False


def _places_of_ends(node: ast.expr, facts: FileFacts) -> bool:
    """Whether an expression is, or a name always means, the places at which flags for an end are set.

    Not those of environments that give tensors: hundreds are simulated at once, and in most steps some of them end.
    """
    if isinstance(node, ast.Name):
        return _always(node, facts, lambda value: _finds_ends(value, facts))
    return _finds_ends(node, facts)


def _always(name: ast.Name, facts: FileFacts, recognise: Callable[[ast.expr], bool]) -> bool:
    """Whether all that a function assigns to a name is recognised."""
    bindings = facts.scope_of(name).function.bindings.get(name.id, ())
    return bool(bindings) and all(
        b.how is Bind.ASSIGN and not b.path and b.value is not None and recognise(b.value) for b in bindings
    )


def _finds_ends(node: ast.expr, facts: FileFacts) -> bool:
    """Whether an expression gives the places at which flags for the end of an episode are set."""
    flags, tensor = _searched(node)
    return flags is not None and is_reset(flags) and not (tensor and _are_of_many(flags, facts))


def takes_ended_simulations(call: ast.AST, facts: FileFacts) -> bool:
    """Return whether a call is given a tensor of the places at which a step ended: of some environments in most steps.

    Before the first step it may be another one, such as that of all places.
    """
    given = arguments_of(call) if isinstance(call, ast.Call) else ()
    return any(_holds_ends(name, facts, frozenset()) for name in given if isinstance(name, ast.Name))


def _holds_ends(name: ast.Name, facts: FileFacts, seen: frozenset[str]) -> bool:
    """Whether a name may mean such a tensor, or a part of one: ``ended = done.nonzero()``, ``ended = ended[:, 0]``."""
    for binding in _bound(name, facts):
        if binding.how is not Bind.ASSIGN or binding.path or binding.value is None:
            continue
        flags, tensor = _searched(binding.value)
        if flags is not None and tensor and is_reset(flags) and _are_of_many(flags, facts):
            return True
        whole = binding.value
        while isinstance(whole, ast.Subscript):
            whole = whole.value
        further = seen | {name.id}
        if isinstance(whole, ast.Name) and whole.id not in further and _holds_ends(whole, facts, further):
            return True
    return False


def _searched(node: ast.expr) -> tuple[ast.expr | None, bool]:
    """What an expression gives the places of, ``None`` for any other expression, and whether these are a tensor."""
    outer: ast.expr = node
    while True:
        if isinstance(node, ast.Subscript):
            outer, node = node, node.value
            continue
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return None, False
        if node.func.attr in _FINDING:
            return node.args[0] if node.args else node.func.value, _gives_tensor(node, outer)
        outer, node = node, node.func.value


def _gives_tensor(found: ast.Call, outer: ast.expr) -> bool:
    """Whether the places are a tensor: ``done.nonzero(as_tuple=False)``, ``done.nonzero().squeeze(-1)``.

    Of an array they are a tuple, which has no such method.
    """
    asked = any(given.arg == "as_tuple" for given in found.keywords)
    return asked or (not found.args and isinstance(outer, ast.Call) and outer is not found)


def _bound(name: ast.Name, facts: FileFacts) -> Sequence[Binding]:
    """All that the function around a name binds to it."""
    return facts.scope_of(name).function.bindings.get(name.id, ())


def _are_of_many(flags: ast.expr, facts: FileFacts) -> bool:
    """Whether flags in a tensor are those of environments that are simulated at once: a step gave or keeps them."""
    return facts.is_own(flags) or _is_stepped(flags, facts)


def _is_stepped(flags: ast.expr, facts: FileFacts) -> bool:
    """Whether all that a function binds to a name is a part of what a step gives, or of what a call makes of that."""
    bindings = _bound(flags, facts) if isinstance(flags, ast.Name) else ()
    made = [b.value if b.path and isinstance(b.value, ast.Call) else None for b in bindings]
    stepped = [call is not None and last_name(call.func) in _ACTING for call in made]
    return any(stepped) and all(
        found or (call is not None and among(flags, call.args)) for call, found in zip(made, stepped, strict=True)
    )


def tests_for(test: ast.expr, names: Container[str]) -> bool:
    """Return whether a test calls one of these functions, also in ``any()``, ``all()``, ``bool()`` or ``item()``."""
    while isinstance(test, ast.Call):
        func = test.func
        name = last_name(func)
        if name in names:
            return True
        if name not in ("any", "all", "bool", "item"):
            return False
        inner = func.value if isinstance(func, ast.Attribute) else None
        test = test.args[0] if test.args else inner if inner is not None else func
    return False


def is_uniform(test: ast.expr) -> bool:
    """Return whether a batch holds nothing to learn from: ``(advantages == 0).all()``, ``torch.all(mask == 0)``."""
    if not isinstance(test, ast.Call) or not isinstance(test.func, ast.Attribute) or test.func.attr != "all":
        return False
    compared = test.args[0] if test.args else test.func.value
    return (
        isinstance(compared, ast.Compare)
        and isinstance(compared.ops[0], ast.Eq)
        and isinstance(compared.comparators[0], ast.Constant)
    )


def is_out_of_range(test: ast.expr) -> bool:
    """Return whether a test is for a value that should not occur: ``i < 0 or i >= n``."""
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.Or):
        return False
    compared = [t for t in test.values if isinstance(t, ast.Compare) and len(t.ops) == 1]
    below = [t.left for t in compared if isinstance(t.ops[0], ast.Lt) and is_number(t.comparators[0], 0)]
    above = [t.left for t in compared if isinstance(t.ops[0], (ast.Gt, ast.GtE))]
    return any(among(each, above) for each in below)


def is_not(test: ast.expr, recognise: Callable[[ast.expr], bool]) -> bool:
    """Return whether a condition is written as the opposite of another."""
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and recognise(test.operand)


def is_finite(test: ast.expr) -> bool:
    """Return whether a test is ``torch.isfinite(x).all()``."""
    return tests_for(test, _FINITE)


def is_filled(test: ast.expr, facts: FileFacts) -> bool:
    """Return whether a test is ``self.cache is not None``, whose other branch fills a lazily built attribute."""
    match test:
        case ast.Compare(left=ast.Attribute() as kept, ops=[ast.IsNot()], comparators=[other]):
            return is_none(other) and not _is_given(kept, facts) and not _is_left(kept, facts)
    return False


def is_there(test: ast.expr) -> bool:
    """Return whether a test is ``hasattr(self, "cache")``."""
    return isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "hasattr"


def is_first_call(test: ast.expr, facts: FileFacts) -> bool:
    """Return whether a test is for a lazily built cache.

    ``self.cache is None``, ``key not in self.cache``, a shape that changed.
    """
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    op, left, right = test.ops[0], test.left, test.comparators[0]
    if isinstance(op, ast.Is) and is_none(right):
        if isinstance(left, ast.Name) and _is_filled_outside(left, facts):
            return True
        if isinstance(left, ast.Attribute):
            if _empties_again(left, facts) or _is_given(left, facts) or _is_left(left, facts):
                return False
        return isinstance(left, (ast.Attribute, ast.Subscript)) or _assigned_from_cache(left, facts)
    if isinstance(op, ast.NotIn):
        return isinstance(right, (ast.Attribute, ast.Name)) and "cache" in " ".join(names_in(right)).lower()
    if isinstance(op, ast.NotEq):
        return any(isinstance(side, ast.Attribute) and side.attr == "shape" for side in (left, right)) and any(
            isinstance(part, ast.Name) and part.id == "self" for part in walk(test)
        )
    return False


def _empties_again(kept: ast.Attribute, facts: FileFacts) -> bool:
    """Whether the function that fills an attribute sets it to ``None`` again, and not only at the end of an episode."""
    function = facts.scope_of(kept).function
    for stmt in walk(function.node):
        if isinstance(stmt, ast.Assign) and is_none(stmt.value) and among(kept, stmt.targets):
            inside = takewhile(lambda node: node is not function.node, facts.ancestors(stmt))
            tests = [node.test for node in inside if isinstance(node, (ast.If, ast.While))]
            if not any(is_reset(test) or is_ended(test, facts) or counts_ends(test, facts) for test in tests):
                return True
    return False


def _is_left(kept: ast.Attribute, facts: FileFacts) -> bool:
    """Whether an attribute of another object is one that the function does not fill: a part that may be missing.

    A call for its effect may fill it: ``batch.prepare()``, ``prepare(batch)``.
    """
    function = facts.scope_of(kept).function
    if not isinstance(kept.value, ast.Name) or kept.value.id not in function.bindings:
        return False
    if kept.value.id == function.self_name or function.kind != "function":
        return False
    for stmt in walk(function.node):
        match stmt:
            case ast.Assign(targets=targets) if among(kept, targets):
                return False
            case ast.Expr(value=ast.Call(func=func, args=args)):
                receiver = [func.value] if isinstance(func, ast.Attribute) else []
                if among(kept.value, [*receiver, *args]):
                    return False
    return True


def is_setting(test: ast.expr, facts: FileFacts) -> bool:
    """Return whether a test is an attribute that constructors alone set, to what they are given."""
    return isinstance(test, ast.Attribute) and _is_given(test, facts)


def _is_given(kept: ast.Attribute, facts: FileFacts) -> bool:
    """Whether constructors alone set an attribute of the object, to what they are given: a part that may be missing."""
    function = facts.scope_of(kept).function
    if function.owner is None or not isinstance(kept.value, ast.Name) or kept.value.id != function.self_name:
        return False
    values = given_once(function.owner, kept.attr)
    return any(value is not None and not is_none(value) for value in values)


def _is_filled_outside(name: ast.Name, facts: FileFacts) -> bool:
    """Whether a name means a variable of the module, or of a function around, that the function fills."""
    scope = facts.scope_of(name).function
    if name.id in scope.globals:
        return True
    outer = next((each for each in scope.outward() if name.id in each.bindings), None)
    return outer is not None and outer is not scope and outer.kind == "function" and name.id in outer.shared


def _assigned_from_cache(node: ast.expr, facts: FileFacts) -> bool:
    """``x = cache.get(key)`` and then ``if x is None``."""
    if not isinstance(node, ast.Name):
        return False
    for binding in facts.scope_of(node).function.bindings.get(node.id, ()):
        value = binding.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "get":
            if "cache" in " ".join(names_in(value.func.value)).lower():
                return True
    return False

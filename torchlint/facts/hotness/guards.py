"""What keeps code from running often: debug flags, intervals, resets, first calls, branches that raise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from torchlint.facts.code.model import Bind, FileFacts
from torchlint.facts.code.reach import leaves
from torchlint.facts.code.tree import names_in, walk
from torchlint.facts.hotness.intervals import has_modulo, is_interval, is_last, is_modulo, is_on
from torchlint.late import regex
from torchlint.rule import Frequency

_DEBUG = regex(
    r"(^|_)(debug\w*|verbose\w*|verbosity|dev_mode|render\w*|plot\w*|visuali\w+|profil\w+|print\w*|dump\w*|trace|tracing"
    r"|return_stats|log_interval|logging|should_log|do_log|log_this\w*|to_log|tensorboard|tb|wandb|writer|write|record_video"
    r"|capture_video|isEnabledFor|save\w*|should_save|checkpoint\w*"
    r"|sanity\w*|check_nan\w*|check\w*_(nans?|infs?|finite|nonfinite|numerics)|detect_anomaly|validate_args|validat\w+"
    r"|summary|summaries|debugging|DEBUG\w*)($|_)",
    re.IGNORECASE,
)
_DONE = regex(
    r"(^|_)(dones?|finished|terminated|truncated|terminations?|truncations?|episode_over|episode_done|episode_ends?|episode_ended|game_over|reset)"
    r"($|_|\d)"
)
_RUNNING = regex(r"(^|_)(not|non)_?(dones?|finished|terminated|truncated|ended|over)($|_|\d)")

# Keys that the info of an environment holds in the step that ends an episode.
_EPISODE_KEYS = frozenset(
    {"episode", "_episode", "final_info", "_final_info", "final_observation", "final_obs", "terminal_observation"}
)
_ALARM = regex(r"\W*(warning|warn|error|alert)\b", re.IGNORECASE)
_SWITCH = regex(r"debug|verbos|dev_mode|render|plot|visuali|profil|sanity|video", re.IGNORECASE)
_DUE = regex(r"(^|_)(maybe|try)_|_(if|when)_(necessary|needed|due|required|ready)$")
_DEBUG_MODES = frozenset({"debug", "dev", "test", "verbose"})
_NONFINITE = frozenset({"isnan", "isinf", "isneginf", "isposinf"})
_FINITE = frozenset({"isfinite"})
_ANY = frozenset({"any"})
_FINDING = frozenset({"where", "nonzero", "argwhere", "flatnonzero"})
_SETS_UP = regex(r"_*(setup|set_up|init|initialize|initialise|build|allocate)(_\w+)?$")
_MANY = 10  # what happens every so many times is seldom
_WARNINGS = frozenset({"warn", "warning", "error", "exception", "critical"})


def is_debug_flag(node: ast.expr) -> bool:
    """Whether an expression is a flag for debugging, logging, rendering or the like."""
    if isinstance(node, ast.Name):
        return node.id == "__debug__" or bool(_DEBUG.search(node.id))
    if isinstance(node, ast.Attribute):
        return bool(_DEBUG.search(node.attr))
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "isEnabledFor":
            return True
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
            return isinstance(node.args[0], ast.Constant) and is_text_flag(node.args[0].value)
        return is_debug_flag(node.func) or any(_DEBUG.search(word) for word in names_in(node.func))
    if isinstance(node, ast.Subscript):
        return is_debug_flag(node.value) or (isinstance(node.slice, ast.Constant) and is_text_flag(node.slice.value))
    return isinstance(node, ast.Compare) and _compares_flag(node)


def _compares_flag(node: ast.Compare) -> bool:
    """``verbose > 1``, ``mode == "debug"``; a logger that is there is no special case (``writer is not None``)."""
    op, other = node.ops[0], node.comparators[0]
    if isinstance(op, ast.Eq) and isinstance(other, ast.Constant) and other.value in _DEBUG_MODES:
        return True
    if isinstance(op, ast.IsNot) and is_none(other) and not _SWITCH.search(" ".join(names_in(node.left))):
        return False
    return is_debug_flag(node.left) and isinstance(op, (ast.Gt, ast.GtE, ast.Eq, ast.Is, ast.IsNot, ast.NotEq))


def is_text_flag(value: object) -> bool:
    """The same for the key of a settings dictionary."""
    return isinstance(value, str) and bool(_DEBUG.search(value))


def limit(test: ast.expr, facts: FileFacts, stmt: ast.stmt | None = None) -> Frequency | None:
    """The most often that code under a condition runs, ``None`` when the condition limits nothing."""
    if isinstance(test, ast.BoolOp):
        limits = [limit(part, facts, stmt) for part in test.values]
        known = [found for found in limits if found is not None]
        if isinstance(test.op, ast.And):
            return min(known, default=None)
        if _is_out_of_range(test.values):
            return Frequency.ONCE
        pairs = zip(test.values, limits, strict=True)
        limits = [Frequency.ONCE if is_last(part, facts) else found for part, found in pairs]
        unlimited = [part for part, found in zip(test.values, limits, strict=True) if found is None]
        if any(is_reset(part) for part in test.values) and all(_is_over(part) for part in unlimited):
            return max(*known, Frequency.EPISODE)
        return max(known) if known and not unlimited else None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        if is_reset(test.operand, running=True):
            return Frequency.EPISODE
        seldom = _is_missing(test.operand) or is_modulo(test.operand)
        return Frequency.ONCE if seldom or _tests_for(test.operand, _FINITE) else None
    if is_on(test, facts):
        return None
    if is_debug_flag(test) or is_interval(test) or _is_first_call(test, facts) or _tests_for(test, _NONFINITE):
        return Frequency.ONCE
    if is_reset(test) or _is_ended(test, facts) or _is_full(test, facts) or _is_uniform(test) or _is_past_end(test):
        return Frequency.EPISODE
    if _was_due(test, facts):
        return Frequency.ONCE
    asked = _predicate(test, facts)
    return limit(asked, facts) if asked is not None else None


def _predicate(test: ast.expr, facts: FileFacts) -> ast.expr | None:
    """What a function of the same file gives: ``def is_dev(): return os.environ["MODE"] == "dev"``."""
    if not isinstance(test, ast.Call) or test.args or test.keywords or not isinstance(test.func, ast.Name):
        return None
    bindings = facts.top.bindings.get(test.func.id, ())
    scope = bindings[0].scope if len(bindings) == 1 else None
    if scope is None or scope.kind != "function" or len(scope.returns) != 1:
        return None
    given = scope.returns[0].value
    return None if isinstance(given, ast.Call) else given


def _is_full(test: ast.expr, facts: FileFacts) -> bool:
    """Whether a test calls the one method of its name in the file, and that gives whether so many rounds are over.

    ``if agent.store(item):`` with ``return self.count % self.capacity == 0`` at the end of ``store``.
    """
    if not isinstance(test, ast.Call) or not isinstance(test.func, ast.Attribute):
        return False
    found = [scope for scope in facts.scopes if scope.name == test.func.attr and scope.method_of is not None]
    if len(found) != 1 or len(found[0].returns) != 1:
        return False
    given = found[0].returns[0].value
    return given is not None and is_interval(given)


def _is_past_end(test: ast.expr) -> bool:
    """Whether a position that is kept has come to the end of a sequence: ``self.at[i] >= len(self.plans[i])``."""
    match test:
        case ast.Compare(
            left=ast.Attribute() | ast.Subscript(),
            ops=[ast.GtE()],
            comparators=[ast.Call(func=ast.Name(id="len"), args=[_])],
        ):
            return True
    return False


def negated_limit(test: ast.expr, facts: FileFacts) -> Frequency | None:
    """The most often that code runs where a condition is false (``else``, or after ``if not debug: return``)."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        if is_debug_flag(test.operand) or is_interval(test.operand):
            return Frequency.ONCE
        if is_reset(test.operand):
            return Frequency.EPISODE
        asked = _predicate(test.operand, facts)
        return limit(asked, facts) if asked is not None else None
    if is_modulo(test):
        return Frequency.ONCE
    if is_reset(test, running=True):
        return Frequency.EPISODE
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        known = [found for part in test.values if (found := negated_limit(part, facts)) is not None]
        return min(known, default=None)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.NotEq, ast.Gt, ast.IsNot)):
        if isinstance(test.ops[0], ast.IsNot) and is_none(test.comparators[0]) and isinstance(test.left, ast.Attribute):
            return Frequency.ONCE  # the branch that fills a lazily built attribute
        return Frequency.ONCE if has_modulo(test.left) else None
    return None


def is_none(node: ast.expr) -> bool:
    """Whether an expression is the literal ``None``."""
    return isinstance(node, ast.Constant) and node.value is None


def is_reset(test: ast.expr, *, running: bool = False) -> bool:
    """Whether an expression is a flag for the end of an episode, or made of one; ``running``: one of its opposite."""
    if isinstance(test, ast.Call) and isinstance(test.func, (ast.Attribute, ast.Name)):
        inner = test.func.value if isinstance(test.func, ast.Attribute) else test.args[0] if test.args else test.func
        return is_reset(inner, running=running)
    if isinstance(test, ast.Subscript):
        return is_reset(test.value, running=running)
    if isinstance(test, ast.Compare):
        known = isinstance(test.ops[0], ast.In) and getattr(test.left, "value", None) in _EPISODE_KEYS
        return known and not running
    name = test.id if isinstance(test, ast.Name) else test.attr if isinstance(test, ast.Attribute) else ""
    return bool(_RUNNING.search(name)) if running else bool(_DONE.search(name)) and not _RUNNING.search(name)


def _is_over(test: ast.expr) -> bool:
    """Beside ``done or``: ``t >= max_steps``, ``stop.is_set()``, what else ends an episode or the training."""
    if isinstance(test, ast.Call):
        return isinstance(test.func, ast.Attribute) and test.func.attr == "is_set"
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Gt, ast.GtE, ast.Eq))


def _is_ended(test: ast.expr, facts: FileFacts) -> bool:
    """Whether a name is one of the flags for the end of an episode: ``for i, d in enumerate(done): if d:``."""
    if not isinstance(test, ast.Name):
        return False
    bindings = facts.scope_of(test).function.bindings.get(test.id, ())
    around = set(facts.ancestors(test))
    inner = [b for b in bindings if b.how is Bind.ELEMENT and b.stmt in around]
    return bool(bindings) and all(b.how is Bind.ELEMENT and _are_ends(b.value, b.path) for b in inner or bindings)


def _was_due(test: ast.expr, facts: FileFacts) -> bool:
    """``score = evaluator.evaluate_if_necessary(step)`` and then ``if score is not None``."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.IsNot) or not is_none(test.comparators[0]):
        return False
    if not isinstance(test.left, ast.Name):
        return False
    bindings = facts.scope_of(test).function.bindings.get(test.left.id, ())
    made = [b.value.func for b in bindings if isinstance(b.value, ast.Call)]
    words = [func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in made]
    return bool(words) and len(words) == len(bindings) and all(_DUE.search(word) for word in words)


def _are_ends(flags: ast.expr | None, path: tuple[int, ...]) -> bool:
    """Whether the items of an iterable, or the second parts of its counted items, are the flags."""
    match flags:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            return path == (1,) and is_reset(inner)
        case ast.Name() | ast.Attribute():
            return not path and is_reset(flags)
    return False


def goes_over_ends(loop: ast.AST, facts: FileFacts) -> bool:
    """Whether a loop goes over the environments whose episode ended: ``for i in np.where(dones)[0]:``."""
    if not isinstance(loop, (ast.For, ast.AsyncFor)):
        return False
    if not isinstance(loop.iter, ast.Name):
        return _finds_ends(loop.iter)
    bindings = facts.scope_of(loop).function.bindings.get(loop.iter.id, ())
    return bool(bindings) and all(
        b.how is Bind.ASSIGN and not b.path and b.value is not None and _finds_ends(b.value) for b in bindings
    )


def _finds_ends(node: ast.expr) -> bool:
    """Whether an expression gives the places at which flags for the end of an episode are set."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
            continue
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        if node.func.attr in _FINDING:
            return is_reset(node.args[0] if node.args else node.func.value)
        node = node.func.value


def _tests_for(test: ast.expr, names: frozenset[str]) -> bool:
    """Whether a test is a call of one of these functions, on top ``any()``, ``all()``, ``bool()`` or ``item()``."""
    while isinstance(test, ast.Call):
        func = test.func
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        if name in names:
            return True
        if name not in ("any", "all", "bool", "item"):
            return False
        inner = func.value if isinstance(func, ast.Attribute) else None
        test = test.args[0] if test.args else inner if inner is not None else func
    return False


def _is_uniform(test: ast.expr) -> bool:
    """``(advantages == 0).all()``, ``torch.all(mask == 0)``: a batch with nothing in it to learn from."""
    if not isinstance(test, ast.Call) or not isinstance(test.func, ast.Attribute) or test.func.attr != "all":
        return False
    compared = test.args[0] if test.args else test.func.value
    return (
        isinstance(compared, ast.Compare)
        and isinstance(compared.ops[0], ast.Eq)
        and isinstance(compared.comparators[0], ast.Constant)
    )


def _is_out_of_range(tests: Sequence[ast.expr]) -> bool:
    """``i < 0 or i >= n``: the branch for a value that should not occur."""
    compared = [t for t in tests if isinstance(t, ast.Compare) and len(t.ops) == 1]
    below = {
        ast.unparse(t.left)
        for t in compared
        if isinstance(t.ops[0], ast.Lt) and isinstance(t.comparators[0], ast.Constant) and t.comparators[0].value == 0
    }
    above = {ast.unparse(t.left) for t in compared if isinstance(t.ops[0], (ast.Gt, ast.GtE))}
    return bool(below & above)


def _is_missing(test: ast.expr) -> bool:
    """``not hasattr(self, "cache")``."""
    return isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "hasattr"


def _is_first_call(test: ast.expr, facts: FileFacts) -> bool:
    """``self.cache is None``, ``key not in self.cache``, a shape that changed: what a lazily built cache tests."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    op, left, right = test.ops[0], test.left, test.comparators[0]
    if isinstance(op, ast.Is) and is_none(right):
        return isinstance(left, (ast.Attribute, ast.Subscript)) or _assigned_from_cache(left, facts)
    if isinstance(op, ast.NotIn):
        return isinstance(right, (ast.Attribute, ast.Name)) and "cache" in " ".join(names_in(right)).lower()
    if isinstance(op, ast.NotEq):
        return any(isinstance(side, ast.Attribute) and side.attr == "shape" for side in (left, right)) and any(
            isinstance(part, ast.Name) and part.id == "self" for part in walk(test)
        )
    return False


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


_MESSAGES = frozenset({"print", "log", "debug", "info", "warn", "warning", "error", "exception", "critical"})


def raises(block: Sequence[ast.stmt]) -> bool:
    """Whether a block exists to raise: every way through it ends in ``raise``."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.Raise):
        return True
    if isinstance(last, ast.Assert):
        return isinstance(last.test, ast.Constant) and not last.test.value
    if isinstance(last, ast.If):
        return raises(last.body) and raises(last.orelse)
    return isinstance(last, (ast.With, ast.AsyncWith)) and raises(last.body)


def reports(block: Sequence[ast.stmt]) -> bool:
    """Whether all that a block does is to write messages: ``print(...)``, ``logging.warning(...)``."""
    return all(
        isinstance(stmt, ast.Expr)
        and isinstance(stmt.value, ast.Call)
        and getattr(stmt.value.func, "attr", getattr(stmt.value.func, "id", "")) in _MESSAGES
        for stmt in block
    )


def branch_limit(branch: Sequence[ast.stmt], test: ast.expr | None = None) -> Frequency | None:
    """The limit that what a branch does puts on all of it: raise, warn, print what ``any()`` found, empty a full list.

    ``test`` is the condition that leads into the branch, if it is one.
    """
    if raises(branch) or _warns(branch):
        return Frequency.ONCE
    if test is None:
        return None
    if _tests_for(test, _ANY) and _prints(branch):
        return Frequency.ONCE
    if _sets_up(branch, test):
        return Frequency.ONCE
    return Frequency.EPISODE if _empties(branch, test) or _restarts(branch, test) else None


def _sets_up(block: Sequence[ast.stmt], test: ast.expr) -> bool:
    """``if self.count == 0: self._init_storage(item)``: what the first of many rounds does."""
    tests = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    compared = [t for t in tests if isinstance(t, ast.Compare) and isinstance(t.ops[0], ast.Eq)]
    if not any(_is_zero(part.comparators[0]) for part in compared):
        return False
    names = (func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in _calls(block))
    return any(_SETS_UP.match(name) for name in names)


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _is_many(value: object) -> bool:
    return isinstance(value, int) and value >= _MANY


def _restarts(block: Sequence[ast.stmt], test: ast.expr) -> bool:
    """``if count == n:`` and in the branch ``count = 0``: every so many steps."""
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) and any(_restarts(block, part) for part in test.values)
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], (ast.Eq, ast.Gt, ast.GtE)):
        return False
    counter = test.left
    few = isinstance(test.comparators[0], ast.Constant) and not _is_many(test.comparators[0].value)
    if few or not isinstance(counter, (ast.Name, ast.Attribute)):
        return False
    starts = (stmt for stmt in block if isinstance(stmt, ast.Assign) and _is_zero(stmt.value))
    return ast.unparse(counter) in (ast.unparse(target) for stmt in starts for target in stmt.targets)


def _calls(block: Sequence[ast.stmt]) -> Iterator[ast.expr]:
    """What the call statements of a block call."""
    return (stmt.value.func for stmt in block if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call))


def _warns(block: Sequence[ast.stmt]) -> bool:
    if any(isinstance(func, ast.Attribute) and func.attr in _WARNINGS for func in _calls(block)):
        return True
    return _prints(block) and any(_ALARM.match(text) for text in _printed(block))


def _printed(block: Sequence[ast.stmt]) -> Iterator[str]:
    """How the texts begin that the call statements of a block are given."""
    for stmt in block:
        if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) and stmt.value.args:
            text = stmt.value.args[0]
            first = text.values[0] if isinstance(text, ast.JoinedStr) and text.values else text
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


def _prints(block: Sequence[ast.stmt]) -> bool:
    return any(isinstance(func, ast.Name) and func.id == "print" for func in _calls(block))


def _empties(block: Sequence[ast.stmt], test: ast.expr) -> bool:
    """``if len(storage) == n:`` and in the branch ``storage = []`` or ``storage.clear()``: every so many steps."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], (ast.Eq, ast.Gt, ast.GtE)):
        return False
    length = test.left
    if not (isinstance(length, ast.Call) and isinstance(length.func, ast.Name) and length.func.id == "len"):
        return False
    full = {ast.unparse(argument) for argument in length.args}
    for stmt in block:
        if isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.List) and not stmt.value.elts:
            if any(ast.unparse(target) in full for target in stmt.targets):
                return True
    return any(
        isinstance(f, ast.Attribute) and f.attr == "clear" and ast.unparse(f.value) in full for f in _calls(block)
    )


def early_exits(block: Sequence[ast.stmt], facts: FileFacts) -> Iterator[tuple[int, ast.stmt, Frequency]]:
    """The limits that ``if not debug: return`` statements of a block put on what follows them, with their places."""
    for place, stmt in enumerate(block):
        if isinstance(stmt, ast.If) and leaves(stmt.body) and not raises(stmt.body):
            bound = negated_limit(stmt.test, facts)
            if isinstance(stmt.test, ast.UnaryOp) and _tests_for(stmt.test.operand, _ANY) and _prints(block):
                bound = Frequency.ONCE
            if bound is not None:
                yield place, stmt, bound
        elif isinstance(stmt, ast.For) and isinstance(stmt.body[0], ast.Return):
            yield place, stmt, Frequency.ONCE  # the first item ends it: ``for p in self.parameters(): return p.device``

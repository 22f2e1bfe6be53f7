"""Calls of project functions: what they pass for a parameter, and where attributes are set."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from torchlint.facts.code.model import AttributeStore, Bind, FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.late import dataclass
from torchlint.models import method_names

_DEEPEST = 2  # functions that make a mapping, one by the other
_REGISTERING = method_names("Module", adds="tensor")


@dataclass(frozen=True, slots=True)
class Caller:
    """A call of a project function: where, and how many leading parameters the call itself fills (``self``).

    ``starts``: the call makes a process or thread that runs the function, and holds its arguments in ``args``.
    """

    facts: FileFacts
    call: ast.Call
    skip: int
    starts: bool = False


def passed(function: Scope, name: str, caller: Caller) -> ast.expr | None:
    """Return the argument expression that a call passes for a parameter, ``None`` when the call leaves it out."""
    call = caller.call
    args, named = _handed_over(caller.facts, call) if caller.starts else (call.args, _named(caller.facts, call))
    if name in named:
        return named[name]
    positional = function.positional
    position = positional.index(name) - caller.skip if name in positional else -1
    if 0 <= position < len(args) and not any(isinstance(a, ast.Starred) for a in args[: position + 1]):
        return args[position]
    return None


def passing(function: Scope, caller: Caller) -> Iterator[tuple[str, ast.expr]]:
    """Yield what a call passes for each parameter of a function, without those that it leaves out."""
    for name in function.params:
        given = passed(function, name, caller)
        if given is not None:
            yield name, given


def arguments(
    callers: Mapping[Scope, Sequence[Caller]], function: Scope | None, name: str
) -> Iterator[tuple[Caller, ast.expr | None]]:
    """Yield what each known call of a function passes for a parameter; ``None`` where the call leaves it out."""
    if function is not None:
        yield from ((caller, passed(function, name, caller)) for caller in callers.get(function, ()))


def calling(
    callers: Mapping[Scope, Sequence[Caller]], function: Scope, name: str, seen: frozenset[ast.Call] = frozenset()
) -> Iterator[Caller]:
    """Yield the known calls of a function that say what they pass for a parameter.

    ``super().__init__(*args, **kwargs)`` passes what its function was given, so the calls of that one count for it.
    """
    for caller in callers.get(function, ()):
        yield from _first(callers, function, name, caller, seen)


def _first(
    callers: Mapping[Scope, Sequence[Caller]], function: Scope, name: str, caller: Caller, seen: frozenset[ast.Call]
) -> Iterator[Caller]:
    """The calls that begin a chain of calls which pass their arguments on with stars, else the call itself."""
    home = caller.facts.scope_of(caller.call).function
    above = callers.get(home, ()) if caller.call not in seen and _passes_on(function, name, caller, home) else ()
    if not above:
        yield caller
        return
    before = sum(not isinstance(each, ast.Starred) for each in caller.call.args)
    stars = before < len(caller.call.args)
    for each in above:
        skip = caller.skip + before - len(home.positional) + each.skip if stars else len(function.params)
        yield from _first(callers, function, name, Caller(each.facts, each.call, skip), seen | {caller.call})


def _passes_on(function: Scope, name: str, caller: Caller, home: Scope) -> bool:
    """Whether a call passes for a parameter what its own function takes under no name: ``*args``, ``**kwargs``."""
    node = home.node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or caller.starts:
        return False
    args = node.args
    rest = [each.value for each in caller.call.args if isinstance(each, ast.Starred)]
    named = [keyword.value for keyword in caller.call.keywords if keyword.arg is None]
    if not rest and not named:
        return False  # as of nearly all calls
    if name in home.params or len(rest) > 1 or len(named) > 1 or passed(function, name, caller) is not None:
        return False  # its function takes that one itself, or the call says what it passes
    if rest and not isinstance(caller.call.args[-1], ast.Starred):
        return False
    return all(
        isinstance(each, ast.Name) and star is not None and each.id == star.arg and len(home.bindings[star.arg]) == 1
        for given, star in ((rest, args.vararg), (named, args.kwarg))
        for each in given
    )


def fields_of(project: Project, cls: str) -> Iterator[str]:
    """Yield the annotated fields of a class and its bases, in the order of the constructor."""
    for scope in reversed(list(project.family(cls))):
        assert isinstance(scope.node, ast.ClassDef)
        for stmt in scope.node.body:
            if isinstance(stmt, ast.AnnAssign) and isinstance(stmt.target, ast.Name):
                yield stmt.target.id


def hides_default(function: Scope, names: Sequence[str]) -> bool:
    """Return whether a partial fills a parameter by name that has a default, which the call alone seems to leave."""
    bound = (binding for name in names for binding in function.bindings.get(name, ()))
    return any(binding.how is Bind.PARAM and binding.value is not None for binding in bound)


def answers(function: Scope) -> bool:
    """Return whether a function returns more than ``None``.

    A method without a body returns ``None``, whatever overrides it.
    """
    return any(not (isinstance(value, ast.Constant) and value.value is None) for value in function.results)


def _named(facts: FileFacts, call: ast.Call) -> dict[str, ast.expr]:
    """The keyword arguments of a call, also those of ``f(**settings)``, as far as they are known."""
    found: dict[str, ast.expr] = {}
    for keyword in call.keywords:
        if keyword.arg is not None:
            found[keyword.arg] = keyword.value
        else:
            found.update(_held(facts, call, keyword.value))
    return found


def _held(facts: FileFacts, place: ast.AST, node: ast.expr, depth: int = 0) -> dict[str, ast.expr]:
    """What a mapping surely holds at a place: of a display, and stored before, ``settings["agent"] = agent``.

    Of a function of the same file that returns it by name, ``settings = make(seed)``, what that one puts into it.
    """
    made = _display(facts, place, node)
    found = _entries(made)
    if isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and depth < _DEEPEST:
        bindings = facts.top.bindings.get(made.func.id, ())
        maker = bindings[0].scope if len(bindings) == 1 and bindings[0].how is Bind.FUNCTION else None
        if maker is not None and len(maker.results) == 1 and isinstance(maker.results[0], ast.Name):
            found.update(_held(facts, maker.results[0], maker.results[0], depth + 1))
    stored = facts.scope_of(place).function.keyed.get(node.id, ()) if isinstance(node, ast.Name) else ()
    keys = [key for key, _ in stored]
    for key, value in stored:
        stmt = facts.statement(value)
        later = made is node or value.lineno > made.lineno
        if later and keys.count(key) == 1 and isinstance(stmt, ast.Assign) and _comes_by(facts, stmt, place):
            found[key] = value
        else:
            found.pop(key, None)  # perhaps something else
    return found


def _comes_by(facts: FileFacts, stmt: ast.AST, place: ast.AST) -> bool:
    """Whether a statement runs before a place, whatever way leads there."""
    if not isinstance(stmt, ast.stmt) or stmt not in facts.places:
        return False
    block, index = facts.places[stmt]
    return any(block is around and index < at for around, at in facts.blocks(place))


def _display(facts: FileFacts, place: ast.AST, node: ast.expr) -> ast.expr:
    """What a name is bound to, where a function binds it once, or last before a place, whatever way leads there."""
    if isinstance(node, ast.Name):
        bindings = facts.scope_of(place).function.bindings.get(node.id, ())
        if len(bindings) > 1:
            before = [each for each in bindings if getattr(each.stmt, "lineno", 0) < getattr(place, "lineno", 0)]
            bindings = [each for each in before[-1:] if _comes_by(facts, each.stmt, place)]
        if len(bindings) == 1 and bindings[0].value is not None and not bindings[0].path:
            return bindings[0].value
    return node


def _entries(node: ast.expr | None) -> dict[str, ast.expr]:
    """The values of a dict display under its literal keys."""
    if not isinstance(node, ast.Dict):
        return {}
    pairs = zip(node.keys, node.values, strict=True)
    return {key.value: value for key, value in pairs if isinstance(key, ast.Constant) and isinstance(key.value, str)}


def _handed_over(facts: FileFacts, call: ast.Call) -> tuple[list[ast.expr], dict[str, ast.expr]]:
    """The arguments in ``Process(target=f, args=(x, y), kwargs={"z": z})`` and ``spawn(f, args=(x, y))``."""
    given = {each.arg: _display(facts, call, each.value) for each in call.keywords}
    args = given.get("args")
    return args.elts if isinstance(args, (ast.Tuple, ast.List)) else [], _entries(given.get("kwargs"))


def unpacked(node: ast.expr, path: tuple[int, ...]) -> ast.expr:
    """Return the element of a tuple display that an unpacked name gets; the whole where it is not a display."""
    for step in path:
        if isinstance(node, (ast.Tuple, ast.List)) and -1 < step < len(node.elts):
            node = node.elts[step]
    return node


def part_of(node: ast.expr | None, path: tuple[int, ...]) -> ast.expr | None:
    """Return the element of a tuple display that an unpacked name gets; ``None`` where it is not one of a display."""
    for step in path:
        if not isinstance(node, (ast.Tuple, ast.List)) or not -1 < step < len(node.elts):
            return None
        node = node.elts[step]
    return node


class LinkedCalls:
    """Answers which methods of a name a call is linked to, with an index by call."""

    __slots__ = ("_callers", "_known", "_project")

    def __init__(self, project: Project, callers: Mapping[Scope, list[Caller]]) -> None:
        """``callers``: the calls that may run each function, to which more may be added."""
        self._project, self._callers = project, callers
        self._known: dict[str, tuple[int, dict[ast.Call, list[tuple[Scope, Caller]]]]] = {}

    def of(self, name: str, call: ast.Call) -> list[tuple[Scope, Caller]]:
        """Return the methods of a name that a call may run, each with the call as one of its callers."""
        methods = self._project.methods.get(name, ())
        number = sum(len(self._callers.get(method, ())) for method in methods)
        known, by_call = self._known.get(name, (0, {}))
        if known != number:
            by_call = {}
            for method, caller in ((each, caller) for each in methods for caller in self._callers.get(each, ())):
                by_call.setdefault(caller.call, []).append((method, caller))
            self._known[name] = number, by_call
        return by_call.get(call, [])


def stores_of(project: Project, cls: str, name: str) -> Iterator[AttributeStore]:
    """Yield all assignments to an attribute in a class, its ancestors and its descendants."""
    for scope in project.relatives_storing(cls, name):
        yield from scope.stores[name]


def given_once(cls: Scope, name: str) -> list[ast.expr | None]:
    """Return what constructors of a class assign to an attribute that none of its other methods sets; else nothing."""
    stores = cls.stores.get(name, ())
    plain = all(store.scope.function.name == "__init__" for store in stores)
    return [store.binding.value for store in stores] if plain else []


def stored_once(project: Project, cls: str, name: str) -> AttributeStore | None:
    """Return the only assignment to an attribute of a class, ``None`` where there are more or other code has one."""
    stores = list(stores_of(project, cls, name))
    return stores[0] if len(stores) == 1 and not project.outside.get(name) else None


def set_by_name(project: Project, cls: str) -> Iterator[tuple[Scope, ast.expr, ast.expr]]:
    """Yield what methods of a class, its ancestors and its descendants set in their object by ``setattr``.

    Each with the method and the expression of the name.
    """
    for method in (each for scope in _relatives(project, cls) for each in methods(scope)):
        for call in method.run_calls():
            match call:
                case ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=held), name, value]):
                    if held == method.self_name:
                        yield method, name, value


def attributes_of(project: Project, cls: str) -> set[str]:
    """Return the names of attributes that a class, its ancestors and its descendants assign to."""
    return {name for scope in _relatives(project, cls) for name in scope.stores}


def _relatives(project: Project, cls: str) -> Iterator[Scope]:
    return iter(dict.fromkeys((*project.family(cls), *project.descendants(cls))))


def constants_of(project: Project, name: str) -> Iterator[object]:
    """Yield the literals that constructors set an attribute of a name to, whatever their classes."""
    for cls in project.classes.values():
        for store in cls.stores.get(name, ()):
            value = store.binding.value
            if store.scope.name == "__init__" and isinstance(value, ast.Constant) and not store.binding.path:
                yield value.value


def stored_anywhere(project: Project, name: str) -> Iterator[ast.expr | None]:
    """Yield what any code sets attributes of a name to, of whatever object; ``None`` for a part of something."""
    own = (store for cls in project.classes.values() for store in cls.stores.get(name, ()))
    others = (store for _, _, store in project.outside.get(name, ()))
    for store in (*own, *others):
        yield store.binding.value if not store.binding.path else None


def methods(cls: Scope) -> Iterator[Scope]:
    """Yield the functions in a class's body."""
    return (inner for inner in cls.inner if inner.kind == "function")


def registered(project: Project, cls: str, name: str) -> Iterator[ast.Call]:
    """Yield the calls of a class and its ancestors that register a tensor by name: ``register_buffer("name", x)``."""
    for method in (method for scope in project.family(cls) for method in methods(scope)):
        for call in method.calls:
            match call:
                case ast.Call(func=ast.Attribute(attr=how), args=[ast.Constant(value=given), *_]):
                    if how in _REGISTERING and given == name:
                        yield call


def own_mentions_of(cls: Scope, name: str) -> Iterator[ast.Attribute]:
    """Yield the places where methods of a class mention an attribute of their object."""
    parts = (part for method in methods(cls) for part in walk(method.node))
    return (each for each in parts if isinstance(each, ast.Attribute) and each.attr == name and cls.file.is_own(each))


def sets_any(call: ast.Call) -> bool:
    """Return whether a call may set any attribute of an object.

    ``setattr`` without a literal, ``x.__dict__.update``.
    """
    func = call.func
    if isinstance(func, ast.Name) and func.id == "setattr" and len(call.args) > 1:
        return not isinstance(call.args[1], ast.Constant)
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Attribute) and func.value.attr == "__dict__"

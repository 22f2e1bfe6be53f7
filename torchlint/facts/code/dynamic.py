"""What is looked up by name: ``getattr(agent, "act")``, ``getattr(policies, config.name)``, ``eval(task)(env)``."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterable, Iterator

from torchlint.facts.code.callers import arguments, attributes_of, set_by_name
from torchlint.facts.code.decorating import is_property
from torchlint.facts.code.linking import ANY
from torchlint.facts.code.model import Bind, FileFacts
from torchlint.facts.code.structure import fits, shape_of
from torchlint.facts.code.tree import inserted
from torchlint.facts.values.asking import Ask
from torchlint.facts.values.join import join
from torchlint.late import dataclass
from torchlint.rule import UNKNOWN, Kind, Value

_MANY = 8
_MOST_TEXTS = 64
# Through how many names a text is followed.
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Spelling:
    """What is known of a text: all that it may be, or what it begins and ends with."""

    texts: frozenset[str] = frozenset()
    prefix: str = ""
    suffix: str = ""

    def fits(self, text: str) -> bool:
        """Return whether a text begins and ends like this one, of which something is known."""
        known = bool(self.prefix or self.suffix) and len(text) >= len(self.prefix) + len(self.suffix)
        return known and text.startswith(self.prefix) and text.endswith(self.suffix)


def spelling(ask: Ask, facts: FileFacts, node: ast.expr, left: int = _DEEPEST) -> Spelling:
    """Return the strings that an expression may be; of a parameter, what the callers pass.

    ``left``: through how many names it is followed.
    """
    if isinstance(node, ast.Constant):
        return Spelling(frozenset({node.value})) if isinstance(node.value, str) else Spelling()
    if isinstance(node, ast.JoinedStr):
        return _after_each_other(
            spelling(ask, facts, part, left)
            if not isinstance(part, ast.FormattedValue)
            else _formatted(ask, facts, part, left)
            for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _after_each_other(spelling(ask, facts, part, left) for part in (node.left, node.right))
    if isinstance(node, ast.Name):
        given = list(_given(ask, facts, node))
        if len(given) == 1 and left:
            return spelling(ask, *given[0], left - 1)
        return Spelling(frozenset(text for place in given for text in _texts(ask, *place)))
    return Spelling(frozenset(_texts(ask, facts, node)))


def _formatted(ask: Ask, facts: FileFacts, part: ast.FormattedValue, left: int) -> Spelling:
    """The text of one part in braces, where it is put in as it is."""
    plain = inserted(part)
    return spelling(ask, facts, plain, left) if isinstance(plain, ast.Name) else Spelling()


def _after_each_other(parts: Iterable[Spelling]) -> Spelling:
    """The text that several make one after the other."""
    all_of_it = list(parts)
    if all(part.texts for part in all_of_it) and math.prod(len(part.texts) for part in all_of_it) <= _MOST_TEXTS:
        return Spelling(frozenset(map("".join, itertools.product(*(part.texts for part in all_of_it)))))
    prefix = suffix = ""
    for part in all_of_it:
        prefix += _only(part) or part.prefix
        if not _only(part):
            break
    for part in reversed(all_of_it):
        suffix = (_only(part) or part.suffix) + suffix
        if not _only(part):
            break
    return Spelling(prefix=prefix, suffix=suffix)


def _only(part: Spelling) -> str:
    """The one text that it may be, empty where there are several or none."""
    return next(iter(part.texts)) if len(part.texts) == 1 else ""


def _texts(ask: Ask, facts: FileFacts, node: ast.expr) -> Iterator[str]:
    """The texts that an expression may be, of an entry of ``**kwargs`` all that calls give under its name."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Call(func=ast.Attribute(value=taken, attr="get" | "pop"), args=[ast.Constant(value=str(key)), *rest]):
            if _takes_keywords(facts, taken):
                yield from (text for other in rest for text in _texts(ask, facts, other))
                yield from ask.texts_given(facts, key)
        case ast.Subscript(value=taken, slice=ast.Constant(value=str(key))) if _takes_keywords(facts, taken):
            yield from ask.texts_given(facts, key)


def _takes_keywords(facts: FileFacts, node: ast.expr) -> bool:
    """Whether an expression is the parameter that takes all other keywords: ``kwargs`` of ``**kwargs``."""
    return isinstance(node, ast.Name) and node.id == facts.scope_of(node).function.rest_keywords


def _given(ask: Ask, facts: FileFacts, node: ast.Name) -> Iterator[tuple[FileFacts, ast.expr]]:
    """The expressions that a name may stand for, each with its file."""
    for binding in ask.project.reaching(facts, node).bindings:
        if binding.how is Bind.PARAM and binding.scope is not None:
            ask.solver.passing()
            calls = arguments(ask.callers, binding.scope, binding.target)
            yield from ((caller.facts, argument) for caller, argument in calls if argument is not None)
        elif binding.how is Bind.ASSIGN and binding.value is not None and not binding.path:
            yield facts, binding.value
        elif binding.how is Bind.ELEMENT and isinstance(binding.value, (ast.List, ast.Tuple)):
            yield from ((facts, each) for each in binding.value.elts)


def looked_up(ask: Ask, facts: FileFacts, node: ast.Call) -> Value | None:
    """Return the value of ``getattr(object, name)``; ``None`` where nothing is known yet."""
    found = spelling(ask, facts, node.args[1])
    module = ask.project.modules.get(ask.project.qualified(facts, node.args[0]) or "")
    if module is not None:
        return _of_module(ask, module, found)
    source = ask.known(facts, node.args[0])
    if source.kind is Kind.NAMESPACE:
        loaded = ask.project.modules.get(source.name)
        return _of_module(ask, loaded, found) if loaded is not None else _of_package(ask, source.name, found.texts)
    if source.kind not in (Kind.INSTANCE, Kind.MODULE, Kind.CLASS) or not source.name:
        return UNKNOWN
    texts = found.texts or _fitting(ask, source, found)
    if not texts and found.prefix:
        return _stored(ask, source.name, found.prefix)
    if not found.texts and len(texts) > _MANY:
        return _methods(ask, source.name, texts)
    if not texts or len(texts) > _MANY:
        return UNKNOWN
    return join([ask.attribute(source.name, text) for text in sorted(texts)])


def _methods(ask: Ask, classes: str, names: Iterable[str]) -> Value:
    """The methods of many names that begin alike, of which settings choose some: ``getattr(self, "_reward_" + name)``.

    Unknown where any of the names means something else.
    """
    found = {
        name: [each for cls in classes.split("|") for each in ask.project.implementations(cls, name)] for name in names
    }
    if not all(found.values()) or any(is_property(each) for methods in found.values() for each in methods):
        return UNKNOWN
    dotted = {each.dotted for methods in found.values() for each in methods}
    return ask.guess(Value(Kind.FUNCTION, name="|".join(sorted(dotted))))


def named(ask: Ask, facts: FileFacts, node: ast.Call, how: object) -> Value:
    """Return what a text in a call names: ``import_module("agents.ppo")``, ``get_class("agents.ppo.Agent")``.

    Of ``instantiate({"_target_": "agents.ppo.Agent"})`` an object of the class.
    """
    given = _target(node.args[0]) if how == "object" and node.args else next(iter(node.args), None)
    found = spelling(ask, facts, given) if given is not None else Spelling()
    texts = sorted(found.texts)
    project = ask.project
    if how == "module":
        known = [name for text in texts if (name := facts.absolute_text(text)) in project.modules]
        if len(known) == len(texts) == 1:
            return Value(Kind.NAMESPACE, name=known[0])
        package = facts.absolute_text(found.prefix).rpartition(".")[0] if found.prefix else ""
        return Value(Kind.NAMESPACE, name=package + ANY) if package else UNKNOWN
    names = [project.canonical(facts, text) for text in texts]
    if not names or len(names) > _MANY:
        return UNKNOWN
    if all(name in project.classes for name in names):
        if how == "class":
            return Value(Kind.CLASS, name="|".join(names))
        return join([ask.instance(name, derived=False) for name in names]) or UNKNOWN
    functions = how == "class" and all(name in project.functions for name in names)
    return Value(Kind.FUNCTION, name="|".join(names)) if functions else UNKNOWN


def _target(node: ast.expr) -> ast.expr | None:
    """What a dict display has under ``_target_``."""
    if not isinstance(node, ast.Dict):
        return None
    pairs = zip(node.keys, node.values, strict=True)
    return next((value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "_target_"), None)


def evaluated(ask: Ask, facts: FileFacts, node: ast.Call) -> Value:
    """Return the class that ``eval(name)(...)`` means.

    It is one that the file defines or imports, and that takes the call.

    Of many, the nearest class from which all of them derive.
    """
    made = facts.parent.get(node)
    if not isinstance(made, ast.Call) or made.func is not node:
        return UNKNOWN
    project, shape = ask.project, shape_of(made)
    bound = (project.binding_name(facts, each) for known in facts.top.bindings.values() for each in known)
    found = sorted({name for name in bound if name in project.classes})
    wanted = spelling(ask, facts, node.args[0]).texts
    found = [name for name in found if not wanted or name.rpartition(".")[2] in wanted]
    inits = [(name, project.method(name, "__init__")) for name in found]
    found = [name for name, init in inits if init is not None and fits(init, shape)]
    if len(found) <= _MANY:
        return Value(Kind.CLASS, name="|".join(found)) if found else UNKNOWN
    lines = [[name, *project.ancestry(name)] for name in found]
    common = next((name for name in lines[0] if all(name in line for line in lines)), "")
    return Value(Kind.CLASS, name=common, derived=True) if common in project.classes else UNKNOWN


def _fitting(ask: Ask, source: Value, found: Spelling) -> set[str]:
    """The methods of an object whose names begin and end like a text."""
    project, classes = ask.project, source.name.split("|")
    scopes = [scope for cls in classes for scope in project.family(cls)]
    if source.derived:
        scopes += [scope for cls in classes for scope in project.descendants(cls)]
    return {name for scope in scopes for name in scope.bindings if found.fits(name)}


def _stored(ask: Ask, classes: str, prefix: str) -> Value | None:
    """What methods of classes store in themselves by ``setattr`` under names that begin with a text.

    Unknown where they store something under such a name by an assignment, or under a name of which nothing is known.
    Where nothing is known of some of it, such as what was read from a file, it is taken to be what the rest is.
    """
    found: list[Value | None] = []
    for cls in classes.split("|"):
        if any(name.startswith(prefix) for name in attributes_of(ask.project, cls)):
            return UNKNOWN
        for method, key, value in set_by_name(ask.project, cls):
            name = spelling(ask, method.file, key)
            begun = [*name.texts, name.prefix] if name.prefix else [*name.texts]
            if not begun or any(text.startswith(prefix) or prefix.startswith(text) for text in begun):
                found.append(ask.value(method.file, value) if begun else UNKNOWN)
    known = [value for value in found if value is None or value.known]
    if not known:
        return UNKNOWN
    result = join(known)
    return result if result is None or len(known) == len(found) else ask.guess(result)


def _of_module(ask: Ask, file: FileFacts, found: Spelling) -> Value:
    """A function or class of a module of the project: the one that is named, else one that some text names.

    Where no text of the program names any, as with names from a file of settings, a package that defines none itself
    is taken for the list of the classes that it imports, without those that others of them derive from.
    """
    own = {scope.dotted: scope.kind for scope in file.top.inner if scope.kind in ("function", "class")}
    listed = own | _imported(ask, file)
    if found.texts or found.prefix or found.suffix:
        chosen = [name for name in listed if _last(name) in found.texts or found.fits(_last(name))]
    else:
        chosen = [name for name in listed if ask.project.quotes(_last(name))]
    guessed = not (chosen or own or found.texts or found.prefix or found.suffix)
    if guessed:
        bases = {base for name in listed for base in ask.project.ancestry(name)[1:]}
        chosen = [name for name, kind in listed.items() if kind == "class" and name not in bases]
    kinds = {listed[name] for name in chosen}
    if len(chosen) > _MANY or len(kinds) != 1:
        return UNKNOWN
    value = Value(Kind.FUNCTION if kinds == {"function"} else Kind.CLASS, name="|".join(sorted(chosen)))
    return ask.guess(value) if guessed else value


def _of_package(ask: Ask, loaded: str, texts: Iterable[str]) -> Value:
    """The class of a name that any module of a package may hold, one that a setting chooses: ``agents.*``."""
    package, wanted = loaded.removesuffix(ANY) + ".", frozenset(texts)
    found = [name for name in ask.project.classes if name.startswith(package) and _last(name) in wanted]
    return Value(Kind.CLASS, name="|".join(sorted(found))) if 0 < len(found) <= _MANY else UNKNOWN


def _imported(ask: Ask, file: FileFacts) -> dict[str, str]:
    """The kinds of the functions and classes of the project that a package imports, by their dotted names."""
    if not file.package:
        return {}
    bound = (each for known in file.top.bindings.values() for each in known if each.how is Bind.IMPORT)
    names = {ask.project.binding_name(file, each) for each in bound}
    defined = (ask.project.classes.get(name) or ask.project.functions.get(name) for name in names if name)
    return {scope.dotted: scope.kind for scope in defined if scope is not None}


def _last(name: str) -> str:
    return name.rpartition(".")[2]

"""Live code: the definitions that the programs of a project may come to, by rapid type analysis over names."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from torchlint.facts.analyses import Analyses, Fact
from torchlint.facts.code.exporting import exported
from torchlint.facts.code.file_edits import FileEdits
from torchlint.facts.code.model import FUNCTIONS, Bind, FileFacts, Scope, decorators
from torchlint.facts.code.naming import last_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.starting import commands_of, imported_by_others, is_notebook, starts
from torchlint.facts.code.tree import names_among
from torchlint.facts.values.torch_table import is_method
from torchlint.late import dataclass, regex
from torchlint.models import Word, last_names
from torchlint.models.protocols import makers

_DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
_READS = (ast.Name, ast.Attribute, ast.Constant)
# What gives the definition that a text names.
_NAMES = last_names(names="class") | last_names(names="object")
_LOADS = last_names(names="module")
# What these packages offer as decorators hands nothing on to other code.
_PLAIN = frozenset({"abc", "builtins", "contextlib", "dataclasses", "functools", "torch", "typing"})
_WORD = regex(r"\w+")
# Bases whose code calls no method of a class that derives from them, but for these.
_BASES = frozenset({"builtins.object", "abc.ABC", "torch.nn.Module", "torch.nn.modules.module.Module"})
_DOCUMENTS = Word("decorator that documents")
_PACKAGE = "__init__.py"

Node = Scope | FileFacts
"""What code belongs to: a definition at the top of a file, or all of the file that is outside of these."""


class Reads(NamedTuple):
    """The definitions that code reads, names of methods, and files of which it takes what a text names."""

    definitions: set[Scope]
    methods: set[str]
    opened: set[FileFacts]


_NOTHING = Reads(set(), set(), set())
_EVALUATES = "eval()"


@dataclass(eq=False, slots=True)
class Live(Fact):
    """Answers whether a program of the project may come to a definition.

    A program begins in a file that starts something. Its code reads the names of functions and classes, whose code
    reads other names, and so on. A name that no import explains means every definition that bears it, and so does a
    word of a text. Code that looks definitions up by a text that is not in it comes to all that the module holds where
    it looks, or to all there is. A definition that is not reached is dead. Nothing is dead in the packages of a
    distribution, which programs elsewhere import, where no file starts anything, and beside programs that import no
    file of the project; but for models that a copied file brings along. Packages that export nothing are there for
    the programs beside them, where these import them.
    """

    project: Project
    distributed: bool
    packages: tuple[str, ...] = ()
    dead: frozenset[Scope] | None = None
    named: frozenset[str] = frozenset()
    left: frozenset[Scope] = frozenset()

    @classmethod
    def build(cls, analyses: Analyses) -> Live:
        """Follow names from the programs of the project."""
        return cls(analyses[Project], analyses.settings.distributed, analyses.settings.packages)

    def __post_init__(self) -> None:
        if self.dead is None:
            programs = self._programs()
            offered = self._offered(programs)
            found = self._unoffered(programs, offered) if len(offered) < len(self.project.files) else ()
            models = list(self._left_over())
            self.left = self.left.intersection(found).union(models)
            self.dead = frozenset((*found, *(self._uncalled() if self.named else ()), *models))

    def edited(self, project: Project, edits: FileEdits) -> Live:
        """Return what is live after edits of files that leave their outlines as they are: the same."""
        now = {scope: edits.scope(scope) for scope in self.dead or ()}
        dead = frozenset(scope for scope in now.values() if scope is not None)
        left = frozenset(scope for each in self.left if (scope := now[each]) is not None)
        return Live(project, self.distributed, self.packages, dead, self.named, left)

    def is_dead(self, scope: Scope) -> bool:
        """Return whether no program comes to the code of a function or class."""
        if not self.dead:
            return False
        return outermost(scope) in self.dead or (scope.method or scope) in self.dead

    def is_uncalled(self, scope: Scope) -> bool:
        """Return whether no code names a method of a class that a program comes to."""
        return self.is_dead(scope) and outermost(scope) not in (self.dead or ())

    def is_left(self, scope: Scope) -> bool:
        """Return whether no program comes to code, nor would it with another class of the same name and folder.

        Of the classes of one name in the modules of a folder a program imports the one that its author tries just now.
        """
        return bool(self.left) and outermost(scope) in self.left

    def _programs(self) -> list[Node]:
        """Where programs begin: files that start something, and with these the functions that a command may name.

        A function that steps or learns may be one, but not in a file that others import and that starts nothing. What a
        notebook defines counts: its cells run in any order, and as often as their reader likes.
        """
        files = self.project.files.values()
        started = [facts for facts in files if starts(self.project, facts)]
        found: list[Node] = [*started]
        helpers = imported_by_others(self.project.files, self.project.names) if started else frozenset[str]()
        helpers = helpers.difference(facts.path for facts in started)
        for facts in files if started else ():
            of_file = facts.scopes if is_notebook(facts) else commands_of(facts, helpers=facts.path in helpers)
            if commands := list(filter(_is_top, of_file)):
                found += (facts, *commands)
        return found

    def _offered(self, programs: Iterable[Node]) -> frozenset[FileFacts]:
        """The files that a distribution offers to programs elsewhere: those in its packages, or beside them."""
        if not self.distributed:
            return frozenset()
        files = self.project.files
        if not self.packages:
            return frozenset(files.values())
        inside = tuple(f"{package}/" for package in self.packages)
        packaged = frozenset(facts for path, facts in files.items() if path.startswith(inside))
        beside = (facts for path, facts in files.items() if path.rpartition("/")[0] in ("", "src"))
        return packaged.union(beside) if self._exports(packaged, programs) else frozenset(beside) - packaged

    def _exports(self, packaged: frozenset[FileFacts], programs: Iterable[Node]) -> bool:
        """Whether packages offer something to others: an ``__init__`` does something, or no program here uses them.

        A folder of scripts that import each other without its name is no package, whatever an ``__init__`` does.
        """
        if self._are_scripts(packaged):
            return False
        inits = [facts for facts in packaged if facts.package]
        if not inits or not all(all(map(_only_says, facts.tree.body)) for facts in inits):
            return True
        begun = _files(programs)
        return packaged.isdisjoint(file for facts in begun - packaged for file in self._imported(facts))

    def _are_scripts(self, packaged: frozenset[FileFacts]) -> bool:
        """Whether all imports of files in packages leave the name of the package out, so that only scripts inside run.

        ``from agents.ppo import PPO`` in ``pkg/train.py``: an import of ``pkg.agents`` from elsewhere would fail.
        """
        names = {package.rpartition("/")[2] for package in self.packages}
        roots = {
            dotted.partition(".")[0]
            for facts in self.project.files.values()
            for dotted in (*facts.imports, *facts.star_imports)
            if any(file in packaged for file in self.project.names.meant(facts.path, dotted))
        }
        return bool(roots) and roots.isdisjoint(names)

    def _unoffered(self, programs: Sequence[Node], offered: frozenset[FileFacts]) -> list[Scope]:
        """The definitions that no program comes to, of files that are not offered to others."""
        if apart := self._apart(programs):
            offered |= apart
        tops = (scope for facts in offered for scope in facts.scopes if _is_top(scope))
        found = self._unreached([*programs, *offered, *tops]) if programs else ()
        if apart:
            self.named = frozenset()
        return [scope for scope in found if scope.file not in offered]

    def _apart(self, programs: Iterable[Node]) -> frozenset[FileFacts]:
        """All files but the programs, where these import none: what imports the others is not in the project.

        So a notebook that trains another model says nothing of the modules beside it.
        """
        begun = _files(programs)
        imported = any(file is not facts for facts in begun for file in self._imported(facts))
        return frozenset() if imported else frozenset(self.project.files.values()) - begun

    def _imported(self, facts: FileFacts) -> Iterator[FileFacts]:
        """The files of the project that one of them imports."""
        for dotted in (*facts.imports, *facts.star_imports):
            yield from self.project.names.meant(facts.path, dotted)

    def _unreached(self, roots: Sequence[Node]) -> list[Scope]:
        """The definitions that no program comes to; ``left`` are then those that none would come to with a namesake."""
        bearing: dict[str, list[Scope]] = defaultdict(list)
        for facts in self.project.files.values():
            for scope in facts.scopes:
                if _is_top(scope):
                    bearing[scope.name].append(scope)
        reads: dict[FileFacts, Mapping[Node, Reads]] = {}
        named: set[str] = set()
        opened: set[FileFacts] = set()
        todo = list(roots)
        reached = set(todo)
        dead: list[Scope] | None = None
        left: list[Scope] = []
        while todo:
            while todo:
                node = todo.pop()
                facts = node if isinstance(node, FileFacts) else node.file
                if facts not in reads:
                    reads[facts] = self._reads(facts, bearing)
                read = reads[facts].get(node, _NOTHING)
                if facts.top in read.definitions:
                    return dead or []
                named |= read.methods
                held = [each for module in read.opened - opened for each in self._held(module, bearing)]
                opened |= read.opened
                for each in (*read.definitions, *held, *(self._beside(facts) if node is facts else (facts,))):
                    if each not in reached:
                        reached.add(each)
                        todo.append(each)
            left = [scope for scopes in bearing.values() for scope in scopes if scope not in reached]
            if dead is None:
                dead = left
                self.named = frozenset() if _EVALUATES in named else frozenset(named)
            beside = {(_folder(scope), scope.name) for scope in reached if isinstance(scope, Scope)}
            todo += (scope for scope in left if (_folder(scope), scope.name) in beside)
            reached.update(todo)
        self.left = frozenset(left)
        return dead or []

    def _left_over(self) -> Iterable[Scope]:
        """The models that a copied file brings along and nothing names, while the project imports the file.

        They are of a framework that makes them by their class, so that also programs elsewhere would have to name them:
        what a package does not offer is made by the project itself, or not at all.
        """
        models = {
            cls.node: cls
            for cls in self.project.classes.values()
            if _is_top(cls) and any(map(makers, self.project.ancestry(cls.dotted)))
            if not exported(self.project, cls) and not self._is_named_elsewhere(cls)
        }
        # What no file imports is loaded by its path: the code that belongs to a checkpoint.
        imported = imported_by_others(self.project.files, self.project.names) if models else ()
        found = {node: cls for node, cls in models.items() if cls.file.path in imported}
        while named := [node for node, cls in found.items() if _is_named_beside(cls, found)]:
            for node in named:
                del found[node]
        return found.values()

    def _is_named_elsewhere(self, scope: Scope) -> bool:
        """Whether the text of another file has the name of a definition."""
        word = scope.name.encode()
        return any(word in facts.source.utf8 for facts in self.project.files.values() if facts is not scope.file)

    def _uncalled(self) -> Iterator[Scope]:
        """The methods that no live code names, of classes whose methods no framework calls."""
        for name in self.project.methods.keys() - self.named:
            if not (name.startswith("_") or is_method(name)):
                yield from (method for method in self.project.methods[name] if self._is_ours(method))

    def _is_ours(self, method: Scope) -> bool:
        """Whether a method belongs to classes of the project alone, and no decorator takes it."""
        owner = method.method_of
        if owner is None or any(not self._is_plain(method.file, each) for each in decorators(method.node)):
            return False
        line = self.project.ancestry(owner.dotted)
        return not self._is_handed_on(owner) and all(each in self.project.classes or each in _BASES for each in line)

    def _beside(self, facts: FileFacts) -> Iterator[Node]:
        """What runs, or may be kept elsewhere, when a file is imported."""
        yield from (scope for scope in facts.scopes if _is_top(scope) and self._is_handed_on(scope))
        for file in self._imported(facts):
            yield file
            yield from self._packages(file)

    def _packages(self, facts: FileFacts) -> Iterator[FileFacts]:
        """The packages around a module, which Python imports before it."""
        for folder in PurePosixPath(facts.path).parents:
            package = self.project.files.get(str(folder / _PACKAGE))
            if package is None:
                return
            yield package

    def _is_handed_on(self, scope: Scope) -> bool:
        """Whether a decorator or a metaclass takes a definition, so that it may be known elsewhere."""
        if any(not self._is_plain(scope.file, each) for each in decorators(scope.node)):
            return True
        if not isinstance(scope.node, ast.ClassDef):
            return False
        line = list(self.project.family(scope.dotted))
        return any(
            "__init_subclass__" in cls.bindings or any(word.arg == "metaclass" for word in cls.node.keywords)
            for cls in line
            if isinstance(cls.node, ast.ClassDef)
        )

    def _is_plain(self, facts: FileFacts, decorator: ast.expr) -> bool:
        origin = (self.project.qualified(facts, decorator) or "").partition(".")[0]
        return origin in _PLAIN or _DOCUMENTS.fits(last_name(decorator))

    def _reads(self, facts: FileFacts, bearing: Mapping[str, list[Scope]]) -> Mapping[Node, Reads]:
        """What the code of a file reads, by what the code belongs to; the file's own scope is any definition."""
        tops: dict[ast.AST, Scope] = {scope.node: scope for scope in facts.scopes if _is_top(scope)}
        others: dict[str, set[str]] = defaultdict(set)
        for scope in facts.scopes:
            for name, bindings in scope.bindings.items():
                others[name].update(each.target.rpartition(".")[2] for each in bindings if each.how is Bind.IMPORT)
        found: dict[Node, Reads] = defaultdict(lambda: Reads(set(), set(), set()))
        for kind in _READS:
            for node in facts.nodes(kind):
                for module in self._opened(facts, node):
                    read = found[_home(facts, node, tops)]
                    if module is None:
                        read.definitions.add(facts.top)
                    else:
                        read.opened.add(module)
                    if self._evaluates(facts, node):
                        read.methods.add(_EVALUATES)
                names = {name for each in _names_of(node) for name in (each, *others.get(each, ()))}
                named = [scope for name in names for scope in bearing.get(name, ())]
                methods = names & self.project.methods.keys()
                if (named or methods) and not _only_tells(facts, node):
                    known = self._definition(facts, node)
                    read = found[_home(facts, node, tops)]
                    read.definitions.update(named if known is None else (known,))
                    read.methods.update(methods)
        for node, meant in self._renamed(facts):
            found[_home(facts, node, tops)].definitions.update(meant)
        return found

    def _renamed(self, facts: FileFacts) -> Iterator[tuple[ast.Name, list[Scope]]]:
        """The names that a file calls and nothing defines, each with the classes that it imports and does not read.

        A class was renamed there and not everywhere: the program means one of these.
        """
        imported = [each for bound in facts.top.bindings.values() for each in bound if each.how is Bind.IMPORT]
        classes = {each: self.project.classes.get(self.project.canonical(facts, each.target)) for each in imported}
        if facts.star_imports or not any(classes.values()):
            return
        read = {node.id for node in facts.nodes(ast.Name) if isinstance(node.ctx, ast.Load)}
        unread = [(name, each) for name, bound in facts.top.bindings.items() for each in bound if name not in read]
        meant = [cls for _, each in unread if (cls := classes.get(each)) is not None]
        bound = {name for scope in facts.scopes for name in scope.bindings} if meant else read
        for node in facts.nodes(ast.Name) if not read <= bound else ():
            if node.id not in bound and isinstance(node.ctx, ast.Load) and not hasattr(builtins, node.id):
                call = facts.parent.get(node)
                if isinstance(call, ast.Call) and call.func is node:
                    yield node, meant

    def _definition(self, facts: FileFacts, node: ast.expr) -> Scope | None:
        """The class or function of the project that an expression surely names."""
        return self._known(self.project.qualified(facts, node) or "")

    def _known(self, dotted: str) -> Scope | None:
        return self.project.classes.get(dotted) or self.project.functions.get(dotted)

    def _opened(self, facts: FileFacts, node: ast.expr) -> Iterable[FileFacts | None]:
        """The modules in which code looks definitions up by a text that is not written there; ``None`` is any module.

        ``getattr(agents, name)`` looks in one module, ``globals()[name]`` and ``eval(name)`` look in their own.
        """
        call = facts.parent[node]
        match node:
            case ast.Name(id="getattr" | "vars") if isinstance(call, ast.Call) and call.args:
                return () if isinstance(call.args[-1], ast.Constant) else self._module(facts, call.args[0])
            case ast.Attribute(attr="__dict__", value=value):
                return self._module(facts, value)
            case ast.Attribute(attr="getmembers") if isinstance(call, ast.Call) and call.args:
                return self._module(facts, call.args[0])
            case ast.Name(id="globals"):
                taken = facts.parent.get(call)
                return () if isinstance(taken, ast.Subscript) and isinstance(taken.slice, ast.Constant) else (facts,)
            case ast.Name(id="eval") if self._evaluates(facts, node):
                return (facts,) if isinstance(call, ast.Call) and len(call.args) == 1 else (None,)
            case ast.Name(id=name) if name in _NAMES:
                return (None,)
            case ast.Attribute(attr=name) if name == "__subclasses__" or name in _NAMES:
                return (None,)
        return ()

    def _evaluates(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether a name is the builtin ``eval``, not a flag of that name: ``if eval: ...``."""
        named = isinstance(node, ast.Name) and node.id == "eval"
        return named and self.project.qualified(facts, node) == "builtins.eval"

    def _module(self, facts: FileFacts, node: ast.expr) -> Iterable[FileFacts | None]:
        """The module of the project that an expression is, ``None`` if a text names it."""
        known = self.project.modules.get(self.project.qualified(facts, node) or "")
        if known is not None:
            return (known,)
        value = self.project.reaching(facts, node).value or node
        if isinstance(value, ast.Subscript) and self.project.qualified(facts, value.value) == "sys.modules":
            return (facts if isinstance(value.slice, ast.Name) and value.slice.id == "__name__" else None,)
        func = value.func if isinstance(value, ast.Call) else value.value if isinstance(value, ast.Subscript) else value
        is_any = last_name(func) in _LOADS or self.project.qualified(facts, func) == "sys.modules"
        return (None,) if is_any else ()

    def _held(self, module: FileFacts, bearing: Mapping[str, list[Scope]]) -> Iterator[Node]:
        """What a text may name in a module: its definitions, what it imports, and all that is in a package."""
        todo, seen = [module], {module}
        while todo:
            facts = todo.pop()
            yield facts
            yield from filter(_is_top, facts.scopes)
            dotted = [
                each.target
                for scope in facts.scopes
                for bindings in scope.bindings.values()
                for each in bindings
                if each.how is Bind.IMPORT
            ]
            for name in dotted:
                known = self._known(self.project.canonical(facts, name))
                yield from bearing.get(name.rpartition(".")[2], ()) if known is None else (known,)
            files = [
                each for name in (*dotted, *facts.star_imports) for each in self.project.names.meant(facts.path, name)
            ]
            if facts.package:
                files += self._inside(facts)
            todo += [each for each in dict.fromkeys(files) if each not in seen]
            seen.update(files)

    def _inside(self, package: FileFacts) -> Iterator[FileFacts]:
        """The modules that a package has as attributes: those that some file imports, or a list of exports may name."""
        inside = package.path.removesuffix(_PACKAGE)
        listed = "__all__" in package.top.bindings
        imported = frozenset[str]() if listed else imported_by_others(self.project.files, self.project.names)
        for path, facts in self.project.files.items():
            if path.startswith(inside) and (listed or path in imported):
                yield facts


def _files(nodes: Iterable[Node]) -> set[FileFacts]:
    """The files that code belongs to."""
    return {node if isinstance(node, FileFacts) else node.file for node in nodes}


def _only_says(stmt: ast.stmt) -> bool:
    """Whether a statement of an ``__init__`` exports nothing: a docstring, or a text such as a version."""
    return isinstance(stmt, (ast.Expr, ast.Assign)) and isinstance(stmt.value, ast.Constant)


def _is_top(scope: Scope) -> bool:
    return scope.parent is not None and scope.parent.kind == "module" and isinstance(scope.node, _DEFINITIONS)


def outermost(scope: Scope) -> Scope:
    """Return the definition at the top of a file that a scope is part of, or the file's own scope."""
    return next((each for each in scope.outward() if _is_top(each)), scope)


def _folder(scope: Scope) -> str:
    return scope.file.path.rpartition("/")[0]


def _home(facts: FileFacts, node: ast.AST, tops: Mapping[ast.AST, Scope]) -> Node:
    return next((tops[each] for each in facts.ancestors(node) if each in tops), facts)


def _names_of(node: ast.expr) -> Iterable[str]:
    """The names that an expression may read: itself, or the words of a text."""
    if isinstance(node, ast.Constant):
        return _WORD.findall(node.value) if isinstance(node.value, str) else ()
    return names_among((node,))


def _is_named_beside(cls: Scope, aside: Collection[ast.AST]) -> bool:
    """Whether a file names a class outside of classes set aside, and not only to ask whether an object is one."""
    facts = cls.file
    nodes = (node for kind in _READS for node in facts.nodes(kind) if cls.name in _names_of(node))
    read = (node for node in nodes if not _only_tells(facts, node) and not _only_asks(facts, node))
    return any(not any(above in aside for above in facts.ancestors(node)) for node in read)


def _only_asks(facts: FileFacts, node: ast.AST) -> bool:
    """``isinstance(module, Classifier)``."""
    match facts.parent[node]:
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, asked]):
            return asked is node
    return False


def _only_tells(facts: FileFacts, node: ast.AST) -> bool:
    """Whether a text documents something or is in ``__all__``."""
    stmt = facts.statement(node) if isinstance(node, ast.Constant) else None
    if isinstance(stmt, ast.Expr):
        return stmt.value is node
    return isinstance(stmt, ast.Assign) and any(last_name(target) == "__all__" for target in stmt.targets)

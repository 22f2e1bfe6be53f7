"""One pass over a file's ``ast``: scopes, bindings, calls, attribute stores, places. No visitor, no recursion."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from torchlint.facts.code.linking import ANY
from torchlint.facts.code.loading import LOADING, loaded, registered_modules
from torchlint.facts.code.model import (
    COMPREHENSIONS,
    FUNCTIONS,
    AttributeStore,
    Bind,
    Binding,
    FileFacts,
    Scope,
    ScopeNode,
)
from torchlint.models import method_names
from torchlint.sources.text import Source

# Fields that never hold a node of interest are left out of the walk.
_SKIP = frozenset(
    (
        *("ctx", "op", "ops", "type_comment", "type_ignores", "kind", "id", "attr", "arg", "name", "names", "module"),
        *("level", "conversion", "is_async", "simple", "rest", "kwd_attrs", "str"),
    )
)
_LEAVES = frozenset({ast.Name, ast.Constant, ast.Pass, ast.Break, ast.Continue, ast.MatchSingleton})
_GROWING = method_names("list deque set", adds=True, elsewhere=False)
_COMPOUND: frozenset[type] = frozenset(
    {
        ast.If,
        ast.While,
        ast.For,
        ast.AsyncFor,
        ast.With,
        ast.AsyncWith,
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.Assert,
    }
)


def collect(source: Source, tree: ast.Module, module: str, package: bool) -> FileFacts:
    """Gather the facts of one parsed file. ``module`` is its dotted name, ``package`` whether it is an ``__init__``."""
    facts = FileFacts(source, module, tree, package)
    _Collector(facts).run()
    return facts


class _Collector:
    """The pass itself: a stack of (node, parent, scope), children pushed by static field tables."""

    def __init__(self, facts: FileFacts) -> None:
        self.facts = facts
        self.fields: dict[type, tuple[str, ...]] = {}
        self.stack: list[tuple[ast.AST, Scope]] = []
        self.nonlocals: list[tuple[Scope, list[str]]] = []
        self.handlers: dict[type, Callable[[ast.AST, Scope], None]] = {
            ast.Call: self._call,
            ast.Assign: self._assign,
            ast.AnnAssign: self._ann_assign,
            ast.AugAssign: self._aug_assign,
            ast.NamedExpr: self._named,
            ast.For: self._for,
            ast.AsyncFor: self._for,
            ast.With: self._with,
            ast.AsyncWith: self._with,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.Return: self._return,
            ast.Yield: self._yield,
            ast.YieldFrom: self._yield,
            ast.Global: self._global,
            ast.Nonlocal: self._global,
            ast.ExceptHandler: self._handler,
            ast.Subscript: self._subscript,
            **dict.fromkeys((ast.If, ast.While, ast.Assert, ast.IfExp), self._test),
            ast.comprehension: self._conditions,
            ast.BoolOp: self._operands,
            ast.UnaryOp: self._negated,
            ast.Compare: self._membership,
            ast.Delete: self._delete,
            ast.MatchAs: self._capture,
            ast.MatchStar: self._capture,
            ast.MatchMapping: self._capture,
        }
        self.openers: dict[type, Callable[[ast.AST, Scope], None]] = {
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class,
            ast.Lambda: self._lambda,
            **dict.fromkeys(COMPREHENSIONS, self._comprehension),
        }

    def run(self) -> None:
        facts = self.facts
        top = Scope(facts.tree, "module", facts.module.rpartition(".")[2], "", None, facts)
        facts.scopes.append(top)
        facts.scope_of_node[facts.tree] = top
        self._push(facts.tree, top)
        stack, handlers = self.stack, self.handlers
        while stack:
            node, scope = stack.pop()
            kind = node.__class__
            handler = handlers.get(kind)
            if handler is not None:
                handler(node, scope)
            if kind in _COMPOUND:
                assert isinstance(node, ast.stmt)
                facts.compounds.append(node)
            opens = self.openers.get(kind)
            if opens is not None:
                opens(node, scope)
            else:
                self._push(node, scope)
        for scope, names in self.nonlocals:
            self._hand_over(scope, names)

    def _push(self, node: ast.AST, scope: Scope, only: tuple[str, ...] | None = None) -> None:
        """Push the children of a node, last first, so that they are visited in source order.

        Names and literals have no children and no handler, so they only get their parent.
        """
        names = only
        if names is None:
            kind = type(node)
            names = self.fields.get(kind)
            if names is None:
                names = self.fields[kind] = tuple(name for name in node._fields if name not in _SKIP)
        parent = self.facts.parent
        children: list[tuple[ast.AST, Scope]] = []
        for name in names:
            value = getattr(node, name, None)
            if value.__class__ is list:
                if value and isinstance(value[0], ast.stmt):
                    places = self.facts.places
                    for index, child in enumerate(value):
                        parent[child] = node
                        places[child] = (value, index)
                        children.append((child, scope))
                    continue
                for child in value:
                    if child is not None:
                        parent[child] = node
                        if child.__class__ not in _LEAVES:
                            children.append((child, scope))
            elif value is not None:
                parent[value] = node
                if value.__class__ not in _LEAVES:
                    children.append((value, scope))
        children.reverse()
        self.stack.extend(children)

    # scopes ---------------------------------------------------------------------------------------------------------

    def _open(self, node: ScopeNode, kind: str, name: str, parent: Scope) -> Scope:
        prefix = f"{parent.qualname}." if parent.qualname else ""
        scope = Scope(node, kind, name, prefix + name, parent, self.facts)
        self.facts.scopes.append(scope)
        parent.inner.append(scope)
        return scope

    def _function(self, node: ast.AST, outer: Scope) -> None:
        assert isinstance(node, FUNCTIONS)
        scope = self._open(node, "function", node.name, outer)
        self._bind(outer, node.name, Binding(Bind.FUNCTION, node, scope=scope))
        self._parameters(node.args, node, scope)
        for part in node.body:
            self.facts.scope_of_node[part] = scope
        self._push(node, scope, ("body",))
        self._push(node, outer, ("decorator_list", "args", "returns", "type_params"))

    def _class(self, node: ast.AST, outer: Scope) -> None:
        assert isinstance(node, ast.ClassDef)
        scope = self._open(node, "class", node.name, outer)
        self._bind(outer, node.name, Binding(Bind.CLASS, node, scope=scope))
        for part in node.body:
            self.facts.scope_of_node[part] = scope
        self._push(node, scope, ("body",))
        self._push(node, outer, ("decorator_list", "bases", "keywords", "type_params"))

    def _lambda(self, node: ast.AST, outer: Scope) -> None:
        assert isinstance(node, ast.Lambda)
        scope = self._open(node, "function", "<lambda>", outer)
        self._parameters(node.args, node, scope)
        self.facts.scope_of_node[node.body] = scope
        self._push(node, scope, ("body",))
        self._push(node, outer, ("args",))

    def _comprehension(self, node: ast.AST, outer: Scope) -> None:
        assert isinstance(node, COMPREHENSIONS)
        scope = self._open(node, "comprehension", "<comprehension>", outer)
        for generator in node.generators:
            self._targets(scope, generator.target, Bind.ELEMENT, generator.iter, node)
        self.facts.scope_of_node[node] = scope
        self.facts.scope_of_node[node.generators[0].iter] = outer
        self._push(node, scope)

    def _parameters(self, args: ast.arguments, node: ast.AST, scope: Scope) -> None:
        plain = [*args.posonlyargs, *args.args]
        defaults: list[ast.expr | None] = [None] * (len(plain) - len(args.defaults)) + list(args.defaults)
        named = [*zip(plain, defaults, strict=True), *zip(args.kwonlyargs, args.kw_defaults, strict=True)]
        for arg, default in named:
            scope.params.append(arg.arg)
            binding = Binding(Bind.PARAM, node, default, target=arg.arg, scope=scope, annotation=arg.annotation)
            scope.bindings.setdefault(arg.arg, []).append(binding)
        for star in (args.vararg, args.kwarg):
            if star is not None:
                how = Bind.REST if star is args.vararg else Bind.OTHER
                binding = Binding(how, node, target=star.arg, scope=scope)
                scope.bindings.setdefault(star.arg, []).append(binding)

    # bindings -------------------------------------------------------------------------------------------------------

    def _bind(self, scope: Scope, name: str, binding: Binding) -> None:
        home = scope
        if scope.kind == "comprehension" and binding.stmt is not scope.node:
            home = scope.function
        if name in home.globals and home is not self.facts.top:
            home = self.facts.top
            home.shared.add(name)
        home.bindings.setdefault(name, []).append(binding)
        self._remember(name, binding, home)

    def _hand_over(self, scope: Scope, names: Iterable[str]) -> None:
        """Give what a function binds under ``nonlocal`` names to the function around it that owns them."""
        for name in names:
            home = scope.parent
            while home is not None and not (home.kind == "function" and name in home.bindings):
                home = home.parent
            if home is not None:
                home.shared.add(name)
                home.bindings[name].extend(scope.bindings.pop(name, ()))

    def _remember(self, name: str, binding: Binding, home: Scope) -> None:
        """Note on all nodes from a binding up to its scope that they bind the name."""
        node: ast.AST | None = binding.stmt
        binders, parent = self.facts.binders, self.facts.parent
        while node is not None and node is not home.node:
            names = binders.setdefault(node, set())
            if name in names:
                break
            names.add(name)
            node = parent.get(node)

    def _targets(
        self,
        scope: Scope,
        target: ast.expr,
        how: Bind,
        value: ast.expr | None,
        stmt: ast.AST,
        path: tuple[int, ...] = (),
        annotation: ast.expr | None = None,
    ) -> None:
        """Bind the names and attributes of an assignment target, unpacking tuples."""
        todo: list[tuple[ast.expr, tuple[int, ...]]] = [(target, path)]
        while todo:
            node, path = todo.pop()
            if isinstance(node, ast.Name):
                binding = Binding(how, stmt, value, path, annotation=annotation)
                self._bind(scope, node.id, binding)
                if scope.kind == "class":
                    scope.stores.setdefault(node.id, []).append(AttributeStore(binding, scope))
            elif isinstance(node, ast.Attribute):
                self._store(scope, node, Binding(how, stmt, value, path, annotation=annotation))
            elif isinstance(node, (ast.Tuple, ast.List)):
                rest = False
                for index, element in enumerate(node.elts):
                    rest = rest or isinstance(element, ast.Starred)
                    todo.append((element, (*path, -1 if rest else index)))
            elif isinstance(node, ast.Starred):
                todo.append((node.value, path))
            elif isinstance(node, ast.Subscript) and value is not None and (name := dotted(node.value)):
                whole, several = how is Bind.ASSIGN and not path, isinstance(node.slice, ast.Slice)
                added = "sum" if how is Bind.AUGMENT and not several else "unknown"
                added = ("extend" if several else "item") if whole else added
                scope.function.appends.setdefault(name, []).append((added, value))
                if whole and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                    scope.function.keyed.setdefault(name, []).append((node.slice.value, value))

    def _store(self, scope: Scope, node: ast.Attribute, binding: Binding) -> None:
        """Record ``self.x = ...`` with the class whose method it is in, other objects' attributes with the file."""
        method = scope
        while method.method_of is None and method.parent is not None:
            method = method.parent
        store = AttributeStore(binding, scope)
        if method.method_of is not None and isinstance(node.value, ast.Name) and node.value.id == method.self_name:
            method.method_of.stores.setdefault(node.attr, []).append(store)
        else:
            self.facts.outside.setdefault(node.attr, []).append((node.value, store))

    def _assign(self, node: ast.AST, scope: Scope) -> None:
        assert isinstance(node, ast.Assign)
        for target in node.targets:
            self._targets(scope, target, Bind.ASSIGN, node.value, node)
            if self.facts.package and isinstance(target, ast.Name) and target.id == "__all__":
                self._hands_on(node.value)

    def _hands_on(self, names: ast.expr) -> None:
        """A package whose ``__all__`` is computed may hand on any module beside it, which a star import loads."""
        if not isinstance(names, (ast.List, ast.Tuple)):
            self.facts.imports.append(self.facts.module + ANY)

    def _ann_assign(self, node: ast.AST, scope: Scope) -> None:
        assert isinstance(node, ast.AnnAssign)
        self._targets(scope, node.target, Bind.ASSIGN, node.value, node, annotation=node.annotation)

    def _aug_assign(self, node: ast.AST, scope: Scope) -> None:
        assert isinstance(node, ast.AugAssign)
        self._targets(scope, node.target, Bind.AUGMENT, node.value, node)
        if isinstance(node.op, ast.Add) and (name := dotted(node.target)):
            scope.function.appends.setdefault(name, []).append(("extend", node.value))

    def _named(self, node: ast.AST, scope: Scope) -> None:
        assert isinstance(node, ast.NamedExpr)
        self._bind(scope, node.target.id, Binding(Bind.ASSIGN, node, node.value))

    def _for(self, node: ast.AST, scope: Scope) -> None:
        assert isinstance(node, (ast.For, ast.AsyncFor))
        self._targets(scope, node.target, Bind.ELEMENT, node.iter, node)

    def _with(self, node: ast.AST, scope: Scope) -> None:
        assert isinstance(node, (ast.With, ast.AsyncWith))
        for item in node.items:
            if item.optional_vars is not None:
                self._targets(scope, item.optional_vars, Bind.ENTER, item.context_expr, node)

    def _handler(self, node: ast.AST, scope: Scope) -> None:
        assert isinstance(node, ast.ExceptHandler)
        if node.name:
            self._bind(scope, node.name, Binding(Bind.OTHER, node))

    def _delete(self, node: ast.AST, scope: Scope) -> None:
        assert isinstance(node, ast.Delete)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._bind(scope, target.id, Binding(Bind.OTHER, node))

    def _capture(self, node: ast.AST, scope: Scope) -> None:
        assert isinstance(node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping))
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        if name:
            case: ast.AST = node
            while not isinstance(case, ast.match_case):
                case = self.facts.parent[case]
            self._bind(scope, name, Binding(Bind.OTHER, case))

    def _import(self, node: ast.AST, scope: Scope) -> None:
        assert isinstance(node, ast.Import)
        for alias in node.names:
            self.facts.imports.append(alias.name)
            bound = alias.asname or alias.name.partition(".")[0]
            target = alias.name if alias.asname else bound
            self._bind(scope, bound, Binding(Bind.IMPORT, node, target=target))

    def _import_from(self, node: ast.AST, scope: Scope) -> None:
        assert isinstance(node, ast.ImportFrom)
        base = self.facts.absolute(node.level, node.module or "")
        self.facts.imports.append(base)
        for alias in node.names:
            if alias.name == "*":
                self.facts.star_imports.append(base)
                continue
            target = f"{base}.{alias.name}" if base else alias.name
            self.facts.imports.append(target)
            self._bind(scope, alias.asname or alias.name, Binding(Bind.IMPORT, node, target=target))

    # everything else ------------------------------------------------------------------------------------------------

    def _call(self, node: ast.AST, scope: Scope) -> None:
        assert isinstance(node, ast.Call)
        home = scope.function
        home.calls.append(node)
        func = node.func
        if node.args and getattr(func, "attr", getattr(func, "id", "")) in LOADING:
            self.facts.imports += loaded(self.facts, node, scope)
        self.facts.imports += registered_modules(node)
        if isinstance(func, ast.Attribute) and func.attr in _GROWING and node.args and (name := dotted(func.value)):
            how = "extend" if _GROWING[func.attr]["adds"] == "elements" else func.attr
            home.appends.setdefault(name, []).append((how, node.args[-1]))
        elif isinstance(func, ast.Attribute) and func.attr == "update" and (name := dotted(func.value)):
            self._updated(home, name, node)
        elif isinstance(func, ast.Attribute) and func.attr == "append" and isinstance(func.value, ast.Subscript):
            key = func.value.slice
            name = dotted(func.value.value)
            if name and node.args and isinstance(key, ast.Constant) and isinstance(key.value, str):
                home.keyed.setdefault(name, []).append((key.value, node))
                self.facts.grows.add(node)

    def _updated(self, home: Scope, name: str, call: ast.Call) -> None:
        """What ``d.update(more, loss=x, **rest)`` stores under literal keys; and the dicts of which it adds all."""
        for given in call.keywords:
            home.appends.setdefault(name, []).append(("extend" if given.arg is None else "update", given.value))
            if given.arg is not None:
                home.keyed.setdefault(name, []).append((given.arg, given.value))
        if len(call.args) == 1:
            home.appends.setdefault(name, []).append(("extend", call.args[0]))

    def _subscript(self, node: ast.AST, _scope: Scope) -> None:
        assert isinstance(node, ast.Subscript)
        index = node.slice
        if not isinstance(index, ast.Constant) and (not isinstance(index, ast.Slice) or _is_computed(index)):
            self.facts.subscripts.append(node)

    # tests: leaves are noted by what asks for their truth, so that each is noted once ------------------------------

    def _test(self, node: ast.AST, _scope: Scope) -> None:
        assert isinstance(node, (ast.If, ast.While, ast.Assert, ast.IfExp))
        self._asked(node.test)

    def _conditions(self, node: ast.AST, _scope: Scope) -> None:
        assert isinstance(node, ast.comprehension)
        for condition in node.ifs:
            self._asked(condition)

    def _operands(self, node: ast.AST, _scope: Scope) -> None:
        assert isinstance(node, ast.BoolOp)
        for operand in node.values[:-1]:
            self._asked(operand)

    def _negated(self, node: ast.AST, _scope: Scope) -> None:
        assert isinstance(node, ast.UnaryOp)
        if isinstance(node.op, ast.Not):
            self._asked(node.operand)

    def _membership(self, node: ast.AST, _scope: Scope) -> None:
        assert isinstance(node, ast.Compare)
        if any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops):
            self.facts.tests.append(node)

    def _asked(self, node: ast.expr) -> None:
        while isinstance(node, ast.BoolOp):
            node = node.values[-1]
        if isinstance(node, ast.Compare):
            if not any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
                self.facts.tests.append(node)
        elif not isinstance(node, ast.Constant) and not (
            isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        ):
            self.facts.tests.append(node)

    def _return(self, node: ast.AST, scope: Scope) -> None:
        assert isinstance(node, ast.Return)
        scope.function.returns.append(node)

    def _yield(self, node: ast.AST, scope: Scope) -> None:
        scope.function.yields.append(node)

    def _global(self, node: ast.AST, scope: Scope) -> None:
        assert isinstance(node, (ast.Global, ast.Nonlocal))
        if isinstance(node, ast.Global):
            scope.globals.update(node.names)
        else:
            self.nonlocals.append((scope, node.names))


def dotted(node: ast.AST) -> str:
    """Return the text of a chain of names (``self.memory``), empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def _is_computed(part: ast.Slice) -> bool:
    """Whether a slice has a bound that is no literal."""
    bounds = (part.lower, part.upper)
    return any(isinstance(bound, (ast.Subscript, ast.Attribute, ast.BinOp, ast.Call, ast.Name)) for bound in bounds)

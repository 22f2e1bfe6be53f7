"""Other ways to write a program: renamed, imported otherwise, split, delegated, wrapped. They compute the same.

A variant takes a ``Program`` and the nodes that findings are about, and gives another program, or ``None`` where the
program has nothing to vary. Programs go through ``ast.unparse``, so layout and comments are not kept.
"""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from torchlint.rule import Finding

MAIN = "example.py"
OTHER = "agent.py"

# Names that torchlint believes, as readers do: an environment, a device, an optimizer.
CONTRACTS = frozenset({"env", "envs", "device", "dev", "optimizer", "optimizers", "optim"})
# Names that belong to the libraries, whoever defines them: what PyTorch, NumPy and Gymnasium call or look up.
LIBRARY = frozenset(
    """
    forward step reset close render seed sample action_space observation_space num_envs zero_grad backward parameters
    named_parameters buffers modules children state_dict load_state_dict train eval to cuda cpu float long bool half
    double int item numpy tolist detach clone copy_ add_ mul_ data grad shape dtype size dim ndim T mT mean sum std min
    max any all abs pow exp log log_prob entropy logits probs loc scale rsample update append extend pop popleft clear
    keys values items get setdefault add remove index count insert sort reverse copy join split format write read
    training requires_grad is_cuda mode apply device debug info warning error log_dict
    """.split()
)
MODULES = (
    "torch.nn.functional",
    "torch.nn.utils",
    "torch.distributions",
    "torch.optim",
    "torch.cuda",
    "torch.nn",
    "torch",
    "numpy.random",
    "numpy",
    "collections",
    "logging",
    "random",
    "copy",
    "math",
    "time",
)


@dataclass(frozen=True)
class Program:
    """Files in the order in which they import each other, the setup and the workload that use their names.

    ``renamed`` tells the new names of the example's inputs.
    """

    texts: Mapping[str, str]
    setup: str
    workload: str
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The only file."""
        (text,) = self.texts.values()
        return text


Variant = Callable[[Program, Sequence[Finding]], "Program | None"]


# ---------------------------------------------------------------------------------------------------- names


def neutral_names(program: Program, findings: Sequence[Finding]) -> Program:
    """All that the program defines gets a name that says nothing, but for contracts with people and libraries."""
    tree = ast.parse(program.text)
    names, attributes = _own_names(tree), _own_attributes(tree)
    new = {old: f"a{number}" for number, old in enumerate(sorted(names | attributes))}
    renamer = _Renamer({old: new[old] for old in names}, {old: new[old] for old in attributes})
    return replace(
        program,
        texts={MAIN: ast.unparse(renamer.visit(tree))},
        setup=ast.unparse(renamer.visit(ast.parse(program.setup))),
        workload=ast.unparse(renamer.visit(ast.parse(program.workload, mode="eval"))),
        renamed=new,
    )


def other_self(program: Program, findings: Sequence[Finding]) -> Program | None:
    """``self`` is called ``this``."""
    tree = ast.parse(program.text)
    if not any(isinstance(node, ast.ClassDef) for node in tree.body):
        return None
    return replace(program, texts={MAIN: ast.unparse(_Renamer({"self": "this"}, {}).visit(tree))})


@dataclass
class _Renamer(ast.NodeTransformer):
    """Renames variables, functions, classes and parameters by ``names``, methods and attributes by ``attributes``."""

    names: Mapping[str, str]
    attributes: Mapping[str, str]

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        self.generic_visit(node)
        node.arg = self.names.get(node.arg, node.arg)
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        callee = node.func
        own = callee.id in self.names if isinstance(callee, ast.Name) else _attr(callee) in self.attributes
        own = own or _is_super(callee)
        self.generic_visit(node)
        if own:
            for argument in node.keywords:
                argument.arg = self.names.get(argument.arg or "", argument.arg)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        node.attr = self.attributes.get(node.attr, node.attr)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        for item in node.body:
            match item:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    item.name = self.attributes.get(item.name, item.name)
                case ast.AnnAssign(target=ast.Name() as target):
                    item.target = ast.Name(self.attributes.get(target.id, target.id), target.ctx)
        self.generic_visit(node)
        node.name = self.names.get(node.name, node.name)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.name = self.names.get(node.name, node.name)
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        return ast.Global([self.names.get(name, name) for name in node.names])


def _attr(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ""


def _is_super(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super"))):
            return True
    return False


def _own_names(tree: ast.Module) -> set[str]:
    """Variables, parameters, functions and classes of a program that may be called anything."""
    methods = {item for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for item in node.body}
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if node not in methods:
                found.add(name)
    return {name for name in found - CONTRACTS - {"self", "cls", "_"} if not name.startswith("__")}


def _own_attributes(tree: ast.Module) -> set[str]:
    """Methods and attributes of a program that no library asks for."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store()):
                found.add(name)
            case ast.ClassDef(body=body):
                found.update(item.name for item in body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)))
                found.update(_fields(body))
    return {name for name in found - CONTRACTS - LIBRARY if not name.startswith("__")}


def _fields(body: Iterable[ast.stmt]) -> Iterator[str]:
    for item in body:
        match item:
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name


# -------------------------------------------------------------------------------------------------- imports


def other_aliases(program: Program, findings: Sequence[Finding]) -> Program | None:
    """``import torch as th`` and so on."""
    aliases = {"torch": "th", "torch.nn": "layers", "torch.nn.functional": "fun", "numpy": "num"}
    return _imported(
        program,
        lambda module, member: (
            (f"import {module} as {aliases[module]}", aliases[module], member)
            if module in aliases
            else _whole(module, member)
        ),
    )


def whole_paths(program: Program, findings: Sequence[Finding]) -> Program | None:
    """``import torch.nn.functional`` and the whole path at each use."""
    return _imported(program, _whole)


def _whole(module: str, member: str) -> tuple[str, str, str]:
    return f"import {module}", module, member


def members(program: Program, findings: Sequence[Finding]) -> Program | None:
    """``from torch import FloatTensor`` for all that the program uses of a module."""
    taken = {node.id for node in ast.walk(ast.parse(program.text)) if isinstance(node, ast.Name)}
    taken |= {node.arg for node in ast.walk(ast.parse(program.text)) if isinstance(node, ast.arg)}
    taken |= set(dir(builtins)) | set(keyword.kwlist)

    def style(module: str, member: str) -> tuple[str, str, str]:
        if not member:
            return _whole(module, member)
        if member in taken:
            new = f"{module.replace('.', '_')}_{member}"
            return f"from {module} import {member} as {new}", new, ""
        return f"from {module} import {member}", member, ""

    return _imported(program, style)


def _imported(program: Program, style: Callable[[str, str], tuple[str, str, str]]) -> Program | None:
    """The program with its plain imports in another style: the statement, the new name, and what stays behind it."""
    tree = ast.parse(program.text)
    bound: dict[str, str] = {}
    kept: list[ast.stmt] = []
    for stmt in tree.body:
        paths = dict(_import_paths(stmt))
        bound.update(paths)
        if not paths:
            kept.append(stmt)
    if not bound:
        return None
    tree.body = kept
    importer = _Importer(bound, style)
    importer.visit(tree)
    future = [index for index, stmt in enumerate(tree.body) if isinstance(stmt, ast.ImportFrom)]
    tree.body[len(future) : len(future)] = ast.parse("\n".join(sorted(importer.statements))).body
    return replace(program, texts={MAIN: ast.unparse(ast.fix_missing_locations(tree))})


def _import_paths(stmt: ast.stmt) -> Iterator[tuple[str, str]]:
    """Local names and paths that an import of known modules binds."""
    match stmt:
        case ast.Import(names=aliases):
            for alias in aliases:
                if alias.asname:
                    yield alias.asname, alias.name
                else:
                    yield alias.name.split(".")[0], alias.name.split(".")[0]
        case ast.ImportFrom(module=str(module), names=aliases) if module != "__future__":
            for alias in aliases:
                yield alias.asname or alias.name, f"{module}.{alias.name}"


@dataclass
class _Importer(ast.NodeTransformer):
    """Writes each path of a library in another style, and gathers the imports that this needs."""

    bound: Mapping[str, str]
    style: Callable[[str, str], tuple[str, str, str]]
    statements: set[str] = field(default_factory=set)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self._path(node) or self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._path(node) or node

    def _path(self, node: ast.expr) -> ast.expr | None:
        path = self._dotted(node)
        if path is None:
            return None
        module = next((name for name in MODULES if path == name or path.startswith(f"{name}.")), None)
        if module is None:
            module, _, rest = path.partition(".")
        else:
            rest = path[len(module) + 1 :]
        member, _, tail = rest.partition(".")
        statement, start, middle = self.style(module, member)
        self.statements.add(statement)
        return ast.parse(".".join(part for part in (start, middle, tail) if part), mode="eval").body

    def _dotted(self, node: ast.expr) -> str | None:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                return self.bound.get(name)
            case ast.Attribute(value=value, attr=attr):
                base = self._dotted(value)
                return base and f"{base}.{attr}"
        return None


# -------------------------------------------------------------------------------------- functions and classes


def delegated(program: Program, findings: Sequence[Finding]) -> Program | None:
    """Each function that holds a smell is called by a function of its old name, which does nothing else."""
    tree = ast.parse(program.text)
    done = False
    for body, method in _bodies(tree):
        for function in [item for item in body if isinstance(item, ast.FunctionDef)]:
            if _holds(function, findings) and _delegable(function):
                body.insert(body.index(function) + 1, _caller(function, method))
                function.name = f"{function.name}_at_last"
                done = True
    return replace(program, texts={MAIN: ast.unparse(ast.fix_missing_locations(tree))}) if done else None


def _bodies(tree: ast.Module) -> list[tuple[list[ast.stmt], bool]]:
    """The bodies of the module and of its classes, and whether they are a class's."""
    return [(tree.body, False), *((node.body, True) for node in tree.body if isinstance(node, ast.ClassDef))]


def _delegable(function: ast.FunctionDef) -> bool:
    """Whether the parameters can be handed on by name, and nothing calls it by a rule of the language."""
    given = function.args
    plain = not (given.posonlyargs or given.kwonlyargs or given.vararg or given.kwarg)
    return plain and not function.decorator_list and not function.name.startswith("__") and not _is_generator(function)


def _is_generator(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(function))


def _caller(function: ast.FunctionDef, method: bool) -> ast.FunctionDef:
    """The function of the same name and parameters that calls it by its new name."""
    names = [argument.arg for argument in function.args.args]
    receiver = f"{names.pop(0)}." if method else ""
    text = f"def f(): return {receiver}{function.name}_at_last({', '.join(names)})"
    made = ast.parse(text).body[0]
    assert isinstance(made, ast.FunctionDef)
    return ast.FunctionDef(function.name, function.args, made.body, [], function.returns, lineno=function.lineno)


def methods_in_base(program: Program, findings: Sequence[Finding]) -> Program | None:
    """The methods that hold a smell are in a base class, the constructor in the class."""
    return _split(program, lambda item: _holds(item, findings))


def constructor_in_base(program: Program, findings: Sequence[Finding]) -> Program | None:
    """The constructor is in a base class, the methods in the class."""
    return _split(program, lambda item: isinstance(item, ast.FunctionDef) and item.name == "__init__")


def _split(program: Program, goes: Callable[[ast.stmt], bool]) -> Program | None:
    """Classes with some of their methods in a base class."""
    tree = ast.parse(program.text)
    body: list[ast.stmt] = []
    for stmt in tree.body:
        if isinstance(stmt, ast.ClassDef) and not stmt.decorator_list and stmt.name not in _bases(tree):
            moved = [item for item in stmt.body if isinstance(item, ast.FunctionDef) and goes(item)]
            if moved and len(moved) < len(stmt.body):
                base = ast.ClassDef(f"{stmt.name}Base", stmt.bases, stmt.keywords, list(moved), [])
                stmt.bases, stmt.keywords = [ast.Name(base.name, ast.Load())], []
                stmt.body = [item for item in stmt.body if item not in moved]
                body.append(base)
        body.append(stmt)
    if len(body) == len(tree.body):
        return None
    tree.body = body
    return replace(program, texts={MAIN: ast.unparse(ast.fix_missing_locations(tree))})


def _bases(tree: ast.Module) -> set[str]:
    """Names of classes whose subclasses call them by name: their constructors must stay where they are."""
    return {
        base.id
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if isinstance(base, ast.Name)
    }


def two_files(program: Program, findings: Sequence[Finding]) -> Program | None:
    """All but the last definition are in a file of their own, which the rest imports from."""
    tree = ast.parse(program.text)
    definitions = [stmt for stmt in tree.body if isinstance(stmt, (ast.FunctionDef, ast.ClassDef))]
    if len(definitions) < 2:
        return None
    cut = tree.body.index(definitions[-1])
    first, last = tree.body[:cut], tree.body[cut:]
    if _loaded(first) & _defined(last):
        return None
    needed = _loaded(last)
    names = sorted(_defined([stmt for stmt in first if not _is_import(stmt)]) & needed)
    if not names:
        return None
    imports = [kept for stmt in first if _is_import(stmt) and (kept := _only(stmt, needed)) is not None]
    taken = ast.parse(f"from {OTHER.removesuffix('.py')} import {', '.join(names)}").body
    used = _loaded([stmt for stmt in first if not _is_import(stmt)])
    first = [kept for stmt in first if (kept := _only(stmt, used)) is not None]
    texts = {OTHER: ast.Module(first, []), MAIN: ast.Module([*imports, *taken, *last], [])}
    return replace(program, texts={name: ast.unparse(module) + "\n" for name, module in texts.items()})


def _is_import(stmt: ast.stmt) -> bool:
    return isinstance(stmt, (ast.Import, ast.ImportFrom))


def _only(stmt: ast.stmt, names: set[str]) -> ast.stmt | None:
    """An import without what nothing needs, other statements as they are."""
    if not isinstance(stmt, (ast.Import, ast.ImportFrom)):
        return stmt
    kept = [alias for alias in stmt.names if (alias.asname or alias.name.split(".")[0]) in names]
    if not kept:
        return None
    return ast.Import(kept) if isinstance(stmt, ast.Import) else ast.ImportFrom(stmt.module, kept, stmt.level)


def _loaded(stmts: Iterable[ast.stmt]) -> set[str]:
    return {node.id for stmt in stmts for node in ast.walk(stmt) if isinstance(node, ast.Name)}


def _defined(stmts: Iterable[ast.stmt]) -> set[str]:
    """Names that statements of a module bind."""
    found: set[str] = set()
    for stmt in stmts:
        match stmt:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Assign(targets=targets):
                found.update(node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
    return found


def beside(program: Program, other: Program) -> tuple[str, Program]:
    """Two programs in one file: its text, and the second program with its definitions under other names."""
    first, second = ast.parse(program.text), ast.parse(other.text)
    aliases = [
        alias for node in ast.walk(second) if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names
    ]
    imported = {(alias.asname or alias.name).split(".")[0] for alias in aliases}
    own = _defined([stmt for stmt in second.body if not _is_import(stmt)]) - CONTRACTS - imported
    renamer = _Renamer({name: f"{name}_too" for name in own}, {})
    second = renamer.visit(second)
    imports = {ast.unparse(stmt): stmt for stmt in [*first.body, *second.body] if _is_import(stmt)}
    bodies = [stmt for module in (first, second) for stmt in module.body if not _is_import(stmt)]
    setup = ast.unparse(renamer.visit(ast.parse(other.setup)))
    workload = ast.unparse(renamer.visit(ast.parse(other.workload, mode="eval")))
    text = ast.unparse(ast.Module([*imports.values(), *bodies], [])) + "\n"
    return text, Program({MAIN: text}, setup, workload, {name: f"{name}_too" for name in own})


# ---------------------------------------------------------------------------------------------- expressions


def parenthesised(program: Program, findings: Sequence[Finding]) -> Program | None:
    """The smelly expression in parentheses, on a line of its own."""
    return _rewritten(program, findings, "(\n    {}\n)")


def in_lambda(program: Program, findings: Sequence[Finding]) -> Program | None:
    """The smelly expression in a lambda that is called at once."""
    return _rewritten(program, findings, "(lambda: {})()")


def behind_walrus(program: Program, findings: Sequence[Finding]) -> Program | None:
    """The smelly expression is named where it stands."""
    return _rewritten(program, findings, "(held := {})")


def as_keyword(program: Program, findings: Sequence[Finding]) -> Program | None:
    """The smelly expression as a keyword argument of a function that hands it back."""
    made = _rewritten(program, findings, "handed(value={})")
    return made and _with_definition(made, "def handed(value):\n    return value\n")


def in_closure(program: Program, findings: Sequence[Finding]) -> Program | None:
    """The smelly expression in a function inside the function, called where the expression stood."""
    tree = ast.parse(program.text)
    smells = _smells(tree, findings)
    if smells is None:
        return None
    for number, smell in enumerate(smells):
        name = f"made_{number}"
        body, stmt = _statement(tree, smell)
        _replace(tree, smell, ast.parse(f"{name}()", mode="eval").body)
        closure = ast.parse(f"def {name}(): return 0").body[0]
        assert isinstance(closure, ast.FunctionDef)
        closure.body = [ast.Return(smell)]
        body.insert(body.index(stmt), closure)
    return replace(program, texts={MAIN: ast.unparse(ast.fix_missing_locations(tree))})


def exploded(program: Program, findings: Sequence[Finding]) -> Program | None:
    """A line break after each opening bracket and comma of the statements that hold a smell."""
    rows = {row for finding in findings for row in range(finding.rows[0], finding.rows[1] + 1)}
    lines = program.text.split("\n")
    places: list[tuple[int, int]] = []
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(program.text).readline):
        depth += (token.string in "([{") - (token.string in ")]}") if token.type == tokenize.OP else 0
        if token.start[0] in rows and depth and token.type == tokenize.OP and token.string in "([{,":
            places.append(token.end)
    for row, column in sorted(places, reverse=True):
        line = lines[row - 1]
        lines[row - 1] = f"{line[:column]}\n            {line[column:].lstrip()}"
    return replace(program, texts={MAIN: "\n".join(lines)}) if places else None


def _with_definition(program: Program, definition: str) -> Program:
    """The program with a function after its imports."""
    lines = program.text.split("\n")
    last = max(stmt.end_lineno or 0 for stmt in ast.parse(program.text).body if _is_import(stmt))
    lines[last:last] = ["", "", *definition.split("\n")]
    return replace(program, texts={MAIN: "\n".join(lines)})


def _rewritten(program: Program, findings: Sequence[Finding], form: str) -> Program | None:
    """The program with each smelly expression inside another text."""
    tree = ast.parse(program.text)
    smells = _smells(tree, findings)
    if smells is None:
        return None
    texts: dict[str, str] = {}
    for number, smell in enumerate(smells):
        name = f"SMELL_{number}_"
        _replace(tree, smell, ast.Name(name, ast.Load()))
        texts[name] = form.format(ast.unparse(smell))
    text = ast.unparse(tree)
    for name, new in reversed(texts.items()):
        text = text.replace(name, new)
    return replace(program, texts={MAIN: text})


def _smells(tree: ast.Module, findings: Sequence[Finding]) -> list[ast.expr] | None:
    """The expressions that the findings are about, ``None`` where one of them cannot be put inside another.

    That is so for statements, items of ``with``, decorators, parts of a comprehension and of other smells.
    """
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    places = {((found.start.row, found.start.column - 1), (found.end.row, found.end.column - 1)) for found in findings}
    smells: list[ast.expr] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr) or not places & {_span(node)}:
            continue
        places.discard(_span(node))
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return None
        above = node
        while not isinstance(above, ast.stmt):
            above = parents[above]
            if isinstance(above, (ast.comprehension, ast.withitem, ast.Lambda, ast.JoinedStr)) or above in smells:
                return None
            if isinstance(above, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
                return None
        if isinstance(above, (ast.FunctionDef, ast.ClassDef, ast.With, ast.AugAssign)):
            return None
        smells.append(node)
    return smells if smells and not places else None


def _span(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def _replace(tree: ast.Module, old: ast.expr, new: ast.expr) -> None:
    """Put an expression in the place of another."""
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if value is old:
                setattr(node, name, new)
            elif isinstance(value, list) and any(item is old for item in value):
                value[:] = [new if item is old else item for item in value]


def _statement(tree: ast.Module, node: ast.expr) -> tuple[list[ast.stmt], ast.stmt]:
    """The innermost list of statements that holds an expression, and the statement in it."""
    best: tuple[list[ast.stmt], ast.stmt] | None = None
    for above in ast.walk(tree):
        for value in vars(above).values():
            if isinstance(value, list):
                for stmt in value:
                    if isinstance(stmt, ast.stmt) and any(inner is node for inner in ast.walk(stmt)):
                        best = value, stmt
    assert best is not None
    return best


def _holds(stmt: ast.stmt, findings: Sequence[Finding]) -> bool:
    """Whether a finding starts inside a statement or its decorators."""
    above = stmt.decorator_list if isinstance(stmt, (ast.FunctionDef, ast.ClassDef)) else []
    first = min([stmt.lineno, *(decorator.lineno for decorator in above)])
    return any(first <= found.start.row <= (stmt.end_lineno or 0) for found in findings)


VARIANTS: dict[str, Variant] = {
    made.__name__: made
    for made in (
        neutral_names,
        other_self,
        other_aliases,
        whole_paths,
        members,
        delegated,
        methods_in_base,
        constructor_in_base,
        two_files,
        parenthesised,
        in_lambda,
        behind_walrus,
        as_keyword,
        in_closure,
        exploded,
    )
}

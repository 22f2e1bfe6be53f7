"""Which part may import which, and what no module may do. Read from the source with ``ast``, nothing is imported."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.once
ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("torchlint",)
RULES = "torchlint.rules"
MODULE_LINES = 500
FUNCTION_LINES = 60

# The modules that may catch everything, once: around the work on a file, and around the import of a rule package.
CALLS_OTHERS = ("torchlint.engine.mishap", "torchlint.engine.packages")

# What every part may import: it knows nothing of torchlint.
EVERYBODYS = ("torchlint.late",)

# Prefixes of the modules of ours that each part may import, besides its own. Settings reach the parts below as a value.
ALLOWED = {
    "torchlint": (),
    "torchlint.__main__": ("torchlint.cli",),
    "torchlint.late": (),
    "torchlint.cst": (),
    "torchlint.models": (),
    "torchlint.rule": ("torchlint.cst", "torchlint.models"),
    # For type checkers alone: a rule asks facts of its own about what a site gives.
    "torchlint.rule.site": (
        "torchlint.rule",
        "torchlint.cst",
        "torchlint.facts.analyses",
        "torchlint.facts.code.model",
    ),
    "torchlint.cache": (),
    "torchlint.settings": ("torchlint.rule", "torchlint.models", "torchlint.sources.walk", "torchlint.cache.place"),
    "torchlint.sources": (
        "torchlint.rule",
        "torchlint.settings.model",
        "torchlint.cache.place",
        "torchlint.cache.strays",
        "torchlint.cache.world",
    ),
    "torchlint.facts": ("torchlint.rule", "torchlint.models", "torchlint.sources", "torchlint.settings.model"),
    "torchlint.engine": (
        "torchlint.rule",
        "torchlint.models",
        "torchlint.cst",
        "torchlint.cache",
        "torchlint.facts",
        "torchlint.sources",
        "torchlint.settings.check",
        "torchlint.settings.defaults",
        "torchlint.settings.model",
        "torchlint.settings.root",
        "torchlint.settings.select",
    ),
    "torchlint.report": ("torchlint.rule", "torchlint.sources", "torchlint.engine.result"),
    "torchlint.bench": (
        "torchlint.rule",
        "torchlint.cst",
        "torchlint.device",
        "torchlint.cache.key",
        "torchlint.sources",
        "torchlint.engine",
        "torchlint.profile.work",
        "torchlint.report",
        "torchlint.settings.model",
    ),
    "torchlint.profile": ("torchlint.rule", "torchlint.sources", "torchlint.engine", "torchlint.report"),
    "torchlint.device": (),
    "torchlint.count": (
        "torchlint.rule",
        "torchlint.device.events",
        "torchlint.device.program",
        "torchlint.report",
    ),
    "torchlint.verify": (
        "torchlint.device.seeing",
        "torchlint.rule",
        "torchlint.count",
        "torchlint.cache.digest",
        "torchlint.sources",
        "torchlint.engine",
        "torchlint.report",
        "torchlint.settings.root",
    ),
    "torchlint.server": (
        "torchlint.rule",
        "torchlint.sources",
        "torchlint.engine",
        "torchlint.report",
        "torchlint.settings",
    ),
    "torchlint.agents": (),
    "torchlint.testing": (
        "torchlint.rule",
        "torchlint.facts.code.tree",
        "torchlint.engine",
        "torchlint.bench",
        "torchlint.settings.model",
        "torchlint.settings.root",
        "torchlint.settings.width",
        "torchlint.sources.decode",
        "torchlint.sources.text",
    ),
    "torchlint.cli": ("torchlint",),
    RULES: ("torchlint.rule", "torchlint.cst", "torchlint.facts", "torchlint.models"),
}


def module_name(path: Path) -> str:
    """The dotted name of a source file of ours."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return f"torchlint.{name}" if parts[0] == "rules" else name


MODULES = {
    module_name(path): path for folder in ("torchlint", "rules") for path in sorted((ROOT / folder).rglob("*.py"))
}


@cache
def tree(module: str) -> ast.Module:
    """The syntax tree of a module, parsed once for all checks."""
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


@cache
def nodes(module: str) -> tuple[ast.AST, ...]:
    """All nodes of a module, walked once for all checks."""
    return tuple(ast.walk(tree(module)))


def below(package: str) -> list[str]:
    """The modules of a package; the built-in rules are one of their own."""
    apart = is_under(package, RULES)
    return [module for module in MODULES if is_under(module, package) and is_under(module, RULES) == apart]


def part_of(module: str) -> str:
    """The part of the house a module belongs to: ``torchlint.engine`` for ``torchlint.engine.pair``."""
    return max((part for part in ALLOWED if is_under(module, part)), key=len)


def is_under(module: str, prefix: str) -> bool:
    """Whether a module is the named one or lies below it."""
    return module == prefix or module.startswith(f"{prefix}.")


def roots(node: ast.Import | ast.ImportFrom) -> set[str]:
    """The packages that a statement imports from."""
    if isinstance(node, ast.ImportFrom):
        return {"torchlint" if node.level else (node.module or "").split(".")[0]}
    return {alias.name.split(".")[0] for alias in node.names}


def imported(module: str, nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Every module of ours that a module imports, anywhere in it, with the line."""
    for node in nodes:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                is_package = MODULES[module].name == "__init__.py"
                above = module.split(".")[: None if is_package and node.level == 1 else -(node.level - is_package)]
                base = ".".join([*above, base] if base else above)
            names = [f"{base}.{alias.name}" if f"{base}.{alias.name}" in MODULES else base for alias in node.names]
        for name in names:
            if name.split(".")[0] in PACKAGES:
                yield node.lineno, name


def places(module: str, nodes: Iterator[ast.AST]) -> list[str]:
    """``path:line`` of nodes, for a failure's message."""
    path = MODULES[module].relative_to(ROOT).as_posix()
    return [f"{path}:{getattr(node, 'lineno', 1)}" for node in nodes]


def catches_everything(node: ast.AST) -> bool:
    """Whether a handler catches everything."""
    if not isinstance(node, ast.ExceptHandler):
        return False
    caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return any(kind is None or ast.unparse(kind) in ("Exception", "BaseException") for kind in caught)


def prints(node: ast.AST) -> bool:
    """Whether a node writes to the terminal."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "print"
    return isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout", "sys.stderr", "sys.__stdout__")


def compiled_at_once(tree: ast.Module) -> Iterator[ast.AST]:
    """The regular expressions that are compiled when a module is imported."""
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile":
            yield node
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(node))


def is_long(node: ast.AST, lines: Sequence[str]) -> bool:
    """Whether a node is a function that is too long, and no comment says why."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return (node.end_lineno or 0) - node.lineno >= FUNCTION_LINES and "# long: " not in lines[node.lineno - 1]


def is_mutable(value: ast.expr | None) -> bool:
    """Whether an expression makes a list, dict or set."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id in ("list", "dict", "set", "defaultdict", "Counter", "deque")
    return isinstance(value, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp))


def mutables(tree: ast.Module) -> set[str]:
    """The module-level names that hold a list, dict or set."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and is_mutable(node.value):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and is_mutable(node.value):
            found.add(node.target.id)
    return found


CHANGING = {"append", "add", "extend", "insert", "update", "setdefault", "pop", "popitem", "clear", "remove", "discard"}


def mutations(tree: ast.Module) -> Iterator[ast.AST]:
    """Places inside functions that change a module-level list, dict or set, and ``global`` statements."""
    names = mutables(tree)
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for node in ast.walk(function):
            changed: ast.expr | None = None
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
                changed = node.func.value
            elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                changed = node.value
            if isinstance(node, ast.Global) or (isinstance(changed, ast.Name) and changed.id in names):
                yield node


def test_imports_follow_the_arrows() -> None:
    """A part imports only itself and the parts below it."""
    wrong = []
    for module in MODULES:
        part = part_of(module)
        allowed = (*EVERYBODYS, *ALLOWED[part], *(() if part == "torchlint" else (part,)))
        path = MODULES[module].relative_to(ROOT).as_posix()
        wrong += [
            f"{path}:{line} imports {name}"
            for line, name in imported(module, nodes(module))
            if not any(is_under(name, prefix) for prefix in allowed)
        ]
    assert wrong == []


def test_data_classes_have_late_methods() -> None:
    """Where every run pays for what is imported, ``dataclass`` is ours; rules are imported when they have a site."""
    theirs = {
        module
        for module in below("torchlint")
        for node in nodes(module)
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        if any(alias.name == "dataclass" for alias in node.names)
    }
    assert theirs == {"torchlint.late"}


def test_no_regular_expression_is_compiled_by_an_import() -> None:
    """As with data classes: a module that is imported pays for none of what this run may not need."""
    assert [place for module in below("torchlint") for place in places(module, compiled_at_once(tree(module)))] == []


def test_rules_import_nothing_else() -> None:
    """A rule imports the floor, facts and the standard library, but nothing that reads code or the machine.

    The facts of a rule (``_NAME.py``) read code as all facts do: in the syntax tree of ``ast``.
    """
    reading = {"ast", "importlib", "inspect", "os", "pathlib", "subprocess", "sys", "tokenize"}
    allowed = (sys.stdlib_module_names - reading) | set(PACKAGES)
    wrong = [
        (module, root)
        for module in below(RULES)
        for node in nodes(module)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for root in roots(node)
        if root not in allowed and not (root == "ast" and MODULES[module].name.startswith("_"))
    ]
    assert wrong == []


def test_only_the_command_line_prints() -> None:
    """Below ``cli`` nothing writes to the terminal."""
    silent = [module for module in MODULES if part_of(module) != "torchlint.cli"]
    assert [place for module in silent for place in places(module, filter(prints, nodes(module)))] == []


def test_nothing_catches_everything() -> None:
    """No bare ``except`` and no ``except Exception``, but where the code of others runs."""
    found = {module: places(module, filter(catches_everything, nodes(module))) for module in MODULES}
    assert [place for module, own in found.items() for place in own[module in CALLS_OTHERS :]] == []


def test_no_state_is_global() -> None:
    """No function rebinds or changes what a module holds."""
    assert [place for module in MODULES for place in places(module, mutations(tree(module)))] == []


def test_names_of_classes_are_unique() -> None:
    """Every class has a name of its own in torchlint and its rules, also those that one module keeps to itself."""
    found: dict[str, list[str]] = {}
    for module in MODULES:
        for node in nodes(module):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(module)
    assert len(found) > 100
    assert {name: modules for name, modules in found.items() if len(modules) > 1} == {}


def test_modules_and_functions_stay_small() -> None:
    """Modules have at most 500 lines, functions 60; ``# long: reason`` on the ``def`` line excuses a function."""
    texts = {module: path.read_text(encoding="utf-8").splitlines() for module, path in MODULES.items()}
    long = [
        place
        for module, lines in texts.items()
        for place in places(module, (node for node in nodes(module) if is_long(node, lines)))
    ]
    assert [f"{module} has {len(lines)} lines" for module, lines in texts.items() if len(lines) > MODULE_LINES] == []
    assert long == []


def test_the_checks_see_what_they_look_for() -> None:
    """Each of the checks above finds the thing it forbids in a sample that holds it."""
    sample = ast.parse(
        "import torchlint.cli\nfrom torchlint import cst\nSEEN = {}\n"
        "def f():\n    global X\n    SEEN['a'] = 1\n    SEEN.update(b=2)\n"
        "    try:\n        print(1)\n    except (ValueError, Exception):\n        sys.stdout.write('')\n"
        "    try:\n        pass\n    except:\n        pass\n"
        "re.compile('')\ndef g():\n    re.compile('')\n" + "\n" * FUNCTION_LINES + "    return 1\n"
    )
    text = ["def g():"] * 20
    assert len(list(compiled_at_once(sample))) == 1
    assert len([node for node in ast.walk(sample) if is_long(node, text)]) == 1
    assert list(imported("torchlint.rule.base", ast.walk(sample))) == [(1, "torchlint.cli"), (2, "torchlint.cst")]
    assert len(list(mutations(sample))) == 3
    assert len([node for node in ast.walk(sample) if catches_everything(node)]) == 2
    assert len([node for node in ast.walk(sample) if prints(node)]) == 2


def test_the_architecture_names_every_fact_module(root: Path) -> None:
    page = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    modules = {path.stem for path in (root / "torchlint" / "facts").rglob("*.py")} - {"__init__"}
    assert {name for name in modules if f"`{name}`" not in page} == set()


def test_the_glossary_says_where_concepts_live(root: Path) -> None:
    page = (root / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = [
        line.split("|")
        for line in page.splitlines()
        if line.startswith("|") and not line.startswith(("|---", "| word"))
    ]
    words = [row[1].strip() for row in rows]
    assert len(words) > 40
    assert len(words) == len(set(words))
    files = {name for row in rows for name in re.findall(r"`([a-z_/]+\.(?:py|json))`", row[3])}
    assert {name for name in files if not (root / "torchlint" / name).is_file()} == set()


def test_names_of_the_floor_are_imported_from_where_they_are_defined() -> None:
    """``torchlint.rule`` says where each name is twice: to type checkers, and to who asks for it when it runs."""
    module = ast.parse((ROOT / "torchlint" / "rule" / "__init__.py").read_text(encoding="utf-8"))
    checked = {
        alias.name: node.module for node in ast.walk(module) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    del checked["TYPE_CHECKING"], checked["import_module"]
    values = {
        target.id: ast.literal_eval(node.value)
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    asked = {name: f"torchlint.rule.{home}" for home, names in values["_HOMES"].items() for name in names.split()}
    assert asked == checked
    assert sorted(values["__all__"]) == sorted([*asked, "API_VERSION"])

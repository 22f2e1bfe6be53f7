"""Count where facts and rules cross an edge of the program by hand, although a query of the kernel crosses it.

A value goes from a name to its binding, from a parameter to an argument, from a call to a ``return``, from an attribute
to an assignment. ``docs/architecture.md`` says which module crosses each edge for all others. Code that crosses one
itself misses what the kernel learns later, so ``tests/test_edges.py`` holds these counts and lets them fall only.
``python benchmarks/edges.py [FOLDER] [--list]`` reads a checkout.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNEL = (
    "torchlint/facts/dataflow/",
    *(f"torchlint/facts/code/{name}.py" for name in ("callers", "collect", "graph", "mentions", "model", "project")),
    *(f"torchlint/facts/code/{name}.py" for name in ("alike", "alternatives", "nesting", "reach")),
)
"""Folders and modules that cross edges for all others."""
_QUERIES = frozenset({"holds", "only", "operands", "parameter", "parts", "value", "values"})
_TEXTS = frozenset({"unparse", "dump"})


def _is_attribute(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in names and isinstance(node.ctx, ast.Load)


def _is_name(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _definitions(tree: ast.AST) -> Iterator[ast.AST]:
    """Reaching definitions of which the code looks at each binding itself."""
    asked = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in _QUERIES}
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_attribute(node.func, "reaching"))
    return (call for call in calls if id(call) not in asked)


def _climbs(tree: ast.AST) -> Iterator[ast.AST]:
    """Loops from a node to what it is in."""
    loops = (node for node in ast.walk(tree) if isinstance(node, ast.While))
    return (loop for loop in loops if any(_is_attribute(part, "parent") for part in ast.walk(loop)))


def _texts(tree: ast.AST) -> Iterator[ast.AST]:
    """Expressions that are made into a text to compare it: in a comparison, a set or a mapping, or each of several."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = [node for node in ast.walk(tree) if _is_attribute(node, *_TEXTS) and id(node) not in called]
    compared = (node for node in ast.walk(tree) if isinstance(node, (ast.Compare, ast.SetComp, ast.DictComp)))
    found += (part for node in compared for part in ast.walk(node) if _is_attribute(part, *_TEXTS))
    return iter({id(node): node for node in found}.values())


def _returns(tree: ast.AST) -> Iterator[ast.AST]:
    """Reads of what functions return; ``node.returns`` is an annotation."""
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "returns")
    return (node for node in found if not _is_name(node.value, "node"))


def _reads(
    *attributes: str, functions: tuple[str, ...] = (), methods: tuple[str, ...] = ()
) -> Callable[[ast.AST], Iterator[ast.AST]]:
    """Find what reads some attributes, or calls some functions or methods."""

    def found(tree: ast.AST) -> Iterator[ast.AST]:
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if id(node) in called:
                if _is_name(node, *functions) or _is_attribute(node, *methods):
                    yield node
            elif _is_attribute(node, *attributes):
                yield node

    return found


EDGES: Mapping[str, Callable[[ast.AST], Iterator[ast.AST]]] = {
    "name to binding": _definitions,
    "parameter to argument": _reads(functions=("passed",)),
    "parameter to caller": _reads("callers"),
    "call to function": _reads("callees"),
    "call to return": _returns,
    "attribute to store": _reads("stores", "outside", functions=("stores_of",), methods=("outside",)),
    "node to parent, in a loop": _climbs,
    "expression to text, to compare it": _texts,
}
"""What is counted, by the edge that is crossed."""


def crossings(folder: Path) -> dict[str, Counter[str]]:
    """Count for each module outside of the kernel how often it crosses each edge."""
    found: dict[str, Counter[str]] = {}
    for path in sorted((*(folder / "torchlint/facts").rglob("*.py"), *(folder / "rules").rglob("_*.py"))):
        module = path.relative_to(folder).as_posix()
        if not module.startswith(KERNEL):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found[module] = Counter({edge: sum(1 for _ in crossed(tree)) for edge, crossed in EDGES.items()})
    return found


def totals(found: Mapping[str, Counter[str]]) -> dict[str, tuple[int, int]]:
    """Sum the crossings: for each edge how often it is crossed, and in how many modules."""
    return {
        edge: (sum(each[edge] for each in found.values()), sum(each[edge] > 0 for each in found.values()))
        for edge in EDGES
    }


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--list", action="store_true", help="list the modules, those that cross most edges first")
    args = parser.parse_args()
    found = crossings(args.folder)
    print("| edge | places | modules |\n|---|---|---|")
    for edge, (places, modules) in totals(found).items():
        print(f"| {edge} | {places} | {modules} |")
    for module, counts in sorted(found.items(), key=lambda item: -item[1].total()) if args.list else ():
        if counts.total():
            print(f"{counts.total():4} {module}: " + ", ".join(f"{edge} {n}" for edge, n in counts.items() if n))


if __name__ == "__main__":
    main()

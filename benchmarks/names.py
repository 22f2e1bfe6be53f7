"""Count the module-level sets of names in the code of facts, engine and rules, and the names that are in several.

What is known of libraries belongs into the table of models (``torchlint/models/library.json``), and a set of names in
a module is knowledge that no other module shares. ``python benchmarks/names.py [FOLDER] [--list]`` reads a checkout.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("torchlint/facts", "torchlint/engine", "torchlint/rule", "rules")
_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*$")


def sets(folder: Path) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Give module, name and members of each module-level set of at least two names."""
    for part in PARTS:
        for path in sorted((folder / part).rglob("*.py")):
            for stmt in ast.parse(path.read_text(encoding="utf-8")).body:
                value = stmt.value if isinstance(stmt, (ast.Assign, ast.AnnAssign)) else None
                target = stmt.targets[0] if isinstance(stmt, ast.Assign) else getattr(stmt, "target", None)
                if value is not None and isinstance(target, ast.Name) and _is_set(value):
                    names = _names(value)
                    if len(names) > 1:
                        yield path.relative_to(folder).as_posix(), target.id, names


def _is_set(node: ast.expr) -> bool:
    """Whether an expression makes a set: a display, ``frozenset(...)``, or one of these with more."""
    if isinstance(node, ast.BinOp):
        return _is_set(node.left) or _is_set(node.right)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("frozenset", "set")
    return isinstance(node, (ast.Set, ast.SetComp))


def _names(node: ast.expr) -> frozenset[str]:
    texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    words = [word for text in texts for word in text.split()]
    return frozenset(word for word in words if _NAME.match(word))


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--list", action="store_true", help="list the sets, and the names in several of them")
    args = parser.parse_args()
    found = list(sets(args.folder))
    counts = Counter(name for _, _, names in found for name in names)
    modules = Counter(name for module in {m for m, _, _ in found} for name in _of_module(found, module))
    several = [name for name, count in counts.items() if count > 1]
    if args.list:
        for module, name, names in found:
            print(f"{module}: {name} ({len(names)})")
        print(*(f"{counts[name]:3} {name}" for name in sorted(several, key=lambda name: -counts[name])), sep="\n")
    print(f"{len(found)} sets, {len(counts)} names, {len(several)} in two or more sets")
    print(f"{sum(count > 1 for count in modules.values())} names in two or more modules")


def _of_module(found: list[tuple[str, str, frozenset[str]]], module: str) -> frozenset[str]:
    return frozenset().union(*(names for home, _, names in found if home == module))


if __name__ == "__main__":
    main()

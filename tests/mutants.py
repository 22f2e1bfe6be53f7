"""Small mistakes put into torchlint one at a time, to see which tests notice: ``make mutants``.

A mutant changes one operator or constant in one function below ``torchlint/facts``, ``torchlint/engine`` or ``rules``.
It is put into the loaded modules of a forked process, so no file changes. Three kinds of tests are tried on it: the
golden findings, the marks and twins of fixtures, and the tests of parts that take seconds (``PARTS``). What a kind of
test said of a mutant is kept in ``.cache/mutants.json`` for as long as no source changes.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import io
import json
import os
import random
import re
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import golden
import pytest
from conftest import state_of_the_code
from hand_mutants import HAND_MUTANTS, HandMutant, put, within

from torchlint.testing import check_marks, check_twins, fixtures

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {"torchlint/facts": 3, "torchlint/engine": 2, "rules": 2}
"""Where mutants are made, and how many shares of them."""
NOT_LINTING = (
    "reference",
    "memory",
    "recall",
    "codec",
    "processes",
    "packages",
    "ahead",
    "learning",
    "survey",
    "holdings",
    "writing",
)
"""Modules of the engine that a run over known code in one process does not need."""
LIMIT = 120
"""Seconds of CPU time after which a mutant counts as killed: it runs in circles."""
PARTS = (
    *(
        "hotness",
        "beginnings",
        "guards",
        "flags",
        "why",
        "protocols",
        "flow",
        "values",
        "loops",
        "networks",
        "members",
        "indirect",
        "reach",
    ),
    *("autograd", "escape", "constant", "compiling", "devices", "project", "solver", "insertion", "edits", "edit_for"),
    *("fixing", "snippets", "layout", "neighbours", "lineage", "gate", "select", "suppress", "needed", "run", "unused"),
)
"""The tests of parts, which linting alone decides."""
KILLED, SURVIVED, CIRCLES = "killed", "survived", "killed (time)"


# mutants --------------------------------------------------------------------------------------------------------------

_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}


def changed(node: ast.AST) -> ast.AST | None:
    """A copy of a node with its operator or constant changed; ``None``: it has none."""
    new = copy.deepcopy(node)
    if isinstance(new, ast.Compare) and len(new.ops) == 1:
        new.ops = [_SWAPPED[type(new.ops[0])]()]  # type: ignore[list-item]
    elif isinstance(new, (ast.BoolOp, ast.BinOp)) and type(new.op) in _SWAPPED:
        new.op = _SWAPPED[type(new.op)]()  # type: ignore[assignment]
    elif isinstance(new, ast.UnaryOp) and isinstance(new.op, ast.Not):
        return new.operand
    elif isinstance(new, ast.Constant) and isinstance(new.value, bool):
        new.value = not new.value
    elif isinstance(new, ast.Constant) and isinstance(new.value, int):
        new.value += 1
    else:
        return None
    return new


@dataclass(frozen=True)
class Mutant:
    """One changed place: the file, the outermost function around it, and which of its changeable nodes it is."""

    path: str
    function: int
    number: int

    def _found(self) -> tuple[ast.Module, ast.AST, ast.AST]:
        """The tree of the file, the function, and the node."""
        tree = ast.parse((ROOT / self.path).read_text(encoding="utf-8"))
        function = next(each for each in functions(tree) if first_row(each) == self.function)
        return tree, function, list(changeable(function))[self.number]

    @property
    def name(self) -> str:
        """Where it is, and what becomes of what."""
        _, _, node = self._found()
        new = changed(node)
        assert new is not None
        row = getattr(node, "lineno", 0)
        return f"{self.path}:{row} {_short(node)} → {_short(new)}"

    def apply(self) -> None:
        """Put it into the loaded module.

        Raises:
            LookupError: no loaded function has that code.
        """
        tree, function, node = self._found()
        new = changed(node)
        assert new is not None
        _Replacing(node, new).visit(tree)
        file = str(ROOT / self.path)
        code = next(
            found
            for found in within(compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True))
            if found.co_firstlineno == self.function and found.co_name == getattr(function, "name", "")
        )
        put([code], self.name)


class _Replacing(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        """The other node in its place, all others as they are."""
        return self.new if node is self.old else self.generic_visit(node)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """The outermost functions of a module and the methods of its classes."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node)


def first_row(function: ast.FunctionDef) -> int:
    """The row with which its code begins: that of its first decorator."""
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])


def changeable(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes in the body of a function that ``changed`` changes."""
    for statement in getattr(function, "body", []):
        for node in ast.walk(statement):
            if changed(node) is not None:
                yield node


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return f"`{text if len(text) <= 60 else f'{text[:57]}...'}`"


def mutants(count: int, seed: int, only: Sequence[str] = ()) -> list[Mutant]:
    """Mutants of all folders in a random order, the same for the same seed and sources: of a function one at most.

    ``only``: of files whose paths hold one of these texts.
    """
    chosen: list[Mutant] = []
    for folder, share in FOLDERS.items():
        choice = random.Random(f"{seed} {folder}")
        found: list[list[Mutant]] = []
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.parent.name == "engine" and path.stem in NOT_LINTING:
                continue
            name = path.relative_to(ROOT).as_posix()
            if only and not any(text in name for text in only):
                continue
            for function in functions(ast.parse(path.read_text(encoding="utf-8"))):
                if places := sum(1 for _ in changeable(function)):
                    found.append([Mutant(name, first_row(function), number) for number in range(places)])
        wanted = min(len(found), round(count * share / sum(FOLDERS.values())))
        chosen += [choice.choice(places) for places in choice.sample(found, wanted)]
    return random.Random(seed).sample(chosen, len(chosen))


# tests ----------------------------------------------------------------------------------------------------------------


def nearest_first(names: Sequence[str], path: str) -> list[str]:
    """Names in a random order, first those with codes of the family of rules that a file belongs to."""
    family = re.search(r"/(tl\d)", path)
    shuffled = random.Random(0).sample(names, len(names))
    return sorted(shuffled, key=lambda name: family is None or f"/{family[1].upper()}" not in name)


@cache
def known_findings() -> dict[str, tuple[list[golden.Text], str]]:
    """By name of the golden file, the texts that it tells of and what it says; read once, before any mutant."""
    texts: dict[str, list[golden.Text]] = defaultdict(list)
    for text in golden.texts():
        texts[text.golden].append(text)
    kept = golden.without_fixed(golden.kept("fixtures") | golden.kept("examples"))
    return {name: (texts[name], said) for name, said in kept.items()}


def golden_findings(path: str) -> None:
    """Fail where a finding is another than in the golden files."""
    known = known_findings()
    for name in nearest_first(sorted(known), path):
        texts, said = known[name]
        assert golden.own(texts, with_fixed=False) == {name: said}


def marks_and_twins(path: str) -> None:
    """Fail where a fixture's marks or twins are not what is found and fixed."""
    for name in nearest_first([str(fixture) for fixture in fixtures(ROOT / "tests" / "fixtures")], path):
        check_marks(Path(name))
        check_twins(Path(name))


def twins(_: str) -> None:
    """Fail where a fix makes another twin."""
    for path in fixtures(ROOT / "tests" / "fixtures"):
        if any(path.with_suffix(f".{kind}.py").exists() for kind in ("fixed", "accepted")):
            check_twins(path)


def parts(_: str) -> None:
    """Fail where a test of a part does."""
    files = [str(ROOT / "tests" / f"test_{name}.py") for name in PARTS]
    options = ["-q", "-x", "-p", "no:cacheprovider", "-m", "not long and not torch", "--whole"]
    assert pytest.main([*options, "--rootdir", str(ROOT), *files]) == 0


def tests_of(mutant: HandMutant | None) -> Callable[[str], None]:
    """The test that a mistake made by hand names, of all of them for none; it has to fail with the mistake alone."""
    named = dict.fromkeys([mutant.test] if mutant is not None else [each.test for each in HAND_MUTANTS])

    def run(_: str) -> None:
        options = ["-q", "-x", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]
        assert pytest.main([*options, *(str(ROOT / "tests" / each) for each in named)]) == 0

    return run


def by_hand() -> int:
    """Put in the mistakes that are made by hand; how many the tests that they name do not notice."""
    assert outcome(None, tests_of(None)) == SURVIVED, "a test fails without a mutant"
    alive = 0
    for mutant in HAND_MUTANTS:
        said = outcome(mutant, tests_of(mutant))
        alive += said == SURVIVED
        print(f"{said:<14} {mutant.name}", flush=True)
    print(f"{len(HAND_MUTANTS) - alive} of {len(HAND_MUTANTS)} killed")
    return alive


TESTS: dict[str, Callable[[str], None]] = {"golden": golden_findings, "parts": parts, "fixtures": marks_and_twins}


def outcome(mutant: Mutant | HandMutant | None, test: Callable[[str], None]) -> str:
    """What a test says of a mutant, in a process of its own."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
        status = 1
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                if mutant is not None:
                    mutant.apply()
                test(mutant.path if mutant is not None else "")
                status = 0
            except LookupError as error:
                status = 2 if mutant is not None and str(error) == mutant.name else 1
            except BaseException:  # noqa: BLE001  whatever a mutant raises kills it
                pass
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return CIRCLES
    code = os.waitstatus_to_exitcode(status)
    assert code != 2, f"not loaded: {mutant}"
    return KILLED if code else SURVIVED


# results --------------------------------------------------------------------------------------------------------------


def tried(chosen: Sequence[Mutant], end: float) -> dict[str, dict[str, str]]:
    """What each kind of test says of each mutant, by its name; the cheapest kinds first, until the time is used up."""
    place = ROOT / ".cache" / "mutants.json"
    known = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    results: dict[str, dict[str, str]] = known.get(state_of_the_code(), {})
    place.parent.mkdir(exist_ok=True)
    for kind, test in TESTS.items():
        plain = results.setdefault("no mutant", {})
        if kind not in plain and time.monotonic() < end:
            plain[kind] = outcome(None, test)
        assert plain.get(kind, SURVIVED) == SURVIVED, f"{kind}: fails without a mutant"
        for mutant in chosen:
            said = results.setdefault(mutant.name, {})
            if kind in said or time.monotonic() > end:
                continue
            # Marks are findings: what changes no golden finding changes none of them.
            unmarked = kind == "fixtures" and said.get("golden") == SURVIVED
            said[kind] = outcome(mutant, twins if unmarked else test)
            print(f"{kind:<9} {said[kind]:<14} {mutant.name}", flush=True)
            place.write_text(json.dumps({state_of_the_code(): results}), encoding="utf-8")
    return {mutant.name: results[mutant.name] for mutant in chosen}


def table(results: dict[str, dict[str, str]]) -> str:
    """The results in Markdown: how many each kind of test kills, and the mutants that all kinds leave alive."""
    lines = ["| place of the mutants | golden | fixtures | parts | golden alone |", "|---|---|---|---|---|"]
    for place in [*(f"`{folder}`" for folder in FOLDERS), "all"]:
        here = [said for name, said in results.items() if place in ("all", _place(name))]
        cells = []
        for kind in ("golden", "fixtures", "parts"):
            told = [said[kind] for said in here if kind in said]
            cells.append(f"{sum(word != SURVIVED for word in told)} of {len(told)}")
        whole = [said for said in here if said.keys() == TESTS.keys()]
        alone = [said for said in whole if [kind for kind, word in said.items() if word != SURVIVED] == ["golden"]]
        lines.append(f"| {place} | {' | '.join(cells)} | {len(alone)} of {len(whole)} |")
    alive = [name for name, said in results.items() if said.keys() == TESTS.keys() and set(said.values()) == {SURVIVED}]
    left = ["", "Left alive by all three:", "", *(f"- {name}" for name in sorted(alive))] if alive else []
    return "\n".join([*lines, *left, ""])


def _place(name: str) -> str:
    return next(f"`{folder}`" for folder in FOLDERS if name.startswith(folder))


def load() -> None:
    """Import all modules that have mutants, so that every child finds them loaded."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            importlib.import_module(f"torchlint.{name}" if folder == "rules" else name)
    known_findings()


def main(arguments: Sequence[str]) -> int:
    """Try mutants and print the table."""
    parser = argparse.ArgumentParser(prog="make mutants ARGS=...", description=__doc__)
    parser.add_argument("--count", type=int, default=63, help="how many mutants (default: 63)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=(), metavar="TEXT", help="files whose paths hold one of these")
    parser.add_argument("--seconds", type=float, default=3600, help="for how long at most (default: an hour)")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the table into a page")
    parser.add_argument("--by-hand", action="store_true", help="put in the mistakes of hand_mutants.py, and no others")
    options = parser.parse_args(arguments)
    if options.by_hand:
        load()
        return by_hand()
    end = time.monotonic() + options.seconds
    load()
    results = tried(mutants(options.count, options.seed, options.only), end)
    made = table(results)
    print(made)
    if options.write:
        from fuzz.pages import between

        between(options.write, "<!-- mutants -->\n\n", "\n<!-- end of mutants -->", made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What never counts as hot by its name: tests, demos, plots, set-up, saving, and functions whose results are cached."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import PurePosixPath

from torchlint.facts.code.model import LOOPS, FileFacts, Scope
from torchlint.facts.code.naming import last_name, rightmost_name
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.models import Word, last_names

_COLD_PLACE = Word("file or folder of cold code")
# A folder of this name may hold the programs that reproduce results; a file of this name times something.
_COLD_FILE = Word("file of measurements")
_COLD_NAME = Word("cold function")
LEARNING = Word("call that learns")
"""Names of calls that learn."""
_LOADING = Word("call that loads")
_TEST = Word("test function or class")
_CALLED_A_TEST = frozenset({("test", True)})
_TO_DEBUG = frozenset({("debug", True)})
# What is saved in memory, of a step; names of calls that put something on disk all the same.
_KEEPS = Word("keeping of a step")
_WRITES = Word("writing to disk")
# Names of functions that set something up, or make room for another phase, unless hot code is seen to call them.
SETS_UP = Word("set-up or change of phase")
# Decorators that keep what a function gave: it runs once for each set of arguments.
_CACHES = last_names(caches=True)


def is_test(path: str) -> bool:
    """Return whether a file belongs to a test suite.

    Nothing in it is hot, and how tests call a function proves little.
    """
    *folders, name = path.lower().split("/")
    return name.startswith("test_") or name in ("conftest.py", "test.py") or bool({"test", "tests"} & set(folders))


def cold_file(facts: FileFacts) -> bool:
    """Return whether a file is a test, a demo, a plot or a profiling script, by its name and folders.

    A program may be called a test as well, ``dqn_test.py``: one that learns and defines no test. So may a
    program that trains be named after the mistake that it is to find, ``train_dqn.debug_entropy.py``.
    """
    words = _cold_words(facts.path)
    if words == _CALLED_A_TEST:
        return _tests(facts) or not _learns(facts)
    return bool(words) and not (words == _TO_DEBUG and _trains(facts))


@lru_cache(maxsize=16384)
def _cold_words(path: str) -> frozenset[tuple[str, bool]]:
    """The words of a path that name cold code, and whether each is of the file's own name."""
    *folders, name = (_words(part.removesuffix(".py")) for part in PurePosixPath(path).parts)
    above = {(word, False) for part in folders for word in part if _COLD_PLACE.fits(word)}
    return frozenset(above | {(word, True) for word in name if _COLD_PLACE.fits(word) or _COLD_FILE.fits(word)})


def _tests(facts: FileFacts) -> bool:
    """Whether a file defines tests, as functions or as a class."""
    return any(_TEST.fits(name) for name in facts.top.bindings if facts.defines(name))


def _learns(facts: FileFacts) -> bool:
    """Whether a file computes gradients, or calls what learns and reads back nothing that was learned before."""
    called = {last_name(call.func) for call in facts.nodes(ast.Call)}
    return "backward" in called or (any(map(LEARNING.fits, called)) and not any(map(_LOADING.fits, called)))


def _trains(facts: FileFacts) -> bool:
    """Whether a file says by its name that it trains, and clears gradients."""
    named = any(map(LEARNING.fits, _words(PurePosixPath(facts.path).stem)))
    return named and any(last_name(call.func) == "zero_grad" for call in facts.nodes(ast.Call))


def _words(part: str) -> list[str]:
    """The words of a file's or a folder's name."""
    return re.split(r"[^a-zA-Z0-9]+", part.lower())


def cold_function(project: Project, scope: Scope) -> bool:
    """Return whether a function is set-up, saving, printing or testing by its name, builds a module, or is cached."""
    if scope.kind != "function":
        return False
    if _COLD_NAME.fits(scope.name) and not _keeps(scope):
        return True
    if not _CACHES.isdisjoint(scope.decorator_names) or _demonstrates(scope):
        return True
    return scope.name == "__init__" and scope.method_of is not None and project.is_module(scope.method_of.dotted)


def _demonstrates(scope: Scope) -> bool:
    """Whether a method's class is made where a file is run as a program, and that program has no loop."""
    owner = scope.method_of
    if owner is None or owner.parent is not scope.file.top:
        return False
    blocks = [node for node in scope.file.ancestors(owner.node) if isinstance(node, ast.If)]
    return bool(blocks) and "__main__" in ast.unparse(blocks[-1].test) and not _loops(blocks[-1])


def _loops(block: ast.If) -> bool:
    return any(isinstance(node, LOOPS) for node in walk(block))


def _keeps(scope: Scope) -> bool:
    """Whether a function saves what a step gave, and nothing of it to disk: a buffer's ``save_transition``."""
    return _KEEPS.fits(scope.name) and not any(_WRITES.fits(rightmost_name(call.func)) for call in scope.calls)

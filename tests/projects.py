"""Projects of a few texts for tests of the facts; expressions and statements are found by their text."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping
from pathlib import Path

from torchlint.engine.analysis import analyse, parse
from torchlint.facts.analyses import Analyses
from torchlint.facts.code.model import FileFacts, Scope
from torchlint.facts.code.project import Project
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.values.values import Values
from torchlint.rule import Frequency, Hotness, Value
from torchlint.settings.model import Settings
from torchlint.sources.text import Source

ROOT = Path("/project")


def source_of(name: str, text: str) -> Source:
    """A file of the project as the engine reads it."""
    raw = text.encode()
    return Source(ROOT / name, name, text, raw, raw=raw)


class Code:
    """Files by name, or one file ``code.py``; texts are dedented. ``settings`` are fields of ``Settings``."""

    def __init__(self, texts: str | Mapping[str, str], **settings: object) -> None:
        named = {"code.py": texts} if isinstance(texts, str) else texts
        self.texts = {name: textwrap.dedent(text).lstrip("\n") for name, text in named.items()}
        files, broken = parse({name: source_of(name, text) for name, text in self.texts.items()})
        assert broken == {}
        self.analyses: Analyses = analyse(files, Settings(root=ROOT, isolated=True, **settings))
        self.project = self.analyses[Project]

    def file(self, name: str = "") -> FileFacts:
        """The facts of a file; without a name of the first."""
        return self.project.files[name or next(iter(self.texts))]

    def expressions(self, name: str = "") -> list[ast.expr]:
        """All expressions of a file but those that are assigned to."""
        nodes = (node for node in ast.walk(self.file(name).tree) if isinstance(node, ast.expr))
        return [node for node in nodes if not isinstance(getattr(node, "ctx", None), ast.Store)]

    def node(self, text: str, name: str = "") -> ast.expr:
        """The last expression of a file that reads like ``text`` and is not assigned to."""
        found = [node for node in self.expressions(name) if ast.unparse(node) == text]
        assert found, f"no {text} in {self.texts}"
        return max(found, key=lambda node: (node.lineno, node.col_offset))

    def shown(self, name: str = "") -> ast.expr:
        """The argument of the last call of ``show`` in a file: the expression that a test asks about."""
        calls = [
            node
            for node in ast.walk(self.file(name).tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "show"
        ]
        return max(calls, key=lambda node: node.lineno).args[0]

    def value(self, name: str = "") -> Value:
        """What is known of the expression that is shown."""
        return self.analyses[Values].of(self.file(name), self.shown(name))

    def function(self, dotted: str) -> Scope:
        """A function by its dotted name, with the module."""
        return self.project.functions[dotted]

    def hot(self, mark: str, name: str = "") -> Hotness:
        """How often the statement runs whose row holds a text, with the path."""
        rows = [row for row, line in enumerate(self.texts[self.file(name).path].splitlines(), 1) if mark in line]
        assert len(rows) == 1, f"{mark} stands on rows {rows}"
        stmts = [stmt for stmt in self.file(name).places if stmt.lineno == rows[0]]
        return self.analyses[Heat].at(self.file(name), stmts[-1])

    def frequency(self, mark: str, name: str = "") -> Frequency:
        """How often the statement runs whose row holds a text."""
        return self.hot(mark, name).frequency

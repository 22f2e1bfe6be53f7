"""Pages for files of the repository that documents link to, so that a claim's test can be read on the site."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LINK = re.compile(r"(?P<before>\[(?P<text>[^\]]*)\]\()(?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
_LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".yml": "yaml", ".yaml": "yaml", ".md": "markdown"}


@dataclass(frozen=True, slots=True)
class Links:
    """Rewrites links that lead from documents to files outside of ``docs``.

    Attributes:
        root: of the repository. pages: addresses of all Markdown pages of the site.
    """

    root: Path
    pages: frozenset[str]

    def rewritten(self, text: str, page: str) -> str:
        """Return a page's text with its links to repository files turned to their pages on the site."""
        return LINK.sub(lambda match: self._link(match, page), text)

    def outside(self, text: str, page: str) -> set[str]:
        """Return the repository files that a page links to, relative to the root."""
        found = (self._target(match["target"], page) for match in LINK.finditer(text))
        return {name for name in found if name is not None}

    def _link(self, match: re.Match[str], page: str) -> str:
        name = self._target(match["target"], page)
        if name is None:
            return match[0]
        anchor = self._anchor(name, match["text"], match["anchor"] or "")
        address = posixpath.relpath(source_address(name), posixpath.dirname(page) or ".")
        return f"{match['before']}{address}{anchor})"

    def _anchor(self, name: str, text: str, anchor: str) -> str:
        """The heading to go to: that of the test that the link names, or of the function that holds the line."""
        if not anchor:
            return f"#{text}" if text.startswith("test_") else ""
        line = re.fullmatch(r"#L(\d+)(?:-L\d+)?", anchor)
        if line is None or not name.endswith(".py"):
            return "" if line else anchor
        above = [title for start, title in _starts((self.root / name).read_text("utf-8")) if start <= int(line[1])]
        return f"#{above[-1]}" if above[-1] else ""

    def _target(self, target: str, page: str) -> str | None:
        """The file outside of ``docs`` that a link names, relative to the root; ``None``: it leads elsewhere."""
        if re.match(r"[a-z]+:", target):
            return None
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        if inside in self.pages or not inside.startswith("../"):
            return None
        name = inside.removeprefix("../")
        return name if (self.root / name).is_file() else None


def source_address(name: str) -> str:
    """Return the address of the page of a repository file."""
    known = {"README.md": "readme.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
    return known.get(name, f"source/{name}.md")


def source_page(root: Path, name: str) -> str:
    """Return a file as a page; of Python files each function at the top stands under a heading of its own."""
    text = (root / name).read_text(encoding="utf-8")
    head = f"---\ntitle: {name}\nsearch:\n  exclude: true\n---\n\n# {name}\n"
    if not name.endswith(".py"):
        return f"{head}\n{_block(text, _LANGUAGES.get(Path(name).suffix, 'text'))}\n"
    return "\n".join([head, *_functions(text)]) + "\n"


def _starts(text: str) -> list[tuple[int, str]]:
    """The first lines of a Python file's parts and their names: what stands before, each function, each class."""
    starts = [(1, "")]
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            starts.append((min([node.lineno, *(each.lineno for each in node.decorator_list)]), node.name))
    return starts


def _functions(text: str) -> Iterator[str]:
    lines = text.splitlines()
    starts = _starts(text)
    ends = [start for start, _ in starts[1:]]
    for (start, name), end in zip(starts, [*ends, len(lines) + 1], strict=True):
        part = "\n".join(lines[start - 1 : end - 1]).strip("\n")
        if name:
            yield f"## {name} {{ #{name} }}\n"
        if part:
            yield _block(part, "python") + "\n"


def _block(text: str, language: str) -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"

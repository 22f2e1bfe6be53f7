"""Parses the files of a project and links them: the start of all facts."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

from torchlint.engine.ahead import NEWER, reads_newer
from torchlint.engine.limits import too_long_to_parse, too_much
from torchlint.engine.models import models_of
from torchlint.facts.analyses import Analyses
from torchlint.facts.code.collect import collect
from torchlint.facts.code.graph import CallGraph, call_graph
from torchlint.facts.code.linking import module_name
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import link
from torchlint.facts.hotness.coldness import is_test
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.values.values import Values
from torchlint.late import dataclass
from torchlint.settings.model import Settings
from torchlint.sources.suppress import marks
from torchlint.sources.text import Source

# Of a file that is too large to be read: how much is parsed, and how errors begin that no rest could mend.
_BEGINNING = 256_000
_LIMIT = "too many "


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A file that Python cannot read: the message, and where; ``too_much``: it could, but the file is too large."""

    message: str
    row: int = 1
    column: int = 1
    too_much: bool = False


def parse(sources: Mapping[str, Source]) -> tuple[list[FileFacts], dict[str, Unparsed]]:
    """Parse files and gather the facts of each; files that do not parse, or are too large, are reported by name.

    Tests are parsed for their syntax alone.
    """
    files: list[FileFacts] = []
    broken: dict[str, Unparsed] = {}
    for name in sorted(sources):
        found = _read(sources[name], name)
        if isinstance(found, Unparsed):
            broken[name] = found
        elif found is not None:
            files.append(found)
    return files, broken


def tree_of(text: str) -> ast.Module | Unparsed:
    """The syntax tree of a text, or why Python cannot read it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Not the bytes: in those Python would obey a declaration of another encoding.
            return ast.parse(text)
    except SyntaxError as error:
        doubt = NEWER if reads_newer(error) else ""
        return Unparsed(f"{error.msg or 'invalid syntax'}{doubt}", error.lineno or 1, error.offset or 1)
    except ValueError as error:
        return Unparsed(f"cannot be parsed: {error}")
    except (RecursionError, MemoryError):
        return Unparsed("cannot be parsed: its code is nested too deeply for Python")


def begins_too_deep(path: Path) -> Unparsed | None:
    """What Python says of a file whose first part is nested more deeply than it reads, whatever follows.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as stream:
        begun = tree_of(stream.read(_BEGINNING).decode("latin-1"))
    return begun if isinstance(begun, Unparsed) and begun.message.startswith(_LIMIT) else None


def is_sound(source: Source) -> bool:
    """Whether Python can read a text, or would take too long to say."""
    if too_long_to_parse(source.utf8):
        return True
    return isinstance(tree_of(source.text), ast.Module) and not (source.notebook and any(source.notebook.faults()))


def _read(source: Source, name: str) -> FileFacts | Unparsed | None:
    """The facts of one file, ``None`` of a test."""
    reason = too_long_to_parse(source.utf8)
    if reason:
        return Unparsed(reason, too_much=True)
    tree = tree_of(source.text)
    if isinstance(tree, Unparsed):
        return tree
    if is_test(name):
        return None
    module, package = module_name(name)
    facts = collect(source, tree, module, package)
    reason = too_much(facts)
    if reason:
        return Unparsed(reason, too_much=True)
    facts.marks = marks(source)
    return facts


def analyse(files: Iterable[FileFacts], settings: Settings) -> Analyses:
    """Link the facts of all files.

    What a crash could come from in any project is found at once: imports, the call graph, and how often code runs.
    """
    project = link(files, models_of(settings))
    graph, values = call_graph(project)
    analyses = Analyses(settings, [project, graph, values])
    analyses[Heat]
    return analyses


def proven(analyses: Analyses) -> Analyses:
    """The same facts without guesses about values; the given ones where no guess was made.

    How often code runs and what it calls is no part of a proof, so these are the same in both.
    """
    weak = analyses[CallGraph].weak
    if not analyses[Values].guessed and not weak:
        return analyses
    return analyses.supposing(Values, lambda values: values.proven(weak), "proven", keeping=(CallGraph, Heat))
